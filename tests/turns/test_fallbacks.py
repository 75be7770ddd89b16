"""Another model answers when the one that was asked is overloaded or out of reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from fakes.chat_server import CUT, ChatServer
from fakes.responses_server import ResponsesServer
from trimtab import Config
from trimtab.host import Host
from trimtab.store.protocol import StoredChat
from trimtab.turns.events import ContextReady, ModelFallback, TurnCompleted, TurnEvent, TurnFailed
from trimtab_sdk import Notice, TextDelta

pytestmark = pytest.mark.anyio
MODELS = {"small": {"context_limit": 3000, "encoding": "cl100k_base", "provider": "openai"}}
SECOND = ({"provider": "second", "model": "small"},)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def first() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server
        assert server.faults == []


@pytest.fixture
def second() -> Iterator[ResponsesServer]:
    with ResponsesServer() as server:
        yield server
        assert server.faults == []


async def lamps(room: str) -> int:
    """How many lamps there are."""
    return 3


def host_on(first: str, second: str, folder: Path) -> Host:
    providers: Mapping[str, object] = {
        "first": {"driver": "openai-compatible", "base_url": first, "retries": 0},
        "second": {"driver": "openai", "base_url": second, "retries": 0},
    }
    return Host(folder / "chats.db", Config(providers=providers, models=MODELS), [lamps])


async def new_chat(host: Host, **settings: object) -> StoredChat:
    settings = {"fallbacks": SECOND, "system": "Be brief.", **settings}
    return await host.create_chat(owner="ann", provider="first", model="gpt-4o", **settings)  # type: ignore[arg-type]


async def say(host: Host, chat: StoredChat, text: str) -> list[TurnEvent]:
    return [event async for event in host.turn(chat.id, text, owner="ann")]


def text_of(events: list[TurnEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_an_overloaded_model_is_replaced_and_people_are_told(
    first: ChatServer, second: ResponsesServer, tmp_path: Path
) -> None:
    async with host_on(first.base_url, second.base_url, tmp_path) as host:
        chat = await new_chat(host)
        first.refuse("overloaded")
        second.say("I answer instead.")
        events = await say(host, chat, "Hello?")

        assert text_of(events) == "I answer instead."
        assert isinstance(events[-1], TurnCompleted)
        (fallback,) = [event for event in events if isinstance(event, ModelFallback)]
        assert (fallback.code, fallback.next_provider, fallback.next_model) == (
            "PROVIDER_OVERLOADED",
            "second",
            "small",
        )
        audit = await host.audit(chat.id, owner="ann")
        assert audit is not None
        assert (audit.provider, audit.model, audit.status) == ("second", "small", "completed")
        assert [(call.provider, call.error_code) for call in audit.calls] == [
            ("first", "PROVIDER_OVERLOADED"),
            ("second", ""),
        ]
        stored = await host.messages(chat.id, owner="ann")
        notices = [part for one in stored for part in one.message.parts if isinstance(part, Notice)]
        assert [notice.kind for notice in notices] == ["model_fallback"]


async def test_the_context_is_fitted_to_the_limit_of_the_other_model(
    first: ChatServer, second: ResponsesServer, tmp_path: Path
) -> None:
    history = [
        {"role": role, "content": f"{at} " + "the crate was weighed at the gate of the quay " * 12}
        for at in range(20)
        for role in ("user", "assistant")
    ]
    async with host_on(first.base_url, second.base_url, tmp_path) as host:
        chat = await new_chat(host, messages=history)
        first.refuse("overloaded")
        second.say("Yes.")
        events = await say(host, chat, "Was it?")

        large, small = (event.snapshot for event in events if isinstance(event, ContextReady))
        assert large.excluded == 0
        assert small.context_limit == 3000
        assert small.excluded > 0
        assert small.estimated_input_tokens <= small.budget


async def test_results_of_tools_that_have_run_go_to_the_other_model_and_no_tool_runs_twice(
    first: ChatServer, second: ResponsesServer, tmp_path: Path
) -> None:
    async with host_on(first.base_url, second.base_url, tmp_path) as host:
        chat = await new_chat(host)
        first.call(("lamps", {"room": "hall"}))
        first.refuse("overloaded")
        second.say("Three lamps.")
        events = await say(host, chat, "How many lamps?")

        assert text_of(events) == "Three lamps."
        assert [event.kind for event in events].count("tool_result") == 1
        sent = [item["type"] for item in second.requests[-1].body["input"]]
        assert sent[-2:] == ["function_call", "function_call_output"]


async def test_an_answer_that_has_begun_is_not_asked_for_again(
    first: ChatServer, second: ResponsesServer, tmp_path: Path
) -> None:
    async with host_on(first.base_url, second.base_url, tmp_path) as host:
        chat = await new_chat(host)
        first.say("Hel", CUT)
        events = await say(host, chat, "Hello?")

        assert isinstance(events[-1], TurnFailed)
        assert events[-1].code == "PROVIDER_STREAM_BROKEN"
        assert second.requests == []


async def test_a_refusal_that_is_no_outage_ends_the_turn(
    first: ChatServer, second: ResponsesServer, tmp_path: Path
) -> None:
    async with host_on(first.base_url, second.base_url, tmp_path) as host:
        chat = await new_chat(host)
        first.refuse("auth")
        events = await say(host, chat, "Hello?")

        assert isinstance(events[-1], TurnFailed)
        assert events[-1].code == "PROVIDER_AUTHENTICATION"
        assert second.requests == []


async def test_a_fallback_that_cannot_be_asked_is_passed_over(
    first: ChatServer, second: ResponsesServer, tmp_path: Path
) -> None:
    async with host_on(first.base_url, second.base_url, tmp_path) as host:
        chat = await new_chat(host, fallbacks=({"provider": "nobody", "model": "x"}, *SECOND))
        first.refuse("overloaded")
        second.say("Here.")
        assert text_of(await say(host, chat, "Hello?")) == "Here."


async def test_when_all_fail_the_last_one_says_why(
    first: ChatServer, second: ResponsesServer, tmp_path: Path
) -> None:
    async with host_on(first.base_url, second.base_url, tmp_path) as host:
        chat = await new_chat(host)
        first.refuse("overloaded")
        second.refuse("server")
        events = await say(host, chat, "Hello?")

        assert isinstance(events[-1], TurnFailed)
        assert (events[-1].code, events[-1].details["provider"]) == ("PROVIDER_FAILED", "second")
        first.say("Back again.")
        assert text_of([event async for event in host.retry(chat.id, owner="ann")]) == "Back again."


async def test_the_chat_returns_to_its_own_model_in_the_next_turn(
    first: ChatServer, second: ResponsesServer, tmp_path: Path
) -> None:
    async with host_on(first.base_url, second.base_url, tmp_path) as host:
        chat = await new_chat(host)
        first.refuse("overloaded")
        second.say("From the second.")
        await say(host, chat, "Hello?")
        first.say("From the first.")
        events = await say(host, chat, "And now?")

        assert text_of(events) == "From the first."
        assert [event.kind for event in events].count("continuation_degraded") == 1
        assert "From the second." in first.requests[-1].raw.decode()
