"""Turns that fail at the provider, and are tried again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from fakes.chat_server import (
    CUT,
    RESET,
    STALL,
    ChatServer,
    endless,
    mid_character,
    mid_frame,
    page,
    raw,
    redirect,
    refusal_with,
    reply,
    stream_error,
)
from trimtab_sdk.errors import TurnStateError
from turns.turn_helpers import Stage, Talk, config_of, listen, on_both_stores, stock

pytestmark = pytest.mark.anyio

SECRET_WORDS = "zebra-quince"
"""What a server says in its error, and nobody shall read."""

REFUSALS = {
    "bad-request": ("PROVIDER_REQUEST_REFUSED", 400),
    "context": ("PROVIDER_CONTEXT_LENGTH", 400),
    "auth": ("PROVIDER_AUTHENTICATION", 401),
    "permission": ("PROVIDER_AUTHENTICATION", 403),
    "model": ("PROVIDER_MODEL_NOT_FOUND", 404),
    "timeout": ("PROVIDER_TIMEOUT", 408),
    "conflict": ("PROVIDER_FAILED", 409),
    "too-large": ("PROVIDER_REQUEST_REFUSED", 413),
    "unprocessable": ("PROVIDER_REQUEST_REFUSED", 422),
    "rate-limit": ("PROVIDER_RATE_LIMITED", 429),
    "quota": ("PROVIDER_QUOTA_EXHAUSTED", 429),
    "server": ("PROVIDER_FAILED", 500),
    "overloaded": ("PROVIDER_OVERLOADED", 503),
}


@pytest.mark.parametrize("kind", REFUSALS)
async def test_a_refusal_is_told_by_its_code_and_the_turn_can_be_tried_again(stage: Stage, kind: str) -> None:
    talk = await stage.talk(system="Be brief.")
    stage.server.refuse(kind, message=SECRET_WORDS)

    told = await talk.say("How many?")

    code, status = REFUSALS[kind]
    assert (told.failed.code, told.failed.details.get("status")) == (code, status)
    assert told.failed.stored
    turn = await talk.last_turn()
    assert turn.error is not None
    assert turn.error["code"] == code
    assert SECRET_WORDS not in repr([told, turn, await talk.host.audit(talk.chat_id, owner="ann")])
    before = stage.last_request.raw
    stage.server.say("Seven.")
    again = await talk.retry()
    assert again.text == "Seven."
    assert stage.last_request.raw == before
    assert await talk.texts() == ["system: Be brief.", "user: How many?", "assistant: Seven."]


@dataclass(frozen=True)
class Break:
    """An answer that breaks: what is said, and what a caller is told."""

    code: str
    script: Callable[[ChatServer], Any]
    partial: str = ""


BREAKS = {
    "cut before the head": Break("PROVIDER_UNREACHABLE", lambda server: server.say(before_head=(CUT,))),
    "cut in the middle": Break("PROVIDER_STREAM_BROKEN", lambda server: server.say("Sev", CUT), "Sev"),
    "reset": Break("PROVIDER_STREAM_BROKEN", lambda server: server.say("Sev", RESET)),
    "mid frame": Break("PROVIDER_STREAM_BROKEN", lambda server: server.say("Sev", mid_frame("en")), "Sev"),
    "mid character": Break("PROVIDER_STREAM_BROKEN", lambda server: server.say("Gr", mid_character("üße")), "Gr"),
    "no end": Break("PROVIDER_STREAM_BROKEN", lambda server: server.say("Sev", finish=None, done=False), "Sev"),
    "wrong JSON": Break("PROVIDER_BAD_RESPONSE", lambda server: server.say("Sev", raw(b"data: {oops\n\n")), "Sev"),
    "error mid-stream": Break(
        "PROVIDER_FAILED", lambda server: server.say("Sev", stream_error(SECRET_WORDS)), "Sev"
    ),
    "a page": Break("PROVIDER_BAD_RESPONSE", lambda server: server.reply(page(f"<html>{SECRET_WORDS}</html>"))),
    "a redirect": Break("PROVIDER_REDIRECTED", lambda server: server.reply(redirect("http://127.0.0.1:9/"))),
    "a strange status": Break("PROVIDER_REQUEST_REFUSED", lambda server: server.reply(refusal_with(418, "tea"))),
    "silence": Break("PROVIDER_TIMEOUT", lambda server: server.say("Sev", STALL), "Sev"),
    "silence at first": Break("PROVIDER_TIMEOUT", lambda server: server.say(before_head=(STALL,))),
    "comments without end": Break(
        "PROVIDER_TIMEOUT", lambda server: server.say("Sev", endless(b": keep-alive\n\n", every_ms=5)), "Sev"
    ),
}


@pytest.mark.parametrize("name", BREAKS)
async def test_an_answer_that_breaks_is_told_kept_apart_and_tried_again(stage: Stage, name: str) -> None:
    case = BREAKS[name]
    limits = {"first_byte_seconds": 0.2, "idle_seconds": 0.1, "answer_seconds": 0.3}
    talk = await stage.talk(host=await stage.host(config=config_of(stage.server, **limits)))
    case.script(stage.server)

    told = await talk.say("How many?")

    assert told.failed.code == case.code
    turn = await talk.last_turn()
    assert turn.partial == told.text
    assert turn.partial == case.partial or name == "reset"
    assert await talk.texts() == ["user: How many?"]
    assert SECRET_WORDS not in repr([told, turn, await talk.host.audit(talk.chat_id, owner="ann")])
    stage.server.say("Seven.")
    assert (await talk.retry()).text == "Seven."
    assert await talk.texts() == ["user: How many?", "assistant: Seven."]
    assert stage.sent == ["user: How many?"]


async def test_an_answer_without_its_done_line_is_whole_when_its_finish_came(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.say("Seven.", done=False)

    assert (await talk.say("How many?")).text == "Seven."


async def test_an_answer_that_is_no_stream_is_refused(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.reply(reply("Seven.", as_json=True))

    assert (await talk.say("How many?")).failed.code == "PROVIDER_BAD_RESPONSE"


async def test_an_answer_in_single_bytes_is_read_whole(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.say("Grüße, 你好 👋🏽", cut_at="every byte")

    assert (await talk.say("Hello?")).text == "Grüße, 你好 👋🏽"


@on_both_stores
async def test_a_failure_after_tools_have_run_keeps_what_they_did(stage: Stage) -> None:
    runs = []

    async def order(article: str) -> str:
        """Order one."""
        runs.append(article)
        return f"ordered {article}"

    talk = await stage.talk(order)
    stage.server.call(("order", {"article": "pot"}))
    stage.server.refuse("overloaded")
    told = await talk.say("Order a pot.")
    assert told.failed.code == "PROVIDER_OVERLOADED"
    stage.server.say("It is ordered.")

    await talk.retry()

    assert runs == ["pot"]
    assert await talk.texts() == [
        "user: Order a pot.",
        "assistant: ",
        "tool: ordered pot",
        "assistant: It is ordered.",
    ]


async def test_a_failed_turn_is_followed_by_another_input(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.refuse("server")
    await talk.say("How many?")
    stage.server.say("Three pots.")

    await talk.say("Pots, I mean.")

    assert "How many?" in " ".join(stage.sent)
    assert "Pots, I mean." in stage.sent[-1]


async def test_a_transport_that_tries_again_sends_the_same_bytes(stage: Stage) -> None:
    talk = await stage.talk(host=await stage.host(config=config_of(stage.server, retries=1)))
    stage.server.refuse("overloaded", retry_after_ms=1)
    stage.server.say("Seven.")

    told = await talk.say("How many?")

    assert told.text == "Seven."
    assert [event.kind for event in told.events].count("context_ready") == 1
    first, second = stage.server.requests
    assert first.raw == second.raw


async def test_a_host_that_cannot_be_reached_is_told_and_the_input_is_kept(stage: Stage) -> None:
    nowhere = config_of(stage.server, base_url="http://127.0.0.1:1/v1", connect_seconds=1)
    talk = await stage.talk(host=await stage.host(config=nowhere))

    told = await talk.say("How many?")

    assert told.failed.code == "PROVIDER_UNREACHABLE"
    assert await talk.texts() == ["user: How many?"]
    assert await talk.audit_status() == "failed"


SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown provider": ({"provider": "nowhere"}, "UNKNOWN_PROVIDER"),
    "an unknown model": ({"model": "nobody-knows"}, "UNKNOWN_MODEL"),
    "an unknown strategy": ({"context_strategy": "nothing"}, "UNKNOWN_STRATEGY"),
    "an unknown option": ({"options": {"warmth": 3}}, "INVALID_REQUEST"),
    "a reserve over the limit": ({"context_settings": {"contextLimit": 10, "reserve": 20}}, "INVALID_BUDGET"),
    "too small a window": ({"context_settings": {"contextLimit": 6, "reserve": 0}}, "TOKEN_BUDGET_EXCEEDED"),
}


@pytest.mark.parametrize("name", SETTINGS)
async def test_settings_that_cannot_be_met_fail_the_turn_and_keep_its_input(stage: Stage, name: str) -> None:
    settings, code = SETTINGS[name]
    talk = await stage.talk(**settings)

    told = await talk.say("How many kettles are left in the shop?")

    assert told.kinds == ["turn_started", "turn_failed"]
    assert told.failed.code == code
    assert stage.server.requests == []
    await talk.host.update_chat(
        talk.chat_id,
        owner="ann",
        provider="local",
        model="gpt-4o",
        context_strategy="truncate",
        options={},
        context_settings={},
    )
    stage.server.say("Seven.")
    await talk.retry()
    assert stage.sent == ["user: How many kettles are left in the shop?"]


async def test_a_missing_key_is_named_by_its_variable(stage: Stage) -> None:
    config = config_of(stage.server, key_variable="SHOP_KEY")
    talk = await stage.talk(host=await stage.host(config=config))

    told = await talk.say("How many?")

    assert told.failed.code == "PROVIDER_KEY_MISSING"
    assert "SHOP_KEY" in told.failed.message
    keyed = await stage.host(config=config, environ={"SHOP_KEY": "k-123"})
    stage.server.say("Seven.")
    assert (await Talk(keyed, talk.chat_id).retry()).text == "Seven."
    assert stage.last_request.headers["authorization"] == "Bearer k-123"


async def test_there_is_nothing_to_try_again_after_a_turn_that_ended_well(stage: Stage) -> None:
    talk = await stage.talk(stock)
    for _ in range(2):
        with pytest.raises(TurnStateError):
            await listen(talk.host.retry(talk.chat_id, owner="ann"))
        stage.server.say("Seven.")
        await talk.say("How many?")
