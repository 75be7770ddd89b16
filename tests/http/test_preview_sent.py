"""A preview is what is then sent, to the byte, and leaves no trace: a hundred random chats, every strategy."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeAlias

import httpx
import pytest

from fakes.chat_server import ChatServer
from fakes.interactions_server import InteractionsServer
from fakes.messages_server import MessagesServer
from fakes.responses_server import ResponsesServer
from http_helpers import asgi_client, make_app
from trimtab.host import Host
from trimtab_sdk import TokenBudgetExceededError

pytestmark = pytest.mark.anyio
Server: TypeAlias = ChatServer | ResponsesServer | MessagesServer | InteractionsServer
STRATEGIES = ("truncate", "summarize", "vector-recall", "manual")
CHATS = 100
WORDS = [
    "kettle",
    "pot",
    "shelf",
    "order",
    "depot",
    "parcel",
    "lamp",
    "plate",
    "invoice",
    "Utrecht",
    "Ghent",
    "blue",
    "seven",
    "late",
]


@dataclass(frozen=True)
class Wire:
    """A provider: a model of it, its server, and where its body has the messages."""

    model: str
    make: Callable[[], Server]
    key: str


WIRES: Mapping[str, Wire] = {
    "openai-compatible": Wire("gpt-4o", ChatServer, "messages"),
    "openai": Wire("gpt-5", ResponsesServer, "input"),
    "anthropic": Wire("claude-sonnet-4-5", MessagesServer, "messages"),
    "gemini": Wire("gemini-2.5-pro", InteractionsServer, "input"),
}


def _text(rng: random.Random, most: int) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(1, most)))


def _step(rng: random.Random, number: int) -> list[dict[str, Any]]:
    calls = [
        {
            "id": f"call_{number}_{at}",
            "type": "function",
            "function": {"name": "stock", "arguments": json.dumps({"article": _text(rng, 2)})},
        }
        for at in range(rng.randint(1, 3))
    ]
    asked = {"role": "assistant", "content": rng.choice([None, _text(rng, 9)]), "tool_calls": calls}
    results = [{"role": "tool", "tool_call_id": call["id"], "content": _text(rng, 60)} for call in calls]
    return [asked, *results]


def _history(rng: random.Random) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = [{"role": "system", "content": _text(rng, 20)}]
    for number in range(rng.randint(0, 12)):
        told.append({"role": "user", "content": _text(rng, 80)})
        if rng.random() < 0.3:
            told += _step(rng, number)
        told.append({"role": "assistant", "content": _text(rng, 80)})
    return told


def _dump(place: str) -> list[str]:
    connection = sqlite3.connect(place)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def _named(block: dict[str, Any]) -> dict[str, Any]:
    """Give a block of an account; an input gets its id when it is stored."""
    return {**block, "id": "input"} if block["reason"] == "current-input" else block


async def _touch(rng: random.Random, client: httpx.AsyncClient, chat_id: str) -> None:
    """Pin, leave out and edit some messages."""
    where = f"/api/v2/chats/{chat_id}/messages"
    stored = (await client.get(where, params={"limit": 100})).json()["messages"]
    for one in stored[1:]:
        chance = rng.random()
        change: dict[str, Any] = {}
        if chance < 0.05:
            change = {"pinned": True}
        elif chance < 0.12:
            change = {"meta": {"manualExcluded": True}}
        elif chance < 0.16 and one["role"] in ("user", "assistant") and len(one["parts"]) == 1:
            change = {"text": _text(rng, 30)}
        if change:
            answer = await client.patch(f"{where}/{one['id']}", json=change)
            assert answer.status_code == 200, answer.text


async def _preview(client: httpx.AsyncClient, chat_id: str, said: str) -> httpx.Response:
    return await client.post("/api/v2/context-preview", json={"chatId": chat_id, "input": said})


async def _compare(
    rng: random.Random,
    client: httpx.AsyncClient,
    host: Host,
    place: str,
    server: Server,
    chat_id: str,
    key: str,
) -> bool:
    """Have a turn that is looked at before; tell whether it could be made."""
    said = _text(rng, 25)
    before = _dump(place)
    told = await _preview(client, chat_id, said)
    try:
        body = (await host.preview(chat_id, said, owner="local")).body
    except TokenBudgetExceededError:
        body = b""
    assert _dump(place) == before
    asked = len(server.requests)
    if not body:
        assert (told.status_code, told.json()["code"]) == (422, "TOKEN_BUDGET_EXCEEDED")
    else:
        server.say(_text(rng, 40))
    turn = await client.post(
        f"/api/v2/chats/{chat_id}/turns", json={"input": said}, headers={"accept": "application/json"}
    )
    if not body:
        assert len(server.requests) == asked
        return False
    assert turn.status_code == 200, turn.text
    assert len(server.requests) == asked + 1
    sent = server.requests[-1]
    assert sent.raw == body
    audit = (await client.get(f"/api/v2/chats/{chat_id}/context-audit")).json()
    for field in ("recount", "leftOut", "budget", "strategy"):
        assert audit[field] == told.json()[field], field
    assert [_named(block) for block in audit["blocks"]] == [_named(block) for block in told.json()["blocks"]]
    if key != "messages" or "cache_control" not in sent.raw.decode():
        assert sent.body[key] == told.json()["messages"]
    return True


async def _talk(rng: random.Random, app: Any, place: str, servers: Mapping[str, Server], strategy: str) -> int:
    made = 0
    async with asgi_client(app, timeout=30) as client:
        for number in range(CHATS // len(STRATEGIES)):
            name = list(WIRES)[number % len(WIRES)]
            limits = {"contextLimit": rng.choice([300, 500, 900, 2000]), "reserve": rng.choice([0, 64])}
            asked = {"provider": name, "model": WIRES[name].model, "messages": _history(rng)}
            answer = await client.post(
                "/api/v2/chats", json={**asked, "contextStrategy": strategy, "contextSettings": limits}
            )
            assert answer.status_code == 201, answer.text
            chat_id = answer.json()["id"]
            await _touch(rng, client, chat_id)
            host: Host = app.state.service.host
            made += await _compare(rng, client, host, place, servers[name], chat_id, WIRES[name].key)
    return made


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_preview_is_what_is_then_sent_and_leaves_no_trace(place: str, strategy: str) -> None:
    rng = random.Random(f"preview {strategy}")
    with ExitStack() as stack:
        servers = {name: wire.make() for name, wire in WIRES.items()}
        for server in servers.values():
            stack.enter_context(server)
        providers = {name: {"base_url": server.base_url, "retries": 0} for name, server in servers.items()}

        made = await _talk(rng, make_app(place, config={"providers": providers}), place, servers, strategy)

        assert made >= CHATS // len(STRATEGIES) // 2
        assert [server.faults for server in servers.values()] == [[]] * len(servers)
