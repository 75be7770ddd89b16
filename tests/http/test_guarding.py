"""Limits: bodies, headers, slow callers, requests and streams at once."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator
from functools import partial

import pytest
from fastapi import FastAPI

from http_helpers import DRY, asgi_client, make_app, problem_of, running
from trimtab.config import Server
from trimtab.http.errors import HttpError
from trimtab.http.serving import Connection
from trimtab.http.streams import StreamSlots

pytestmark = pytest.mark.anyio


def chat_of(size: int) -> bytes:
    return json.dumps({**DRY, "system": "x" * size}).encode()


async def pieces(body: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(body), 500):
        yield body[at : at + 500]


async def test_a_body_that_is_too_large_is_refused_with_and_without_its_length(place: str) -> None:
    server = Server(max_body_bytes=2000)
    async with asgi_client(make_app(place, server=server), headers={"Content-Type": "application/json"}) as client:
        told = problem_of(await client.post("/api/v2/chats", content=chat_of(2001)), 413, "BODY_TOO_LARGE")
        assert told["maxBytes"] == 2000
        chunked = await client.post("/api/v2/chats", content=pieces(chat_of(2001)))
        problem_of(chunked, 413, "BODY_TOO_LARGE")
        assert chunked.headers["connection"] == "close"
        assert (await client.get("/api/v2/chats")).json()["chats"] == []
        assert (await client.post("/api/v2/chats", content=pieces(chat_of(1000)))).status_code == 201


async def test_headers_that_are_too_large_are_refused(place: str) -> None:
    async with asgi_client(make_app(place, server=Server(max_header_bytes=1024))) as client:
        problem_of(await client.get("/api/v2/health", headers={"X": "x" * 1024}), 431, "HEADERS_TOO_LARGE")


async def test_a_body_that_does_not_arrive_is_not_waited_for(place: str) -> None:
    async def never() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    async with asgi_client(make_app(place, server=Server(body_seconds=0.05))) as client:
        slow = await client.post("/api/v2/chats", content=never(), headers={"Content-Type": "application/json"})
        problem_of(slow, 408, "REQUEST_TIMEOUT")


def test_no_more_streams_than_there_are_slots() -> None:
    slots = StreamSlots(most=3, most_of_owner=2)
    one, _two = slots.take("ann"), slots.take("ann")
    with pytest.raises(HttpError, match="as many streams") as caught:
        slots.take("ann")
    assert (caught.value.code, caught.value.headers) == ("TOO_MANY_STREAMS", {"Retry-After": "5"})
    slots.take("bob")
    with pytest.raises(HttpError):
        slots.take("cy")
    one.release()
    one.release()
    assert slots.open == 2
    with slots.take("ann"):
        assert slots.open == 3
    assert slots.open == 2


async def test_no_more_requests_than_there_is_room_for(place: str) -> None:
    app = make_app(place, server=Server(max_requests=1))
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def wait() -> dict[str, str]:
        begun.set()
        await go_on.wait()
        return {}

    app.get("/api/v2/wait")(wait)
    async with asgi_client(app) as client:
        first = asyncio.create_task(client.get("/api/v2/wait"))
        await begun.wait()
        busy = await client.get("/api/v2/chats")
        problem_of(busy, 503, "SERVER_BUSY")
        assert busy.headers["retry-after"] == "1"
        assert (await client.get("/api/v2/health")).status_code == 200
        go_on.set()
        assert (await first).status_code == 200
        assert (await client.get("/api/v2/chats")).status_code == 200


async def test_what_goes_wrong_inside_is_a_500_that_tells_nothing(
    place: str, caplog: pytest.LogCaptureFixture
) -> None:
    app: FastAPI = make_app(place)

    async def fail() -> None:
        raise RuntimeError("a password: swordfish")

    app.get("/api/v2/fail")(fail)
    async with asgi_client(app) as client:
        answer = await client.get("/api/v2/fail")

    problem = problem_of(answer, 500, "INTERNAL_ERROR")
    assert "swordfish" not in answer.text
    assert problem["requestId"] in caplog.text


def test_a_client_that_hangs_up_harms_nobody(place: str, caplog: pytest.LogCaptureFixture) -> None:
    with running(make_app(place)) as server, server.client() as client:
        head = b"POST /api/v2/chats HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", server.port)) as caller:
            caller.sendall(head + b'Content-Length: 100\r\n\r\n{"provider": ')
        assert client.get("/api/v2/chats").json()["chats"] == []
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: local"], ids=["nothing", "half a head"])
def test_a_head_that_does_not_arrive_is_not_waited_for(place: str, sent: bytes) -> None:
    connection = partial(Connection, 0.05)
    with running(make_app(place), http=connection) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as caller:
            caller.settimeout(10)
            caller.sendall(sent)
            assert caller.recv(100) == b""
        with server.client() as client:
            # What has arrived is answered, however long the answer takes, and so is the next one.
            assert [client.get("/api/v2/health").status_code for _ in range(3)] == [200, 200, 200]


def test_a_second_head_that_does_not_arrive_is_not_waited_for_either(place: str) -> None:
    app = make_app(place)
    with (
        running(app, http=partial(Connection, 0.05)) as server,
        socket.create_connection(("127.0.0.1", server.port)) as caller,
    ):
        caller.settimeout(10)
        caller.sendall(b"GET /api/v2/health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /api/v2/hea")
        told = b""
        while piece := caller.recv(4096):
            told += piece
    assert told.count(b"HTTP/1.1 200") == 1
