"""Short ways to tell how turns carry on with a provider that keeps the conversation."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pytest

from fakes.interactions_server import SENTINEL, InteractionsServer
from fakes.messages_server import MessagesServer
from fakes.responses_server import ResponsesServer
from trimtab import Config
from trimtab.host import Host
from trimtab.turns.tools import ToolLimits
from trimtab_sdk.messages import Notice
from turns.turn_helpers import OWNER, Stage, Talk, Told

CursorServer: TypeAlias = ResponsesServer | InteractionsServer | MessagesServer
MODELS = {
    "openai": ("gpt-5", "gpt-5-mini"),
    "gemini": ("gemini-2.5-pro", "gemini-2.5-flash"),
    "anthropic": ("claude-sonnet-4-5", "claude-opus-4-5"),
}
SERVERS = {"openai": ResponsesServer, "gemini": InteractionsServer, "anthropic": MessagesServer}
SETTINGS = {"anthropic": {"threads": True}}
CURSOR_KEYS = {"openai": "previous_response_id", "gemini": "previous_interaction_id"}
DAY = 86_400.0
only_openai = pytest.mark.parametrize("remote", ["openai"], indirect=True)
only_threads = pytest.mark.parametrize("remote", ["anthropic"], indirect=True)
keeps_long = pytest.mark.parametrize("remote", ["openai", "gemini"], indirect=True)
only_gemini = pytest.mark.parametrize("remote", ["gemini"], indirect=True)


@dataclass(frozen=True)
class Remote:
    """A provider that keeps conversations, and its server."""

    name: str
    server: CursorServer

    @property
    def model(self) -> str:
        return MODELS[self.name][0]

    @property
    def other_model(self) -> str:
        return MODELS[self.name][1]

    @property
    def cursors(self) -> list[str | None]:
        """The cursor of each request so far."""
        return [self._cursor(request.body) for request in self.server.requests]

    @property
    def keeping(self) -> list[bool]:
        """Whether each request so far asked the server to keep the conversation."""
        asked = [request.body for request in self.server.requests]
        return ["thread" in body if self.name == "anthropic" else body["store"] for body in asked]

    @property
    def retention(self) -> float:
        """For how many seconds the server keeps a conversation."""
        return {"openai": 30 * DAY, "gemini": 55 * DAY, "anthropic": 300.0}[self.name]

    def _cursor(self, body: Mapping[str, Any]) -> str | None:
        if self.name == "anthropic":
            found: str | None = body.get("thread", {}).get("previous_message_id")
            return found
        return body.get(CURSOR_KEYS[self.name])

    @property
    def body(self) -> Mapping[str, Any]:
        """The body of the last request."""
        body: Mapping[str, Any] = self.server.requests[-1].body
        return body

    @property
    def sent(self) -> list[str]:
        """What the last request says, without reasoning: `user: text`, `assistant: text`, `call: name`, …"""
        return self.sent_in(-1)

    @property
    def instructions(self) -> str:
        """The system text of the last request, and of the thread it goes on with."""
        if isinstance(self.server, MessagesServer):
            return _text(self.server.view(len(self.server.requests)).system)
        said = self.body.get("instructions" if self.name == "openai" else "system_instruction")
        return said if isinstance(said, str) else ""

    def sent_in(self, at: int) -> list[str]:
        """The same of another request, counted from 0."""
        return [text for item in self._items(at) for text in said_in(item)]

    def reasoning_in(self, at: int) -> list[dict[str, Any]]:
        """The reasoning in a request, counted from 0; that which only says that there is none is left out."""
        given = [block for item in self._items(at) for block in (item, *_blocks(item))]
        reasoning = [item for item in given if item.get("type") in ("reasoning", "thought", "thinking")]
        return [item for item in reasoning if item.get("signature") != SENTINEL]

    def _items(self, at: int) -> list[dict[str, Any]]:
        body = self.server.requests[at].body
        given = body.get("messages" if self.name == "anthropic" else "input", [])
        return [{"role": "user", "content": given}] if isinstance(given, str) else given

    def seen(self, number: int = 0) -> str:
        """All that the model sees for a request, counted from 1; for the last one when it is not said which."""
        return self.server.view(number or len(self.server.requests)).text

    def forgive_malformed_cursor(self) -> None:
        """Take out of the faults that a cursor was sent which could not be read: the test wanted that."""
        faults = self.server.faults
        assert len(faults) == (1 if self.name == "openai" else 0), faults
        assert all("previous_response_id" in fault for fault in faults)
        faults.clear()

    def lose(self) -> None:
        """Let the server lose all it keeps."""
        self.server.forget_all()


def said_in(item: Mapping[str, Any]) -> list[str]:
    """Give an item of any wire as short texts; nothing for reasoning."""
    blocks = _blocks(item) if "role" in item and "type" not in item else []
    if not any(block["type"] in ("tool_use", "tool_result", "thinking") for block in blocks):
        return [text] if (text := _said(item)) else []
    told = [{**block, "role": item["role"]} for block in blocks]
    return [text for block in told if (text := _said(block))]


def _blocks(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = item.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _said(item: Mapping[str, Any]) -> str:
    kind = item.get("type", "message")
    if kind in ("reasoning", "thought", "thinking", "redacted_thinking"):
        return ""
    if kind == "text":
        return f"{item['role']}: {item['text']}"
    if kind in ("message", "user_input", "model_output"):
        role = item.get("role") or {"user_input": "user", "model_output": "assistant"}[kind]
        return f"{role}: {_text(item.get('content'))}"
    if kind in ("function_call", "tool_use"):
        return f"call: {item['name']}"
    if kind in ("function_call_output", "function_result", "tool_result"):
        return f"result: {_text(item.get('output', item.get('result', item.get('content'))))}"
    return str(kind)


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", f"<{part['type']}>")) for part in content)
    return content if isinstance(content, str) else ""


@contextmanager
def remote_of(name: str, **options: Any) -> Iterator[Remote]:
    """Start the server of a provider. Its faults are looked at in the end."""
    with SERVERS[name](**options) as server:
        yield Remote(name, server)
        assert server.faults == []


@dataclass(frozen=True)
class CursorTalk(Talk):
    """A chat whose notices are compared with what its turns told."""

    async def checked(self, stream: Any) -> Told:
        told = await super().checked(stream)
        await check_notices(self, told)
        return told

    async def envelope(self) -> str | None:
        """The stored cursor, as text of JSON."""
        return (await self.chat()).last_provider_state

    async def ids(self) -> list[str]:
        """The ids of the messages that are no notices."""
        return [one.message.id for one in await self.messages() if not _notices([one])]

    async def notices(self) -> list[dict[str, Any]]:
        """The notices in the chat, in order."""
        return [dict(notice.data) for notice in _notices(await self.messages())]

    async def decision(self) -> dict[str, Any]:
        """How the last call was decided, as its audit has it."""
        audit = await self.host.audit(self.chat_id, owner=self.owner)
        assert audit is not None
        return dict(audit.continuation)


def _notices(messages: Any) -> list[Notice]:
    return [part for one in messages for part in one.message.parts if isinstance(part, Notice)]


async def check_notices(talk: Talk, told: Told) -> None:
    """What is told of a cursor that is not used is told and stored alike, once for each."""
    stored = await talk.host.events(told.turn_id, owner=talk.owner)
    degraded = [one.event["reason"] for one in stored if one.event["kind"] == "continuation_degraded"]
    shown = [one.event["reason"] for one in stored if one.event["kind"] == "fallback_notice"]
    of_turn = [one for one in await talk.messages() if one.turn_id == told.turn_id]
    noted = _notices(of_turn)
    assert degraded == shown == [notice.data["reason"] for notice in noted]
    finished = told.last.kind == "turn_completed"
    assert [notice.data["recovered"] for notice in noted] == [finished] * len(noted)


class CursorStage(Stage):
    """A store, and hosts that ask one provider with cursors."""

    def __init__(self, place: str, remote: Remote) -> None:
        super().__init__(place, remote.server)  # type: ignore[arg-type]
        self.remote = remote
        self.now = 1_800_000_000.0

    async def __aenter__(self) -> CursorStage:
        return self

    def config(self, **endpoint: Any) -> Config:
        """The configuration, with fields of the endpoint changed."""
        fields = {"base_url": self.remote.server.base_url, "retries": 0, **endpoint}
        fields["settings"] = {**SETTINGS.get(self.remote.name, {}), **fields.get("settings", {})}
        return Config(providers={self.remote.name: fields})

    def closed_host(self, *tools: Any, config: Config | None = None, **options: Any) -> Host:
        options = {
            "environ": {},
            "clock": lambda: self.now,
            "tool_limits": ToolLimits(grace_seconds=0.05),
            **options,
        }
        return Host(self.place, config or self.config(), tools, **options)

    async def talk(self, *tools: Any, host: Host | None = None, **settings: Any) -> CursorTalk:
        where = host if host is not None else await self.host(*tools)
        fields = {"provider": self.remote.name, "model": self.remote.model, "system": "Be brief.", **settings}
        chat = await where.create_chat(owner=OWNER, **fields)
        return CursorTalk(where, chat.id)

    async def told(self, *tools: Any, host: Host | None = None, **settings: Any) -> CursorTalk:
        """Begin a chat with one turn, after which the provider holds two messages."""
        talk = await self.talk(*tools, host=host, **settings)
        self.remote.server.say("Seven.")
        await talk.say("How many kettles?")
        return talk

    def poison(self, statement: str, *values: object) -> None:
        """Change the store behind everybody's back."""
        with sqlite3.connect(self.place) as connection:
            connection.execute(statement, values)
        connection.close()


@dataclass
class Till:
    """Tools that remember each time they are run."""

    sold: list[str] = field(default_factory=list)

    async def stock(self, article: str) -> int:
        """How many are left."""
        self.sold.append(article)
        return {"kettle": 7, "pot": 3}.get(article, 0)


async def say_all(talk: Talk, remote: Remote, *pairs: tuple[str, str]) -> list[Told]:
    """Have turns of a question and an answer."""
    told = []
    for question, answer in pairs:
        remote.server.say(answer)
        told.append(await talk.say(question))
    return told
