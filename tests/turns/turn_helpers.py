"""Short ways to tell a story of turns: hosts on one store, a server, and talks whose every turn is looked at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from fakes.chat_requests import Request
from fakes.chat_server import ChatServer
from trimtab import Config
from trimtab.host import Host
from trimtab.store.protocol import StoredChat, StoredMessage, StoredTurn
from trimtab.turns.events import (
    LAST_KINDS,
    TurnCompleted,
    TurnEvent,
    TurnFailed,
    TurnPaused,
    TurnStarted,
)
from trimtab.turns.inputs import ResultInput, UserInput
from trimtab.turns.stream import TurnStream
from trimtab.turns.tools import Tool, ToolLimits
from trimtab_sdk import TextDelta, ToolSpec
from trimtab_sdk.messages import plain_text

OWNER = "ann"
STATES = {
    "turn_completed": "completed",
    "turn_failed": "failed",
    "turn_cancelled": "cancelled",
    "turn_paused": "paused",
}
on_both_stores = pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
ASK_USER = ToolSpec(
    "ask_user", "Ask the user.", {"type": "object", "properties": {"question": {"type": "string"}}}
)


@dataclass(frozen=True)
class Told:
    """What a turn told."""

    events: tuple[TurnEvent, ...]

    @property
    def kinds(self) -> list[str]:
        """The kinds of the events, those that follow each other once."""
        kinds = [event.kind for event in self.events]
        return [kind for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] != kind]

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    @property
    def turn_id(self) -> str:
        first = self.events[0]
        assert isinstance(first, TurnStarted)
        return first.turn_id

    @property
    def last(self) -> TurnEvent:
        return self.events[-1]

    @property
    def completed(self) -> TurnCompleted:
        assert isinstance(self.last, TurnCompleted), self.last
        return self.last

    @property
    def failed(self) -> TurnFailed:
        assert isinstance(self.last, TurnFailed), self.last
        return self.last

    @property
    def paused(self) -> TurnPaused:
        assert isinstance(self.last, TurnPaused), self.last
        return self.last

    def of(self, kind: str) -> list[Mapping[str, Any]]:
        """The events of a kind, as JSON values."""
        return [event.to_dict() for event in self.events if event.kind == kind]


async def listen(stream: AsyncIterable[TurnEvent]) -> Told:
    """Listen to a turn to its end."""
    return Told(tuple([event async for event in stream]))


async def listen_until(stream: AsyncIterable[TurnEvent], kind: str) -> None:
    """Listen to a turn and stop with an event of a kind, as a caller does who just leaves the loop."""
    async for event in stream:
        if event.kind == kind:
            break


@dataclass(frozen=True)
class Talk:
    """A chat at a host. Whatever a turn tells is compared with what the store has after it."""

    host: Host
    chat_id: str
    owner: str = OWNER

    def turn(self, said: UserInput, **options: Any) -> TurnStream:
        return self.host.turn(self.chat_id, said, owner=self.owner, **options)

    async def say(self, said: UserInput, **options: Any) -> Told:
        return await self.checked(self.turn(said, **options))

    async def retry(self, **options: Any) -> Told:
        return await self.checked(self.host.retry(self.chat_id, owner=self.owner, **options))

    async def resume(self, turn_id: str, results: Mapping[str, ResultInput]) -> Told:
        return await self.checked(self.host.resume(turn_id, results, owner=self.owner))

    async def checked(self, stream: AsyncIterable[TurnEvent]) -> Told:
        told = await listen(stream)
        await check_turn(self, told)
        return told

    async def chat(self) -> StoredChat:
        return await self.host.chat(self.chat_id, owner=self.owner)

    async def messages(self) -> list[StoredMessage]:
        return await self.host.messages(self.chat_id, owner=self.owner)

    async def texts(self) -> list[str]:
        """The messages, each as `role: text`."""
        return [f"{one.message.role}: {plain_text(one.message)}" for one in await self.messages()]

    async def last_turn(self) -> StoredTurn:
        turn = await self.host.last_turn(self.chat_id, owner=self.owner)
        assert turn is not None
        return turn

    async def ended(self) -> StoredTurn:
        """The last turn, once it has ended in whatever task."""
        for _ in range(2000):
            turn = await self.host.last_turn(self.chat_id, owner=self.owner)
            if turn is not None and turn.state not in ("running", "paused"):
                return turn
            await asyncio.sleep(0.001)
        raise AssertionError("the turn does not end")

    async def audit_status(self) -> str:
        audit = await self.host.audit(self.chat_id, owner=self.owner)
        assert audit is not None
        return audit.status


class Stage:
    """A store, a server, and hosts that work on both."""

    def __init__(self, place: str, server: ChatServer) -> None:
        self.place = place
        self.server = server
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Stage:
        return self

    async def __aexit__(self, *left: object) -> None:
        await self._open.aclose()

    async def host(self, *tools: Any, config: Config | None = None, **options: Any) -> Host:
        """Open a host that is closed after the test."""
        host = self.closed_host(*tools, config=config, **options)
        return await self._open.enter_async_context(host)

    def closed_host(self, *tools: Any, config: Config | None = None, **options: Any) -> Host:
        """Give a host that the test opens and closes itself."""
        options.setdefault("environ", {})
        options.setdefault("tool_limits", ToolLimits(grace_seconds=0.05))
        return Host(self.place, config or config_of(self.server), tools, **options)

    async def talk(self, *tools: Any, host: Host | None = None, **settings: Any) -> Talk:
        """Begin a chat, at a new host unless one is given."""
        where = host if host is not None else await self.host(*tools)
        chat = await where.create_chat(owner=OWNER, **{"provider": "local", "model": "gpt-4o", **settings})
        return Talk(where, chat.id)

    @property
    def last_request(self) -> Request:
        return self.server.requests[-1]

    @property
    def sent(self) -> list[str]:
        """The messages of the last request, each as `role: text`."""
        return [f"{one['role']}: {text_of(one)}" for one in self.last_request.messages]


def config_of(server: ChatServer, **endpoint: Any) -> Config:
    """A configuration with `local` and `other` at one server, and `dry`, that has none."""
    local = {"driver": "openai-compatible", "base_url": server.base_url, "retries": 0, **endpoint}
    return Config(providers={"local": local, "other": local, "dry": {"driver": "dry-run"}})


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message on the wire."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text", f"<{part['type']}>") for part in content)
    return content or ""


async def check_turn(talk: Talk, told: Told) -> None:
    """What holds after every turn, however it ended."""
    kinds = [event.kind for event in told.events]
    assert kinds[0] == "turn_started"
    assert kinds.count("turn_started") == 1
    assert [kind for kind in kinds if kind in LAST_KINDS] == [kinds[-1]]
    chat = await talk.chat()
    turn = await talk.host.get_turn(told.turn_id, owner=talk.owner)
    assert turn.state == STATES[kinds[-1]]
    assert (turn.loop_state is not None) == (turn.state == "paused")
    assert chat.turn_id == (turn.id if turn.state == "paused" else None)
    assert chat.last_provider_state is None or "loop" not in chat.last_provider_state
    await _check_events(talk, told)
    await _check_audit(talk, told, turn)


async def _check_events(talk: Talk, told: Told) -> None:
    stored = await talk.host.events(told.turn_id, owner=talk.owner)
    assert [one.sequence for one in stored] == list(range(1, len(stored) + 1))
    known = joined([dict(one.event) for one in stored])
    mine = joined([event.to_dict() for event in told.events])
    assert known[-len(mine) :] == mine


async def _check_audit(talk: Talk, told: Told, turn: StoredTurn) -> None:
    audit = await talk.host.audit(talk.chat_id, owner=talk.owner)
    if not any(event.kind == "context_ready" for event in told.events):
        return
    assert audit is not None
    expected = "prepared" if turn.state == "paused" else turn.state
    assert (audit.status, audit.turn_id) == (expected, turn.id)
    assert audit.error_code == (turn.error["code"] if turn.error is not None else "")
    resolved = await talk.host.resolve_audit(talk.chat_id, owner=talk.owner)
    assert resolved is not None
    assert (resolved.matches, resolved.missing) == (True, ())


def joined(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events with the pieces that follow each other made one, as they may be stored."""
    made: list[dict[str, Any]] = []
    for event in events:
        key = {"tool_call_delta": "arguments", "text_delta": "text", "reasoning_delta": "text"}.get(event["kind"])
        before = made[-1] if made else {}
        if key and before.get("kind") == event["kind"] and before.get("callId") == event.get("callId"):
            before[key] += event[key]
        else:
            made.append(dict(event))
    return made


async def stock(article: str) -> int:
    """How many are left."""
    return {"kettle": 7, "pot": 3}[article]


def words(count: int, of: str = "kettle") -> str:
    """A text of about so many tokens."""
    return " ".join([of] * count)


def waiting_tool(name: str = "wait") -> tuple[Tool, asyncio.Event, asyncio.Event]:
    """A tool that never answers; the events tell that it began, and that it was ended."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def wait() -> str:
        """Wait."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    return Tool.of(wait, name=name), begun, ended
