"""A chat that goes from each of six providers to each other one, and back."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

from fakes.chat_replies import reply, thought
from trimtab_sdk import Reasoning, Text
from turns.six_helpers import (
    DOCUMENT,
    PAGE,
    PICTURE,
    PIXEL,
    SIX,
    Six,
    asks,
    items_in,
    look_up,
    six_at,
)
from turns.turn_helpers import Talk, Told

pytestmark = pytest.mark.anyio

PAIRS = [pytest.param(first, second, id=f"{first}-to-{second}") for first, second in permutations(SIX, 2)]
KEEPING = ("openai", "gemini")
NO_MARK = "left out the mark that the result is an error"
NO_PICTURE = "put a text in place of image"
SIGNED = "skip_thought_signature_validator"
NAMED = {
    "openai": [NO_MARK],
    "chatgpt": [NO_MARK],
    "openai-compatible": [NO_MARK, NO_PICTURE],
    "deepseek": [NO_MARK, NO_PICTURE],
    "gemini": [SIGNED],
    "anthropic": [],
}


async def _stored(talk: Talk) -> list[Any]:
    """What the store has of each message: all but the number of the last change."""
    return [
        (one.message, one.wire, one.provider_state, one.status, one.turn_id, one.has_full)
        for one in await talk.messages()
    ]


async def _turn(talk: Talk, tell: Callable[[], None], said: Any) -> Told:
    """Have a turn that is completed and changes nothing of what was stored before."""
    before = await _stored(talk)
    tell()
    told = await talk.say(said)
    assert told.completed.finish == "stop"
    assert (await _stored(talk))[: len(before)] == before
    return told


async def _rich_turn(six: Six, talk: Talk, name: str, said: Any, *, ids: str = "") -> Told:
    """Have a turn with thinking, and with parallel calls: a number, an error and a picture."""
    calls = asks("pot", "spoon", "cup", ids=ids)
    replies = (reply(thought(f"{name} looks."), *calls), reply(thought(f"{name} knows."), f"Three, says {name}."))
    told = await _turn(talk, lambda: six.servers[name].reply(*replies), said)
    assert [result["isError"] for result in told.of("tool_result")].count(True) == 1
    return told


async def _plain_turn(six: Six, talk: Talk, name: str, said: str) -> Told:
    return await _turn(talk, lambda: six.servers[name].say(thought("Hm."), f"Yes, says {name}."), said)


async def _opaque_of(talk: Talk, name: str) -> list[str]:
    """The seals of all reasoning that a provider made in a chat."""
    wires = [one for one in await talk.messages() if one.wire is not None and one.wire.provider == name]
    parts = [part for one in wires for part in one.message.parts]
    return [part.opaque for part in parts if isinstance(part, Reasoning) and part.opaque]


async def _begun(six: Six, **endpoint: Any) -> Talk:
    talk = await six.talk(host=await six.host(look_up, **endpoint))
    await _rich_turn(six, talk, six.name, [Text("How many pots?"), PICTURE, DOCUMENT])
    await _plain_turn(six, talk, six.name, "Sure?")
    return talk


def _reasons(told: Told) -> list[str]:
    return [one["reason"] for one in told.of("continuation_degraded")]


async def _check_taken_over(six: Six, talk: Talk, told: Told) -> None:
    """The second provider sees all the first one and its tools said, but for what only the first can read."""
    first, second = six.names
    sent = six.servers[second].requests[0].raw.decode()
    assert f"Three, says {first}." in sent
    assert f"Yes, says {first}." in sent
    assert sent.count("no spoons") == 1
    assert sent.count(PAGE) == 1
    assert sent.count(PIXEL) == (2 if NO_PICTURE in NAMED[second] else 3)
    assert [seal for seal in await _opaque_of(talk, first) if seal in sent] == []
    assert f"{first} looks." not in sent
    context = told.of("context_ready")[0]
    audit = await talk.host.audit(talk.chat_id, owner=talk.owner)
    assert audit is not None
    for remarks in (
        [one["message"] for one in context["diagnostics"]],
        [one.message for one in audit.diagnostics],
    ):
        assert any("reasoning" in remark for remark in remarks), remarks
        for sentence in NAMED[second]:
            assert any(sentence in remark for remark in remarks), remarks


@pytest.mark.parametrize(("first", "second"), PAIRS)
async def test_a_chat_goes_to_another_provider_and_back(place: str, first: str, second: str) -> None:
    async with six_at(place, first, second) as six:
        talk = await _begun(six)
        own = items_in(six.server.requests[-1])

        await six.go_to(talk, second)
        told = await _rich_turn(six, talk, second, [Text("And now?"), PICTURE])
        await _check_taken_over(six, talk, told)
        await _plain_turn(six, talk, second, "Sure again?")
        await six.go_to(talk, first)
        back = await _plain_turn(six, talk, first, "Who was that?")

        sent = six.server.requests[-1].raw.decode()
        assert f"Three, says {second}." in sent
        assert f"{second} looks." not in sent
        assert [seal for seal in await _opaque_of(talk, second) if seal in sent] == []
        assert _reasons(told) == (["provider_changed"] if first in KEEPING else [])
        assert _reasons(back) == (["provider_changed"] if second in KEEPING else [])
        if first not in KEEPING:
            assert items_in(six.server.requests[-1])[: len(own)] == own


@pytest.mark.parametrize(("first", "second"), [pair for pair in PAIRS if pair.values[0] in KEEPING])
async def test_a_provider_that_may_keep_nothing_gets_its_own_items_again(
    place: str, first: str, second: str
) -> None:
    async with six_at(place, first, second) as six:
        talk = await _begun(six, retention=0)
        own = items_in(six.server.requests[-1])
        seals = await _opaque_of(talk, first)

        await six.go_to(talk, second)
        await _rich_turn(six, talk, second, "And now?")
        await six.go_to(talk, first)
        await _plain_turn(six, talk, first, "Who was that?")

        assert items_in(six.server.requests[-1])[: len(own)] == own
        assert len(seals) >= 3
        assert [seal for seal in seals if seal not in six.server.requests[-1].raw.decode()] == []


async def test_a_chat_goes_round_all_six_twice(place: str) -> None:
    async with six_at(place, *SIX) as six:
        talk = await six.talk(host=await six.host(look_up))
        for number, name in enumerate(SIX * 2):
            await six.go_to(talk, name)
            await _rich_turn(six, talk, name, [Text(f"Question {number}?"), PICTURE], ids=f"call_{number}")

        for at, name in enumerate(SIX):
            said = [*SIX, *SIX[:at]]
            told = six.seen(name)
            assert [told.count(f"Three, says {one}.") for one in SIX] == [said.count(one) for one in SIX]


@pytest.mark.parametrize("second", SIX)
async def test_a_turn_that_failed_behind_its_tools_is_tried_again_at_another_provider(
    place: str, second: str
) -> None:
    first = "gemini" if second == "anthropic" else "anthropic"
    async with six_at(place, first, second) as six:
        talk = await six.talk(host=await six.host(look_up))
        six.server.say(thought("I look."), *asks("pot", "kettle"))
        six.server.refuse("server")
        assert (await talk.say("How many?")).failed.code == "PROVIDER_FAILED"

        await six.go_to(talk, second)
        server = six.servers[second]
        server.reply(reply(thought("Hm."), *asks("pot")), reply(thought("So."), f"Ten, says {second}."))
        assert (await talk.retry()).text == f"Ten, says {second}."
        server.say("Yes.")
        assert (await talk.say("Sure?")).completed.finish == "stop"

        seen = six.seen(second)
        assert [seen.count(result) for result in ('"3"', '"7"')] == [2, 1]
