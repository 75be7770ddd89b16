"""Texts that are made anew each turn, summaries and edits that are carried, beside a cursor."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

import trimtab
from factories import Interceptor
from trimtab import Config
from trimtab_sdk import Edit, Insert, Request, Services, Text, texts_of
from trimtab_sdk.edit import BEFORE_INPUT
from turns.cursor_helpers import CursorStage, CursorTalk, keeps_long, say_all
from turns.turn_helpers import Told, words

pytestmark = pytest.mark.anyio

Answer = Callable[[Request, Services], Edit | None]
LIMIT = {"contextLimit": 700, "reserve": 0, "providerCompactionEnabled": False}


def _reasons(told: Told) -> list[str]:
    return [one["reason"] for one in told.of("continuation_degraded")]


async def _intercepted(scene: CursorStage, answer: Answer, **settings: Any) -> CursorTalk:
    registry = trimtab.ContextStrategyRegistry()
    registry.register_interceptor("mine", Interceptor(answer))
    fields = scene.config().model_dump() | {"interceptors": ("mine",), "may_redact_protected": ("mine",)}
    host = await scene.host(config=Config(**fields), registry=registry)
    return await scene.talk(host=host, **settings)


def _clock() -> Answer:
    times = iter(range(1, 1000))

    def answer(request: Request, services: Services) -> Edit:
        return Edit(insert=[Insert(f"It is {next(times)} o'clock.", BEFORE_INPUT)])

    return answer


@keeps_long
async def test_a_text_that_is_made_anew_each_turn_stands_in_the_instructions(scene: CursorStage) -> None:
    talk = await _intercepted(scene, _clock())

    told = await say_all(talk, scene.remote, ("Kettles?", "Seven."), ("Sure?", "Yes."), ("Really?", "Really."))

    assert [_reasons(one) for one in told] == [[], [], []]
    assert scene.remote.sent == ["user: Really?"]
    for number in (1, 2, 3):
        seen = scene.remote.seen(number)
        assert [f"It is {hour} o'clock." in seen for hour in (1, 2, 3)] == [number == hour for hour in (1, 2, 3)]
    assert "It is 3 o'clock." in scene.remote.instructions
    audit = await talk.host.audit(talk.chat_id, owner="ann")
    assert audit is not None
    assert [block.reason for block in audit.blocks if block.change is not None] == ["plugin"]


async def test_a_text_that_must_stand_in_the_talk_keeps_no_cursor(scene: CursorStage) -> None:
    talk = await scene.told()
    ephemeral = {
        "id": "bell",
        "role": "user",
        "content": "(A bell rings.)",
        "ephemeral": True,
        "source": "lorebook",
    }
    chat = await talk.host.create_chat(
        owner="ann",
        provider=scene.remote.name,
        model=scene.remote.model,
        messages=[ephemeral, {"id": "heard", "role": "assistant", "content": "I hear it."}],
        format="neutral",
    )
    other = CursorTalk(talk.host, chat.id)

    told = await say_all(other, scene.remote, ("Where?", "There."), ("Sure?", "Yes."))

    assert [_reasons(one) for one in told] == [[], []]
    assert await other.envelope() is None
    assert scene.remote.cursors[1:] == [None, None]
    assert scene.remote.sent[0] == "user: (A bell rings.)"


@keeps_long
async def test_a_system_text_that_comes_and_goes_travels_beside_the_cursor(scene: CursorStage) -> None:
    chat = await (await scene.host()).create_chat(
        owner="ann",
        provider=scene.remote.name,
        model=scene.remote.model,
        messages=[
            {"id": "brief", "role": "system", "content": "Be brief.", "source": "system"},
            {"id": "shop", "role": "system", "content": "The shop is in Ghent.", "source": "lorebook"},
            {"id": "bell", "role": "system", "content": "A bell rings.", "ephemeral": True, "source": "lorebook"},
        ],
        format="neutral",
    )
    talk = CursorTalk(await scene.host(), chat.id)
    await say_all(talk, scene.remote, ("Kettles?", "Seven."))
    bell = (await talk.ids())[2]
    assert "A bell rings." in scene.remote.seen()

    await talk.host.remove(talk.chat_id, bell, owner="ann")
    without = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]

    assert _reasons(without) == []
    assert scene.remote.sent == ["user: Sure?"]
    assert "A bell rings." not in scene.remote.seen()
    assert "Ghent" in scene.remote.seen()
    await talk.host.remove(talk.chat_id, (await talk.ids())[1], owner="ann")
    changed = (await say_all(talk, scene.remote, ("Really?", "Really.")))[0]
    assert _reasons(changed) == ["system_prompt_changed"]
    assert "Ghent" not in scene.remote.seen()


def _redacting(secret: str) -> Answer:
    def answer(request: Request, services: Services) -> Edit:
        cuts = {}
        for message in request.messages:
            for path, text in texts_of(message):
                at = text.find(secret)
                if at >= 0:
                    cuts[message.id, path] = [(0, at), (at + len(secret), len(text))]
        return Edit(shorten=cuts)

    return answer


async def test_a_secret_that_is_taken_out_each_turn_is_never_at_the_provider(scene: CursorStage) -> None:
    talk = await _intercepted(scene, _redacting("quince-77"))

    told = await say_all(
        talk,
        scene.remote,
        ("My key is quince-77, keep it safe.", "I will."),
        ("Sure?", "Yes."),
        ("Really?", "Yes."),
    )

    assert [_reasons(one) for one in told] == [[], [], []]
    assert ["quince-77" in scene.remote.seen(number) for number in (1, 2, 3)] == [False] * 3
    assert scene.remote.sent == ["user: Really?"]


async def test_a_secret_in_an_answer_is_not_brought_back_by_a_cursor(scene: CursorStage) -> None:
    talk = await _intercepted(scene, _redacting("quince-77"))

    told = await say_all(
        talk, scene.remote, ("What is my key?", "It is quince-77, of course."), ("Sure?", "Yes."), ("So?", "So.")
    )

    assert [_reasons(one) for one in told] == [[], ["context_shifted"], []]
    assert "quince-77" not in scene.remote.seen()
    assert "quince-77" not in scene.remote.seen(2)


@pytest.mark.parametrize("strategy", ["summarize", "truncate"])
async def test_an_edit_that_is_carried_on_keeps_the_cursor(scene: CursorStage, strategy: str) -> None:
    talk = await scene.talk(context_strategy=strategy, context_settings=LIMIT)
    told = []
    for number in range(11):
        question, answer = f"Question {number} about {words(40)}?", f"Answer {number} about {words(20, 'pots')}."
        told += await say_all(talk, scene.remote, (question, answer))

    shifts = [at for at, one in enumerate(told) if _reasons(one)]
    assert {reason for one in told for reason in _reasons(one)} == {"context_shifted"}
    assert all(later - earlier > 1 for earlier, later in pairwise(shifts))
    after = shifts[0] + 1
    assert scene.remote.cursors[after] is not None
    assert scene.remote.sent_in(after) == [f"user: Question {after} about {words(40)}?"]
    if strategy == "summarize":
        assert "ummar" in scene.remote.seen(after + 1)
    assert (await talk.chat()).carried is not None


async def test_a_shortened_result_is_shortened_at_the_provider_too(scene: CursorStage) -> None:
    async def read() -> str:
        """Read a page."""
        return f"BEGIN {words(400)} MIDDLE {words(400)} END"

    settings = {"contextLimit": 1200, "reserve": 0, "providerCompactionEnabled": False}
    talk = await scene.talk(read, context_settings=settings)
    scene.remote.server.call(("read", {}))
    scene.remote.server.say("Kettles.")
    await talk.say("What does it say?")

    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]

    assert _reasons(told) == []
    assert scene.remote.sent == ["user: Sure?"]
    assert "MIDDLE" not in scene.remote.seen()
    result = next(one for one in await talk.messages() if one.message.role == "tool")
    assert result.has_full


async def test_a_loop_that_outgrows_the_window_through_the_cursor_ends_or_is_replayed_within_it(
    scene: CursorStage,
) -> None:
    async def read() -> str:
        """Read a page."""
        return words(120)

    settings = {"contextLimit": 700, "reserve": 0, "toolResultShare": 1.0, "providerCompactionEnabled": False}
    talk = await scene.talk(read, context_settings=settings)
    for _ in range(6):
        scene.remote.server.call(("read", {}))
    scene.remote.server.say("Kettles.")

    told = await talk.say("What do they say?")

    for ready in told.of("context_ready"):
        assert ready["snapshot"]["estimatedInputTokens"] <= 700
    if told.last.kind == "turn_failed":
        assert told.failed.code == "TOKEN_BUDGET_EXCEEDED"
        assert await talk.envelope() is None
    else:
        assert {*_reasons(told)} == {"context_shifted"}
        assert len(_reasons(told)) == len({*_reasons(told)})


async def test_parts_of_an_input_are_sent_as_they_are(scene: CursorStage) -> None:
    talk = await scene.told()
    scene.remote.server.say("Yes.")

    await talk.say([Text("Sure"), Text(" of that?")])

    assert scene.remote.sent == ["user: Sure of that?"]
