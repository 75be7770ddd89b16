"""Conversations that a client keeps itself: the edit of their beginning is found again and made again."""

from __future__ import annotations

import random
from typing import Any

import pytest

from fakes.messages_server import MessagesServer
from trimtab import Config
from trimtab.fitting.carrying import Carried
from trimtab.host import Host
from trimtab.turns.remembered import RememberedEdits, links_of
from trimtab_sdk import Usage
from turns.turn_helpers import Stage, words

pytestmark = pytest.mark.anyio
LIMITS = {"context_limit": 1200, "reserve": 100}
ASKED: dict[str, Any] = {"owner": "ann", "provider": "local", "model": "gpt-4o", "context_settings": LIMITS}
TURNS = 80


def said(count: int, first: str = "0") -> list[Any]:
    """A talk that ends with a question."""
    roles = ("user", "assistant")
    talk = [{"role": roles[at % 2], "content": f"{at} {words(60)}"} for at in range(2 * count + 1)]
    return [{**talk[0], "content": f"{first} {words(60)}"}, *talk[1:]]


async def answered(host: Host, messages: list[Any], **asked: Any) -> tuple[int, int]:
    """Have messages answered; give the tokens that were read, and those of them from the cache."""
    async with host.generate(messages, **{**ASKED, **asked}) as answering:
        usages = [event async for event in answering if isinstance(event, Usage)]
    return usages[-1].input_tokens or 0, usages[-1].cached_tokens or 0


async def talked(stage: Stage, *, forgetful: bool, **asked: Any) -> float:
    """Have a long talk whose client sends all of it each time; give the share that came from the cache."""
    host = await stage.host()
    talk: list[Any] = [{"role": "system", "content": "Be brief."}]
    read = cached = 0
    for number in range(TURNS):
        if forgetful:
            host = await stage.host()
        talk.append({"role": "user", "content": f"Question {number}: {words(20)}"})
        stage.server.say(f"Answer {number}: {words(20)}")
        tokens, known = await answered(host, talk, **asked)
        talk.append({"role": "assistant", "content": f"Answer {number}: {words(20)}"})
        read, cached = read + tokens, cached + known
    return cached / read


@pytest.mark.parametrize("strategy", ["truncate", "summarize"])
async def test_a_talk_that_comes_again_and_again_keeps_its_prefix_in_the_cache(
    stage: Stage, strategy: str
) -> None:
    wide = {"context_strategy": strategy, "context_settings": {"context_limit": 2400, "reserve": 100}}
    share = await talked(stage, forgetful=False, **wide)
    alone = await talked(stage, forgetful=True, **wide)

    assert share > 0.85
    assert share > 1.3 * alone, alone


async def test_a_provider_with_another_wire_gets_the_same_prefix_too(stage: Stage) -> None:
    with MessagesServer() as server:
        endpoint = {"driver": "anthropic", "base_url": server.base_url, "retries": 0}
        host = await stage.host(config=Config(providers={"claude": endpoint}))
        talk: list[Any] = []
        firsts = []
        for number in range(30):
            talk.append({"role": "user", "content": f"Question {number}: {words(30)}"})
            server.say("Fine.")
            await answered(host, talk, provider="claude", model="claude-sonnet-4-5")
            talk.append({"role": "assistant", "content": f"Answer {number}: {words(30)}"})
            firsts.append(server.view(len(server.requests)).messages[0]["content"][0]["text"])
        assert server.faults == []
    assert firsts[0] != firsts[-1]
    assert len(set(firsts)) <= len(firsts) / 3


async def test_another_owner_another_limit_and_another_beginning_find_no_edit(stage: Stage) -> None:
    host = await stage.host()
    talk, edited = said(15), said(15, first="other")
    others: list[tuple[list[Any], dict[str, Any]]] = [
        (talk, {"owner": "bob"}),
        (talk, {"context_settings": {**LIMITS, "reserve": 101}}),
        (edited, {}),
    ]
    alone = []
    for messages, asked in others:
        stage.server.say("Fine.")
        await answered(await stage.host(), messages, **asked)
        alone.append(stage.sent)
    stage.server.say("Fine.")
    await answered(host, talk[:-4])

    for (messages, asked), expected in zip(others, alone, strict=True):
        stage.server.say("Fine.")
        await answered(host, messages, **asked)
        assert stage.sent == expected


async def test_an_answer_that_is_asked_for_again_is_asked_for_with_the_same_bytes(stage: Stage) -> None:
    host = await stage.host()
    talk = said(15)
    for _ in range(2):
        stage.server.say("Fine.")
        await answered(host, talk)

    assert stage.server.requests[-1].raw == stage.server.requests[-2].raw


async def test_a_preview_is_what_is_then_sent_and_leaves_no_edit(stage: Stage) -> None:
    host = await stage.host()
    talk = said(15)
    stage.server.say("Fine.")
    await answered(host, talk[:-2])
    known = len(host._machinery.edits)

    preview = await host.preview_messages(talk, **ASKED)
    stage.server.say("Fine.")
    await answered(host, talk)

    assert preview.body == stage.server.requests[-1].raw
    assert (known, len(host._machinery.edits)) == (1, 2)


def test_only_what_was_used_last_is_remembered() -> None:
    edits = RememberedEdits(most=3)
    links = [links_of("a", [number])[0] for number in range(5)]
    for link in links[:3]:
        edits.note(link, Carried(drop={"m0": "context-shift"}))
    edits.find(links[:1])
    edits.note(links[3], Carried(drop={"m1": "context-shift"}))

    assert [edits.find([link]).is_empty for link in links] == [False, True, False, False, True]


def test_what_is_remembered_is_bounded_by_its_size_too() -> None:
    edits = RememberedEdits(most_entries=1000)
    large = Carried(drop={f"m{number}": "context-shift" for number in range(400)})
    for number in range(10):
        edits.note(links_of("a", [number])[0], large)

    assert len(edits) == 2
    edits.note(links_of("a", [9])[0], Carried())
    assert len(edits) == 1


def test_the_longest_beginning_that_is_known_is_found() -> None:
    edits = RememberedEdits()
    links = links_of("a", list(range(9)))
    for at in (2, 5):
        edits.note(links[at], Carried(drop={f"m{at}": "context-shift"}))

    assert edits.find(links).drop.keys() == {"m5"}
    assert edits.find(links[:5]).drop.keys() == {"m2"}
    assert edits.find(links_of("b", list(range(9)))).is_empty


def test_equal_values_have_equal_links_wherever_they_come_from() -> None:
    rng = random.Random(5)
    text = "".join(rng.choices("abc", k=40))
    first = [{"role": "user", "content": text, "n": [1, 2.5, None, True]}]
    second = [{"role": "".join(["us", "er"]), "content": "".join(list(text)), "n": [1, 2.5, None, True]}]

    assert links_of("a", first) == links_of("a", second)
    assert links_of("a", first) != links_of("a", [{**first[0], "content": text + "d"}])
