"""Short ways to tell the same story with each of six providers, and of chats that go from one to another."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from fakes.chat_replies import Ask, ask
from fakes.chat_requests import Request
from fakes.chat_server import ChatServer
from fakes.chatgpt_server import ChatGPTServer
from fakes.deepseek_rules import DeepSeekJudge
from fakes.interactions_server import InteractionsServer
from fakes.messages_server import MessagesServer
from fakes.responses_server import ResponsesServer
from trimtab import Config
from trimtab.host import Host
from trimtab.turns.tools import ToolLimits
from trimtab_sdk import File, Image, Text
from turns.turn_helpers import OWNER, Talk

Server: TypeAlias = ChatServer | ResponsesServer | InteractionsServer | MessagesServer

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PAGE = "JVBERi0xLjQKJSVFT0YK"
PICTURE = Image(data=PIXEL, media_type="image/png", width=1, height=1)
DOCUMENT = File(name="prices.pdf", media_type="application/pdf", data=PAGE)


@dataclass(frozen=True, slots=True)
class Kind:
    """A provider: a model of it, its server, and what its endpoint and its chats are set to."""

    name: str
    model: str
    make: Callable[[], Server]
    settings: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


KINDS = {
    kind.name: kind
    for kind in (
        Kind("openai", "gpt-5", ResponsesServer),
        Kind("gemini", "gemini-2.5-pro", InteractionsServer),
        Kind("openai-compatible", "gpt-4o", lambda: ChatServer(extra_keys={"reasoning_content"})),
        Kind("anthropic", "claude-sonnet-4-5", MessagesServer, options={"thinking_budget": 1024}),
        Kind("deepseek", "deepseek-flash", lambda: ChatServer(judge=DeepSeekJudge())),
        Kind(
            "chatgpt",
            "gpt-6-sol",
            lambda: ChatGPTServer(account="acc-1"),
            settings={"accept_unofficial_api": True, "account_id": "acc-1"},
        ),
    )
}
SIX = tuple(KINDS)


class Six:
    """Servers of some of the six providers, and a host that knows them. The faults are looked at in the end."""

    def __init__(self, place: str, names: Sequence[str]) -> None:
        self.place = place
        self.names = tuple(names)
        self.servers: dict[str, Server] = {}
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Six:
        for name in self.names:
            self.servers[name] = server = KINDS[name].make()
            self._open.enter_context(server)
        return self

    async def __aexit__(self, *left: object) -> None:
        await self._open.aclose()

    @property
    def name(self) -> str:
        """The name of the first provider."""
        return self.names[0]

    @property
    def server(self) -> Any:
        """The server of the first provider."""
        return self.servers[self.name]

    async def host(self, *tools: Any, **endpoint: Any) -> Host:
        """Open a host that is closed after the test; `endpoint` are fields of every endpoint."""
        providers = {
            name: {
                "driver": name,
                "base_url": server.base_url,
                "retries": 0,
                "key_variable": "TOKEN",
                "settings": dict(KINDS[name].settings),
                **endpoint,
            }
            for name, server in self.servers.items()
        }
        host = Host(
            self.place,
            Config(providers=providers),
            tools,
            environ={"TOKEN": "a-token"},
            tool_limits=ToolLimits(grace_seconds=0.05),
        )
        return await self._open.enter_async_context(host)

    async def talk(self, *tools: Any, host: Host | None = None, **settings: Any) -> Talk:
        """Begin a chat with the first provider."""
        where = host if host is not None else await self.host(*tools)
        kind = KINDS[self.name]
        fields = {"provider": kind.name, "model": kind.model, "system": "Be brief.", **settings}
        chat = await where.create_chat(owner=OWNER, **{"options": dict(kind.options), **fields})
        return Talk(where, chat.id)

    async def go_to(self, talk: Talk, name: str) -> None:
        """Let a chat go on with another provider."""
        kind = KINDS[name]
        await talk.host.update_chat(
            talk.chat_id, owner=OWNER, provider=name, model=kind.model, options=dict(kind.options)
        )

    def seen(self, name: str = "", number: int = 0) -> str:
        """All that the model sees for a request, counted from 1; for the last one when it is not said which."""
        server = self.servers[name or self.name]
        at = number or len(server.requests)
        if isinstance(server, ChatServer):
            return server.requests[at - 1].raw.decode()
        return str(server.view(at).text)

    @property
    def faults(self) -> dict[str, list[str]]:
        """What was wrong with requests, by provider."""
        return {name: server.faults for name, server in self.servers.items() if server.faults}


@asynccontextmanager
async def six_at(place: str, *names: str) -> AsyncIterator[Six]:
    """Start the servers of some providers; in the end none of their requests was wrong."""
    async with Six(place, names) as six:
        yield six
        assert six.faults == {}


async def look_up(article: str) -> list[Text | Image] | int:
    """How many are left."""
    if article == "spoon":
        raise ValueError("no spoons")
    return [Text("See."), PICTURE] if article == "cup" else {"kettle": 7, "pot": 3}[article]


def asks(*articles: str, ids: str = "") -> tuple[Ask, ...]:
    """Make parallel calls of `look_up`; their ids begin with `ids`, or are the server's."""
    return tuple(
        ask("look_up", {"article": article}, call_id=f"{ids}_{article}" if ids else None) for article in articles
    )


def items_in(request: Request) -> list[str]:
    """Give what a request says, message by message as JSON, without marks for caches."""
    body = request.body
    said = body["messages"] if "messages" in body else body["input"]
    return [json.dumps(_unmarked(one), ensure_ascii=False) for one in said]


def _unmarked(value: Any) -> Any:
    """Give a message without marks; a text that is one block is the block, since marks stand on blocks."""
    if isinstance(value, list):
        return [_unmarked(one) for one in value]
    if not isinstance(value, dict):
        return value
    plain = {key: _unmarked(one) for key, one in value.items() if key != "cache_control"}
    if value.get("role") and isinstance(value.get("content"), str):
        plain["content"] = [{"type": "text", "text": value["content"]}]
    return plain
