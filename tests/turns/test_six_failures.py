"""How turns fail with each of six providers: a code for each kind of error, and the chat goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fakes.chat_refusals import refusal
from fakes.chat_replies import CUT, RESET, mid_frame, reply, stream_error, thought
from fakes.chatgpt_server import detail, used_up
from fakes.deepseek_rules import DEEPSEEK_REFUSALS
from fakes.responses_parts import failure, nested_error
from turns.six_helpers import SIX, Six, asks, look_up, six_at
from turns.turn_helpers import Talk

pytestmark = pytest.mark.anyio

SECRET = "zebra-quince"
CODES = {
    "auth": "PROVIDER_AUTHENTICATION",
    "model": "PROVIDER_MODEL_NOT_FOUND",
    "bad-request": "PROVIDER_REQUEST_REFUSED",
    "context": "PROVIDER_CONTEXT_LENGTH",
    "rate-limit": "PROVIDER_RATE_LIMITED",
    "quota": "PROVIDER_QUOTA_EXHAUSTED",
    "overloaded": "PROVIDER_OVERLOADED",
    "server": "PROVIDER_FAILED",
}
OWN_WAYS: dict[tuple[str, str], Any] = {
    ("deepseek", "quota"): refusal("balance", kinds=DEEPSEEK_REFUSALS),
    ("chatgpt", "quota"): used_up(resets_at=4_000_000_000),
    ("chatgpt", "auth"): detail(401, SECRET),
    ("chatgpt", "bad-request"): detail(400, "Unsupported parameter: temperature"),
}
HIDDEN = ("auth", "overloaded", "server")
"""The kinds that are known without the sentence."""
INSIDE: dict[str, list[tuple[Any, str]]] = {
    "openai": [
        (stream_error(SECRET, code="server_error"), "PROVIDER_FAILED"),
        (failure(SECRET, code="rate_limit_exceeded"), "PROVIDER_RATE_LIMITED"),
        (nested_error(SECRET, code="context_length_exceeded"), "PROVIDER_CONTEXT_LENGTH"),
    ],
    "chatgpt": [
        (failure(SECRET, code="server_is_overloaded"), "PROVIDER_OVERLOADED"),
        (failure(SECRET, code="usage_limit_reached"), "PROVIDER_QUOTA_EXHAUSTED"),
    ],
    "gemini": [
        (stream_error(SECRET), "PROVIDER_FAILED"),
        (stream_error(SECRET, code="service_unavailable"), "PROVIDER_OVERLOADED"),
        (stream_error(SECRET, code="prohibited_content"), "PROVIDER_CONTENT_REFUSED"),
    ],
    "anthropic": [
        (stream_error(SECRET, type="overloaded_error"), "PROVIDER_OVERLOADED"),
        (stream_error(SECRET, type="api_error"), "PROVIDER_FAILED"),
        (stream_error(SECRET, type="rate_limit_error"), "PROVIDER_RATE_LIMITED"),
    ],
    "openai-compatible": [
        (stream_error(SECRET), "PROVIDER_FAILED"),
        (stream_error(SECRET, code="rate_limit_exceeded"), "PROVIDER_RATE_LIMITED"),
    ],
    "deepseek": [
        (stream_error(SECRET), "PROVIDER_FAILED"),
        (stream_error(SECRET, type="service_unavailable_error"), "PROVIDER_OVERLOADED"),
    ],
}
BREAKS = {"cut": CUT, "reset": RESET, "mid-frame": mid_frame("en.")}


@pytest.fixture(params=SIX)
async def six(request: pytest.FixtureRequest, place: str) -> AsyncIterator[Six]:
    async with six_at(place, request.param) as ready:
        yield ready


async def _begun(six: Six, *tools: Any) -> Talk:
    """Begin a chat with a turn."""
    talk = await six.talk(*tools)
    six.server.say("Seven.")
    await talk.say("How many kettles?")
    return talk


async def _is_told_nowhere(talk: Talk, *told: object) -> None:
    audit = await talk.host.audit(talk.chat_id, owner=talk.owner)
    assert SECRET not in repr([*told, await talk.last_turn(), audit])


async def _works_again(six: Six, talk: Talk, *, as_before: bool = True) -> None:
    """Try a failed turn again, with the same bytes, and have another one."""
    before = six.server.requests[-1].raw
    six.server.say("Three.")
    assert (await talk.retry()).text == "Three."
    assert not as_before or six.server.requests[-1].raw == before
    six.server.say("Ten.")
    assert (await talk.say("And in all?")).text == "Ten."
    seen = six.seen()
    assert [seen.count(text) for text in ("How many pots?", "Three.", "And in all?")] == [1, 1, 1]


@pytest.mark.parametrize("kind", CODES)
async def test_a_refusal_has_its_code_and_the_chat_goes_on(six: Six, kind: str) -> None:
    talk = await _begun(six)
    if (six.name, kind) in OWN_WAYS:
        six.server.reply(OWN_WAYS[six.name, kind])
    elif six.name == "deepseek":
        six.server.reply(refusal(kind, kinds=DEEPSEEK_REFUSALS, message=SECRET if kind in HIDDEN else None))
    else:
        six.server.refuse(kind, message=SECRET if kind in HIDDEN else None)

    told = await talk.say("How many pots?")

    assert told.failed.code == CODES[kind]
    assert told.failed.stored
    assert told.failed.retryable is (kind in ("rate-limit", "overloaded", "server"))
    await _is_told_nowhere(talk, told)
    await _works_again(six, talk, as_before=kind != "context")


async def test_a_rate_limit_says_how_long_to_wait(six: Six) -> None:
    talk = await _begun(six)
    six.server.refuse("rate-limit", retry_after=7)

    told = await talk.say("How many pots?")

    assert (told.failed.code, told.failed.details["retryAfter"]) == ("PROVIDER_RATE_LIMITED", 7.0)
    await _works_again(six, talk)


async def test_a_call_that_may_be_made_again_is_made_again(six: Six) -> None:
    talk = await six.talk(host=await six.host(retries=2))
    six.server.refuse("overloaded", retry_after_ms=1)
    six.server.refuse("rate-limit", retry_after_ms=1)
    six.server.say("Seven.")

    assert (await talk.say("How many kettles?")).text == "Seven."

    assert len({request.raw for request in six.server.requests}) == 1
    assert len(six.server.requests) == 3


@pytest.mark.parametrize(
    ("six", "at"), [(name, at) for name, cases in INSIDE.items() for at in range(len(cases))], indirect=["six"]
)
async def test_an_error_inside_of_a_stream_has_its_code_and_the_chat_goes_on(six: Six, at: int) -> None:
    part, code = INSIDE[six.name][at]
    talk = await _begun(six)
    six.server.say("Thr", part)

    told = await talk.say("How many pots?")

    assert (told.failed.code, told.text) == (code, "Thr")
    assert (await talk.last_turn()).partial == "Thr"
    await _is_told_nowhere(talk, told)
    await _works_again(six, talk, as_before=code != "PROVIDER_CONTEXT_LENGTH")


@pytest.mark.parametrize("how", BREAKS)
async def test_a_stream_that_breaks_is_tried_again(six: Six, how: str) -> None:
    talk = await _begun(six)
    six.server.say("Thr", BREAKS[how])

    told = await talk.say("How many pots?")

    assert told.failed.code == "PROVIDER_STREAM_BROKEN"
    assert (await talk.last_turn()).partial == told.text
    await _works_again(six, talk)


async def test_a_stream_that_ends_without_its_last_event_is_broken(six: Six) -> None:
    talk = await _begun(six)
    six.server.say("Thr", finish=None, done=False)

    assert (await talk.say("How many pots?")).failed.code == "PROVIDER_STREAM_BROKEN"

    await _works_again(six, talk)


async def test_a_stream_that_breaks_inside_of_a_call_runs_no_tool(six: Six) -> None:
    talk = await _begun(six, look_up)
    six.server.say(thought("I look."), *asks("pot"), CUT)

    told = await talk.say("How many pots?")

    assert (told.failed.code, told.of("tool_result")) == ("PROVIDER_STREAM_BROKEN", [])
    await _works_again(six, talk)


async def test_a_failure_behind_the_tools_is_tried_again_without_running_them_again(six: Six) -> None:
    talk = await _begun(six, look_up)
    six.server.reply(reply(thought("I look."), *asks("pot", "spoon")))
    six.server.refuse("server")

    told = await talk.say("How many pots?")

    assert (told.failed.code, len(told.of("tool_result"))) == ("PROVIDER_FAILED", 2)
    await _works_again(six, talk, as_before=False)
    assert six.seen().count("no spoons") == 1
