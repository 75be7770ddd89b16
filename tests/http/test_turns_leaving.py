"""Callers that leave in the middle, and callers that are slow."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal

import pytest

from fakes.chat_server import ChatServer
from http_helpers import Running, problem_of
from http_turns import Chat, check_stream, events_in, reading, serving, text_of
from trimtab.config import Server

pytestmark = pytest.mark.anyio
ASK_USER = {"name": "ask_user", "parameters": {"type": "object", "properties": {}}}


@pytest.fixture
def fake() -> Iterator[ChatServer]:
    with ChatServer() as ready:
        yield ready
        assert ready.faults == []


@pytest.fixture
def policy() -> str:
    return "continue"


@pytest.fixture
def served(place: str, fake: ChatServer, policy: Literal["continue", "cancel"]) -> Iterator[Running]:
    with serving(place, fake, server=Server(client_gone=policy)) as ready:
        yield ready


@pytest.fixture
async def talk(served: Running) -> AsyncIterator[Chat]:
    async with served.async_client() as client:
        yield await Chat.begin(client)


async def leave_at(talk: Chat, kind: str, said: str = "How many?", **more: Any) -> str:
    """Say something, hang up at an event of a kind, and give the turn's id."""
    path = f"/api/v2/chats/{talk.id}/turns"
    turn_id = ""
    async with talk.client.stream("POST", path, json={"input": said, **more}) as response:
        async for event in reading(response):
            turn_id = turn_id or event.data["turnId"]
            if event.kind == kind:
                break
    return turn_id


async def ended(talk: Chat, turn_id: str) -> dict[str, Any]:
    """The turn once it has ended; who would read along might keep it running."""
    while (turn := await talk.turn(turn_id))["state"] == "running":
        await asyncio.sleep(0.001)
    return turn


@pytest.mark.parametrize("kind", ["turn_started", "context_ready", "text_delta"])
async def test_a_turn_goes_on_when_its_caller_hangs_up(
    talk: Chat, fake: ChatServer, served: Running, kind: str
) -> None:
    gate = fake.gate("middle")
    fake.say("Sev", gate, "en.")

    turn_id = await leave_at(talk, kind)
    while served.app.state.service.streams.open:
        await asyncio.sleep(0.001)
    gate.open()

    turn = await ended(talk, turn_id)
    assert (turn["state"], turn["text"]) == ("completed", "Seven.")
    assert await talk.audit_status() == "completed"
    fake.say("Back.")
    await talk.say("And now?")
    assert [one["content"] for one in fake.requests[-1].messages] == ["How many?", "Seven.", "And now?"]


@pytest.mark.parametrize("policy", ["cancel"])
@pytest.mark.parametrize("kind", ["turn_started", "context_ready", "text_delta"])
async def test_a_turn_is_cancelled_when_its_caller_hangs_up_where_the_server_is_told_so(
    talk: Chat, fake: ChatServer, kind: str
) -> None:
    fake.say("Sev", fake.gate("middle"), "en.")

    turn_id = await leave_at(talk, kind)

    turn = await ended(talk, turn_id)
    assert turn["state"] == "cancelled"
    assert await talk.audit_status() == "cancelled"
    fake.say("Back.")
    await talk.say("And now?")
    texts = [one["content"] for one in fake.requests[-1].messages]
    assert turn["text"] == "Sev" or kind != "text_delta"
    assert texts == [one for one in ("How many?", turn["text"], "And now?") if one]


@pytest.mark.parametrize("policy", ["cancel"])
async def test_who_only_reads_along_ends_nothing_by_leaving(talk: Chat, fake: ChatServer, served: Running) -> None:
    gate = fake.gate("middle")
    fake.say("Sev", gate, "en.")
    first = asyncio.ensure_future(talk.say("How many?"))
    await gate.reached.wait_async()
    turn_id = (await talk.client.get(f"/api/v2/chats/{talk.id}")).json()["turnId"]
    async with talk.client.stream("GET", f"/api/v2/turns/{turn_id}/events") as response:
        async for _ in reading(response):
            break
    while served.app.state.service.streams.open > 1:
        await asyncio.sleep(0.001)
    gate.open()

    assert text_of(await first) == "Seven."


@pytest.mark.parametrize("policy", ["cancel", "continue"])
async def test_a_caller_that_waits_for_json_may_leave_too(
    talk: Chat, fake: ChatServer, served: Running, policy: str
) -> None:
    gate = fake.gate("middle")
    fake.say("Sev", gate, "en.")
    path = f"/api/v2/chats/{talk.id}/turns"
    asking = asyncio.ensure_future(
        talk.client.post(path, json={"input": "How many?"}, headers={"Accept": "application/json"})
    )
    await gate.reached.wait_async()
    turn_id = (await talk.client.get(f"/api/v2/chats/{talk.id}")).json()["turnId"]
    asking.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asking
    while served.app.state.service.streams.open:
        await asyncio.sleep(0.001)
    gate.open()

    turn = await ended(talk, turn_id)

    assert turn["state"] == ("cancelled" if policy == "cancel" else "completed")


async def test_streams_of_one_owner_are_limited_and_given_back(place: str, fake: ChatServer) -> None:
    gates = [fake.gate("middle"), fake.gate("middle")]
    for gate in gates:
        fake.say("Sev", gate, "en.")
    with serving(place, fake, server=Server(max_owner_streams=2)) as served:
        async with served.async_client() as client:
            chats = [await Chat.begin(client) for _ in range(3)]
            running = [asyncio.ensure_future(chat.say("How many?")) for chat in chats[:2]]
            for gate in gates:
                await gate.reached.wait_async()
            refused = await client.post(f"/api/v2/chats/{chats[2].id}/turns", json={"input": "Hm?"})
            problem_of(refused, 429, "TOO_MANY_STREAMS")
            assert await chats[2].texts() == []
            for gate in gates:
                gate.open()
            await asyncio.gather(*running)
            fake.say("Seven.")
            assert text_of(await chats[2].say("How many?")) == "Seven."


async def test_heartbeats_come_while_a_turn_is_silent(
    talk: Chat, fake: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.http.sse.HEARTBEAT_SECONDS", 0.01)
    gate = fake.gate("head")
    fake.say("Seven.", before_head=(gate,))
    path = f"/api/v2/chats/{talk.id}/turns"
    text = ""
    async with talk.client.stream("POST", path, json={"input": "How many?"}) as response:
        async for piece in response.aiter_text():
            text += piece
            if text.count(": keep-alive\n\n") == 3:
                gate.open()
    events = events_in(text)
    check_stream(events)
    assert events[-1].kind == "turn_completed"


async def test_a_slow_reader_with_a_small_buffer_loses_nothing_and_holds_nobody_up(
    talk: Chat, fake: ChatServer, served: Running
) -> None:
    pieces = [f"{number:04} {'x' * 400} " for number in range(2000)]
    gate = fake.gate("middle")
    fake.say(gate, *pieces)
    listening = asyncio.ensure_future(talk.say("Count."))
    await gate.reached.wait_async()
    turn_id = (await talk.client.get(f"/api/v2/chats/{talk.id}")).json()["turnId"]
    slow = [_slow_reader(served.port, turn_id) for _ in range(3)]
    gate.open()
    events = await listening
    assert text_of(events) == "".join(pieces)

    for one in slow:
        text = await asyncio.to_thread(_read_slowly, one)
        assert events_in(text) == events


def _slow_reader(port: int, turn_id: str) -> socket.socket:
    """Ask for the events of a turn on a connection that takes little, and read nothing of it yet."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.connect(("127.0.0.1", port))
    head = f"GET /api/v2/turns/{turn_id}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    made.sendall(head.encode())
    return made


def _read_slowly(connection: socket.socket) -> str:
    """Read an answer in small bites to its end, and give the events in it."""
    raw = b""
    with connection:
        while bite := connection.recv(4096):
            raw += bite
    head, _, body = raw.partition(b"\r\n\r\n")
    assert b" 200 " in head.partition(b"\r\n")[0]
    return _without_chunks(body).decode()


def _without_chunks(body: bytes) -> bytes:
    made = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        made += body[: int(size, 16)]
        body = body[int(size, 16) + 2 :]
    return made


@pytest.mark.parametrize("policy", ["cancel"])
async def test_a_turn_that_somebody_else_reads_goes_on_where_callers_cancel_by_leaving(
    talk: Chat, fake: ChatServer, served: Running
) -> None:
    gate = fake.gate("middle")
    fake.say("Sev", gate, "en.")
    key = {"Idempotency-Key": "k1"}
    path = f"/api/v2/chats/{talk.id}/turns"
    async with talk.client.stream("POST", path, json={"input": "How many?"}, headers=key) as response:
        # Held, since letting go of what reads a response closes it.
        events = reading(response)
        turn_id = (await anext(events)).data["turnId"]
        while (await anext(events)).kind != "text_delta":
            pass
        again = asyncio.ensure_future(talk.say("How many?", headers=key))
        while served.host.readers(turn_id) < 2:
            await asyncio.sleep(0.001)
    while served.host.readers(turn_id) > 1:
        await asyncio.sleep(0.001)
    gate.open()

    assert text_of(await again) == "Seven."
    assert await talk.texts() == ["user: How many?", "assistant: Seven."]
