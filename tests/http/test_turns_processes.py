"""Several servers on one store: begun at one, read, resumed and cancelled at another; killed, and told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from fakes.chat_server import ChatServer, Gate
from http_child import Child, Nursery, nursery
from http_helpers import problem_of
from http_turns import Chat, Event, check_stream, reading, text_of
from trimtab.store.opening import open_store

pytestmark = pytest.mark.anyio
on_both_stores = pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
on_postgresql = pytest.mark.parametrize("place", ["postgresql"], indirect=True)
ASK_USER = {"name": "ask_user", "parameters": {"type": "object", "properties": {"question": {"type": "string"}}}}


@pytest.fixture
def fake() -> Iterator[ChatServer]:
    with ChatServer() as ready:
        yield ready
        assert ready.faults == []


@dataclass(frozen=True)
class Pair:
    """Two servers on one store, and the same chat as seen at each."""

    first: Child
    second: Child
    at_first: Chat
    at_second: Chat


@pytest.fixture
def job() -> dict[str, Any]:
    """Fields of the servers; a test may have its own."""
    return {}


@pytest.fixture(scope="module")
def servers() -> Iterator[Nursery]:
    with nursery() as ready:
        yield ready


@pytest.fixture
async def pair(place: str, fake: ChatServer, servers: Nursery, job: dict[str, Any]) -> AsyncIterator[Pair]:
    async with open_store(place):
        # The tables are made before two servers would both begin to.
        pass
    async with AsyncExitStack() as stack:
        first, second = stack.enter_context(servers.children(place, fake.base_url, count=2, **job))
        begun = await Chat.begin(await stack.enter_async_context(first.async_client()))
        other = await stack.enter_async_context(second.async_client())
        yield Pair(first, second, begun, Chat(other, begun.id))


async def until(pair: Pair, gate: Gate, said: str, **more: Any) -> tuple[asyncio.Task[list[Event]], str]:
    """Say something at the first server, and give the listening and the turn's id once the model is at a gate."""
    listening = asyncio.ensure_future(pair.at_first.say(said, **more))
    await gate.reached.wait_async()
    chat = (await pair.at_second.client.get(f"/api/v2/chats/{pair.at_second.id}")).json()
    return listening, chat["turnId"]


@on_both_stores
async def test_a_turn_is_begun_at_one_server_and_read_resumed_and_read_again_at_another(
    pair: Pair, fake: ChatServer
) -> None:
    gate = fake.gate("middle")
    fake.call(("ask_user", {"question": "Which?"}), before_head=(gate,))
    listening, turn_id = await until(pair, gate, "How many?", tools=[ASK_USER])
    beside = asyncio.ensure_future(pair.at_second.events(turn_id))
    gate.open()
    events = await listening
    assert events[-1].kind == "turn_paused"
    assert await beside == events
    waiting = asyncio.ensure_future(pair.at_first.events(turn_id, after=events[-1].id))
    fake.say("Three", " pots.")
    results = {"results": [{"callId": events[-1].data["pending"][0]["callId"], "content": "pots"}]}

    rest = await pair.at_second.post(f"/api/v2/turns/{turn_id}/tool-results", results)

    assert text_of(rest) == "Three pots."
    assert await waiting == rest
    for at in range(0, len(events + rest), 3):
        assert await pair.at_first.events(turn_id, after=at) == (events + rest)[at:]
        assert await pair.at_second.events(turn_id, after=at) == (events + rest)[at:]


@on_both_stores
async def test_a_turn_is_cancelled_at_another_server(pair: Pair, fake: ChatServer) -> None:
    gate = fake.gate("middle")
    fake.say("Sev", gate, *("e" for _ in range(50)), fake.gate("never"))
    listening, turn_id = await until(pair, gate, "How many?")
    turn = await pair.at_second.cancel(turn_id)
    assert turn["cancelRequested"]
    gate.open()

    events = await listening

    assert events[-1].kind == "turn_cancelled"
    assert (await pair.at_second.events(turn_id))[-1].kind == "turn_cancelled"
    assert await pair.at_second.audit_status() == "cancelled"


@on_both_stores
async def test_a_server_is_killed_in_the_middle_and_nothing_is_lost(pair: Pair, fake: ChatServer) -> None:
    gate = fake.gate("middle")
    fake.say("Sev", "en", " ket", gate, "tles.")
    path = f"/api/v2/chats/{pair.at_first.id}/turns"
    seen: list[Event] = []
    async with pair.at_first.client.stream("POST", path, json={"input": "How many?"}) as response:
        async for event in reading(response):
            seen.append(event)
            if event.kind == "text_delta":
                break
        await gate.reached.wait_async()
        turn_id = seen[0].data["turnId"]
        beside = asyncio.ensure_future(pair.at_second.events(turn_id))
        pair.first.kill()

    events = await beside

    check_stream(events)
    assert (events[-1].kind, events[-1].data["code"]) == ("turn_failed", "TURN_INTERRUPTED")
    behind = await pair.at_second.events(turn_id, after=seen[-1].id)
    assert behind[-1].kind == "turn_failed"
    assert behind[0].id > seen[-1].id
    assert await pair.at_second.texts() == ["user: How many?"]
    assert await pair.at_second.audit_status() == "failed"
    fake.say("Seven.")
    assert (await pair.at_second.retry())[-1].kind == "turn_completed"
    assert await pair.at_second.texts() == ["user: How many?", "assistant: Seven."]


@on_postgresql
async def test_a_server_that_is_told_to_stop_ends_its_turns_first(pair: Pair, fake: ChatServer) -> None:
    gate = fake.gate("middle")
    fake.say("Sev", gate, "en.")
    listening, turn_id = await until(pair, gate, "How many?")
    beside = asyncio.ensure_future(pair.at_second.events(turn_id))
    pair.first.stop()
    while True:
        refused = await pair.at_first.client.post(f"/api/v2/chats/{pair.at_first.id}/turns", json={"input": "Hm?"})
        if refused.json()["code"] == "HOST_STOPPING":
            break
    assert problem_of(refused, 503, "HOST_STOPPING")["retryable"]
    gate.open()

    events = await listening

    assert (text_of(events), events[-1].kind) == ("Seven.", "turn_completed")
    assert await beside == events
    assert pair.first.ended() == 0
    assert await pair.at_second.texts() == ["user: How many?", "assistant: Seven."]


@on_postgresql
@pytest.mark.parametrize("job", [{"server": {"drain_seconds": 0.2}}])
async def test_a_turn_that_does_not_end_in_time_is_cancelled_and_stored(pair: Pair, fake: ChatServer) -> None:
    gate = fake.gate("middle")
    fake.say("Sev", gate, "en.")
    listening, turn_id = await until(pair, gate, "How many?")
    reading_on = asyncio.ensure_future(pair.at_second.events(turn_id))

    pair.first.stop()

    events = await listening
    assert events[-1].kind == "turn_cancelled"
    assert await reading_on == events
    assert pair.first.ended() == 0
    assert await pair.at_second.texts() == ["user: How many?", "assistant: Sev"]
    assert await pair.at_second.audit_status() == "cancelled"


@on_postgresql
async def test_a_key_makes_one_turn_at_two_servers(pair: Pair, fake: ChatServer) -> None:
    gate = fake.gate("head")
    fake.say("Seven.", before_head=(gate,))
    key = {"Idempotency-Key": "k1"}
    asking = [
        asyncio.ensure_future(chat.say("How many?", headers=key)) for chat in (pair.at_first, pair.at_second) * 3
    ]
    await gate.reached.wait_async()
    gate.open()

    told = await asyncio.gather(*asking)

    assert all(events == told[0] for events in told)
    assert await pair.at_second.texts() == ["user: How many?", "assistant: Seven."]


@on_postgresql
async def test_a_reader_of_a_turn_elsewhere_is_let_go_when_its_server_stops(pair: Pair, fake: ChatServer) -> None:
    gate = fake.gate("middle")
    fake.say("Sev", gate, "en.")
    listening, turn_id = await until(pair, gate, "How many?")
    path = f"/api/v2/turns/{turn_id}/events"
    seen: list[Event] = []
    async with pair.at_second.client.stream("GET", path) as response:
        async for event in reading(response):
            seen.append(event)
            if event.kind == "text_delta":
                pair.second.stop()
    assert seen[-1].kind == "text_delta"
    assert pair.second.ended() == 0
    gate.open()
    events = await listening
    assert seen + await pair.at_first.events(turn_id, after=seen[-1].id) == events
