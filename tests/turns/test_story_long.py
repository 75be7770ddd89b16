"""Chats that do not fit into their window any more."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from fakes.chat_server import ChatServer
from trimtab.usage import UsageRatios
from turns.turn_helpers import Stage, Talk, config_of, words

pytestmark = pytest.mark.anyio

LIMIT = {"contextLimit": 700, "reserve": 0}
STRATEGIES = ("truncate", "summarize", "manual", "vector-recall")


async def _talk_on(stage: Stage, talk: Talk, turns: range) -> None:
    for number in turns:
        stage.server.say(f"Answer {number} about {words(20, 'pots')}.")
        await talk.say(f"Question {number} about {words(40)}?")


def _same_head(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> int:
    pairs = zip(before, after, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), len(before))


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_long_chat_stays_within_its_window_with_every_strategy(stage: Stage, strategy: str) -> None:
    talk = await stage.talk(system="Be brief.", context_strategy=strategy, context_settings=LIMIT)

    await _talk_on(stage, talk, range(14))

    assert stage.sent[0] == "system: Be brief."
    assert stage.sent[-1].startswith("user: Question 13")
    audit = await talk.host.audit(talk.chat_id, owner="ann")
    assert audit is not None
    assert audit.left_out
    assert audit.recount <= 700
    assert len(await talk.messages()) == 29
    state = (await talk.chat()).last_context_state
    assert state is not None
    assert state["estimatedInputTokens"] == audit.recount


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_an_accepted_edit_is_kept_over_turns(stage: Stage, strategy: str) -> None:
    talk = await stage.talk(system="Be brief.", context_strategy=strategy, context_settings=LIMIT)

    await _talk_on(stage, talk, range(18))

    bodies = [request.messages for request in stage.server.requests]
    kept = [_same_head(before, after) >= len(before) for before, after in pairwise(bodies)]
    assert kept.count(False) <= 5
    assert (await talk.chat()).carried is not None


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_host_started_anew_sends_the_same_bytes_as_one_that_goes_on(stage: Stage, strategy: str) -> None:
    talk = await stage.talk(system="Be brief.", context_strategy=strategy, context_settings=LIMIT)

    for number in range(12):
        await _talk_on(stage, talk, range(number, number + 1))
        async with stage.closed_host() as fresh:
            there = await fresh.preview(talk.chat_id, f"Question {number + 1}?", owner="ann")
        here = await talk.host.preview(talk.chat_id, f"Question {number + 1}?", owner="ann")
        assert there.body == here.body, f"after turn {number}"

    assert (await talk.chat()).carried is not None


async def test_another_strategy_makes_its_own_edit(stage: Stage) -> None:
    talk = await stage.talk(context_settings=LIMIT)
    await _talk_on(stage, talk, range(10))
    assert not any("ummary" in text for text in stage.sent)
    await talk.host.update_chat(talk.chat_id, owner="ann", context_strategy="summarize")

    await _talk_on(stage, talk, range(10, 11))

    audit = await talk.host.audit(talk.chat_id, owner="ann")
    assert audit is not None
    assert audit.strategy == "summarize"
    assert [block.reason for block in audit.blocks].count("summary") == 1


async def test_a_window_that_is_large_again_gets_all_that_was_said(stage: Stage) -> None:
    talk = await stage.talk(context_settings=LIMIT)
    await _talk_on(stage, talk, range(10))
    await talk.host.update_chat(talk.chat_id, owner="ann", context_settings={})

    await _talk_on(stage, talk, range(10, 11))

    assert len(stage.last_request.messages) == 21
    assert (await talk.chat()).carried is None


async def test_an_input_that_never_fits_fails_and_the_chat_goes_on_without_it(stage: Stage) -> None:
    talk = await stage.talk(context_settings=LIMIT)
    await _talk_on(stage, talk, range(2))

    told = await talk.say(words(2000))

    assert told.failed.code == "TOKEN_BUDGET_EXCEEDED"
    assert told.failed.details
    assert len(stage.server.requests) == 2
    assert await talk.audit_status() == "completed"
    await talk.host.remove(talk.chat_id, (await talk.messages())[-1].message.id, owner="ann")
    await _talk_on(stage, talk, range(2, 3))


async def test_a_loop_that_grows_over_the_window_leaves_old_history_and_keeps_its_own_steps(stage: Stage) -> None:
    async def read(page: int) -> str:
        """Read a page."""
        return f"Page {page}: {words(60)}"

    talk = await stage.talk(read, context_settings=LIMIT)
    await _talk_on(stage, talk, range(6))
    for page in range(3):
        stage.server.call(("read", {"page": page}))
    stage.server.say("I have read it.")

    told = await talk.say("Read three pages.")

    assert told.completed.steps == 4
    assert [text[:12] for text in stage.sent if text.startswith("tool")][-1] == "tool: Page 2"
    assert any(text == "user: Read three pages." for text in stage.sent)
    assert all(one["snapshot"]["estimatedInputTokens"] <= 700 for one in told.of("context_ready"))


async def test_what_a_provider_counts_is_compared_with_our_count(stage: Stage) -> None:
    talk = await stage.talk()
    await _talk_on(stage, talk, range(2))

    ratios = talk.host.usage_ratios

    assert isinstance(ratios, UsageRatios)
    reported = [request.body for request in stage.server.requests]
    assert len(reported) == 2
    snapshot = (await talk.chat()).last_context_state
    assert snapshot is not None
    assert snapshot["reportedInputTokens"] != snapshot["estimatedInputTokens"]


async def test_a_provider_that_finds_the_conversation_too_long_is_told_by_its_figures(stage: Stage) -> None:
    with ChatServer(max_context=50) as small:
        talk = await stage.talk(host=await stage.host(config=config_of(small)))

        told = await talk.say(words(200))

    assert told.failed.code == "PROVIDER_CONTEXT_LENGTH"
    assert told.failed.details["allowed"] == 50
