"""Answers without a chat: fitted, sent and recovered like turns, and stored nowhere."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from fakes.chat_replies import STALL, reply
from fakes.chat_server import ChatServer
from trimtab.host import Host
from trimtab.turns.events import ContextReady, ModelFallback
from trimtab.turns.stateless import GenerationEvent, GenerationStream
from trimtab_sdk import Answer, TextDelta, ToolCallCompleted, ToolSpec
from trimtab_sdk.errors import (
    InvalidRequestError,
    ProviderError,
    TokenBudgetExceededError,
    TurnInterruptedError,
    UnknownProviderError,
)
from turns.six_helpers import KINDS, PICTURE, SIX, six_at
from turns.turn_helpers import ASK_USER, Stage, config_of, words

pytestmark = pytest.mark.anyio
ASKED: dict[str, Any] = {"owner": "ann", "provider": "local", "model": "gpt-4o"}
KETTLES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Kettles?"}]


async def heard(stream: GenerationStream) -> list[GenerationEvent]:
    async with stream:
        return [event async for event in stream]


def text_of(events: list[GenerationEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def long_talk(size: int) -> list[dict[str, Any]]:
    said = [{"role": role, "content": f"{at} {words(40)}"} for at in range(size) for role in ("user", "assistant")]
    return [{"role": "system", "content": "Be brief."}, *said, {"role": "user", "content": "And now?"}]


async def test_messages_are_answered_and_nothing_is_stored(stage: Stage) -> None:
    host = await stage.host()
    before = rows_of(stage.place)
    stage.server.say("Sev", "en.")

    events = await heard(host.generate(KETTLES, **ASKED))

    assert [event.kind for event in events if not isinstance(event, Answer)] == [
        "context_ready",
        "text_delta",
        "text_delta",
        "usage",
    ]
    answer = events[-1]
    assert isinstance(answer, Answer)
    assert (text_of(events), answer.finish) == ("Seven.", "stop")
    assert answer.usage is not None
    assert answer.usage.input_tokens
    assert stage.last_request.messages == KETTLES
    assert rows_of(stage.place) == before


def rows_of(place: str) -> list[str]:
    with sqlite3.connect(place) as connection:
        return list(connection.iterdump())


async def test_what_does_not_fit_leaves_and_the_report_tells_it(stage: Stage) -> None:
    host = await stage.host()
    stage.server.say("Fine.")
    asked = {**ASKED, "context_settings": {"context_limit": 800, "reserve": 100}}

    async with host.generate(long_talk(20), **asked) as answering:
        events = [event async for event in answering]

    fit = answering.fit
    assert fit is not None
    assert fit.tokens_after <= fit.budget.available == 700
    assert fit.tokens_before > 700
    assert {entry.reason for entry in fit.excluded} == {"context-shift"}
    ready = events[0]
    assert isinstance(ready, ContextReady)
    assert ready.excluded == len(fit.excluded)
    assert stage.sent[0] == "system: Be brief."
    assert stage.sent[-1] == "user: And now?"


async def test_a_preview_is_what_is_sent_then(stage: Stage) -> None:
    host = await stage.host()
    asked = {**ASKED, "context_settings": {"context_limit": 800, "reserve": 100}, "tools": [ASK_USER]}

    preview = await host.preview_messages(long_talk(20), **asked)
    assert stage.server.requests == []
    stage.server.say("Fine.")
    await heard(host.generate(long_talk(20), **asked))

    assert stage.last_request.raw == preview.body


async def test_what_must_stay_and_does_not_fit_is_an_error_and_nobody_is_asked(stage: Stage) -> None:
    host = await stage.host()
    asked = {**ASKED, "context_settings": {"context_limit": 100, "reserve": 0}}
    messages = [{"role": "user", "content": words(500)}]

    with pytest.raises(TokenBudgetExceededError):
        await heard(host.generate(messages, **asked))
    with pytest.raises(TokenBudgetExceededError):
        await host.preview_messages(messages, **asked)
    assert stage.server.requests == []


async def test_messages_of_the_providers_own_format_go_out_as_they_came(stage: Stage) -> None:
    host = await stage.host()
    call = {"id": "c1", "type": "function", "function": {"name": "stock", "arguments": '{"a" :1}'}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Look."}], "name": "ann"},
        {"role": "assistant", "content": None, "reasoning_content": "Hm.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "7"},
    ]
    stage.server.say("Seven.")

    await heard(host.generate(messages, **ASKED, tools=[ToolSpec("stock")]))

    assert stage.last_request.messages == messages


async def test_reasoning_of_earlier_turns_is_not_sent_again(stage: Stage) -> None:
    host = await stage.host()
    said = {"role": "assistant", "content": "Seven.", "reasoning_content": "Hm."}
    stage.server.say("Well.")

    await heard(host.generate([KETTLES[1], said, {"role": "user", "content": "And?"}], **ASKED))

    assert "reasoning_content" not in stage.last_request.messages[1]


@pytest.mark.parametrize("name", SIX)
async def test_every_provider_answers_a_conversation_of_a_foreign_format(name: str, place: str) -> None:
    call = {"id": "call one/1", "type": "function", "function": {"name": "look_up", "arguments": '{"a": 1}'}}
    other = {"id": "call two", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    url = f"data:image/png;base64,{PICTURE.data}"
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]},
        {"role": "assistant", "content": "So.", "tool_calls": [call, other], "reasoning_content": "Hm."},
        {"role": "tool", "tool_call_id": "call two", "content": "2"},
        {"role": "tool", "tool_call_id": "call one/1", "content": "1"},
        {"role": "assistant", "content": "Three."},
        {"role": "user", "content": "And?"},
    ]
    kind = KINDS[name]
    async with six_at(place, name) as six:
        host = await six.host()
        six.server.say("Four.")
        events = await heard(
            host.generate(
                messages,
                owner="ann",
                provider=name,
                model=kind.model,
                options=dict(kind.options),
                tools=[ToolSpec("look_up", "Look up.")],
            )
        )
        assert text_of(events) == "Four."
        body = json.loads(six.server.requests[-1].raw)
        assert body.get("store", False) is False
        assert "previous_response_id" not in body


async def test_calls_of_tools_end_the_answer_and_the_hosts_own_tools_are_not_offered(stage: Stage) -> None:
    async def stock(article: str) -> int:
        """How many are left."""
        raise AssertionError("nobody runs it")

    host = await stage.host(stock)
    wire = {"type": "function", "function": {"name": "ask", "parameters": {"type": "object"}, "strict": True}}
    stage.server.call(("ask", {"a": 1}))

    events = await heard(host.generate(KETTLES, **ASKED, tools=[wire]))

    (call,) = [event for event in events if isinstance(event, ToolCallCompleted)]
    assert (call.name, json.loads(call.arguments)) == ("ask", {"a": 1})
    assert isinstance(events[-1], Answer)
    assert events[-1].finish == "tool-calls"
    assert stage.last_request.body["tools"] == [wire]


async def test_the_format_of_the_answer_is_sent_and_counted(stage: Stage) -> None:
    host = await stage.host()
    schema = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
    stage.server.say("{}")

    plain = await host.preview_messages(KETTLES, **ASKED)
    bound = await host.preview_messages(KETTLES, **ASKED, response_format=schema)
    await heard(host.generate(KETTLES, **ASKED, response_format=schema))

    assert stage.last_request.body["response_format"] == schema
    assert bound.fit.overhead > plain.fit.overhead


async def test_an_overloaded_model_is_replaced_with_the_same_format_and_tools(stage: Stage) -> None:
    host = await stage.host()
    stage.server.refuse("overloaded")
    stage.server.say("{}")

    async with host.generate(
        KETTLES,
        **ASKED,
        fallbacks=[{"provider": "other", "model": "gpt-4o-mini"}],
        response_format={"type": "json_object"},
        tools=[ASK_USER],
    ) as answering:
        events = [event async for event in answering]

    assert [event.next_provider for event in events if isinstance(event, ModelFallback)] == ["other"]
    assert (answering.settings.provider, answering.settings.model) == ("other", "gpt-4o-mini")
    body = stage.last_request.body
    assert (body["model"], body["response_format"]) == ("gpt-4o-mini", {"type": "json_object"})
    assert len(body["tools"]) == 1


async def test_a_call_is_tried_again_and_a_refusal_is_raised(stage: Stage) -> None:
    host = await stage.host(config=config_of(stage.server, retries=1))
    stage.server.refuse("overloaded", retry_after_ms=1)
    stage.server.say("Seven.")
    assert text_of(await heard(host.generate(KETTLES, **ASKED))) == "Seven."

    stage.server.refuse("auth")
    with pytest.raises(ProviderError) as refused:
        await heard(host.generate(KETTLES, **ASKED))
    assert refused.value.code == "PROVIDER_AUTHENTICATION"


async def test_who_leaves_closes_the_connection_at_once(stage: Stage) -> None:
    host = await stage.host()
    stage.server.say("Sev", stage.server.gate(), "en.")

    async with host.generate(KETTLES, **ASKED) as answering:
        async for event in answering:
            if isinstance(event, TextDelta):
                break

    await stage.server.closed_early.wait_async()


async def test_a_host_that_closes_ends_what_it_answers(stage: Stage) -> None:
    host = stage.closed_host()
    await host.open()
    stage.server.say("Sev", STALL)
    listening = aiter(host.generate(KETTLES, **ASKED))
    while not isinstance(await anext(listening), TextDelta):
        pass

    await host.close()

    with pytest.raises(TurnInterruptedError):
        await anext(listening)


@pytest.mark.parametrize(
    ("messages", "asked"),
    [
        ([], {}),
        ("Hello", {}),
        (None, {}),
        (KETTLES, {"tools": [{"type": "web_search"}]}),
        (KETTLES, {"tools": [ASK_USER, ASK_USER]}),
        (KETTLES, {"tools": [{"name": "no good"}]}),
        (KETTLES, {"options": {"colour": "red"}}),
        (KETTLES, {"colour": "red"}),
        (KETTLES, {"owner": ""}),
        ([{"role": "king", "content": "x"}], {"format": "chat-completions"}),
    ],
)
async def test_what_makes_no_sense_is_refused(stage: Stage, messages: object, asked: dict[str, Any]) -> None:
    host = await stage.host()

    with pytest.raises(InvalidRequestError):
        await heard(host.generate(messages, **{**ASKED, **asked}))
    assert stage.server.requests == []


async def test_an_unknown_provider_is_named(stage: Stage) -> None:
    host = await stage.host()
    with pytest.raises(UnknownProviderError):
        await heard(host.generate(KETTLES, owner="ann", provider="nobody", model="gpt-4o"))


async def test_many_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    with ChatServer(lambda body: reply(body["messages"][-1]["content"])) as server:
        async with Host(tmp_path / "chats.db", config_of(server), environ={}) as host:
            asked = [[{"role": "user", "content": f"Number {at}"}] for at in range(20)]
            answers = await asyncio.gather(*(heard(host.generate(one, **ASKED)) for one in asked))
        assert [text_of(events) for events in answers] == [f"Number {at}" for at in range(20)]
