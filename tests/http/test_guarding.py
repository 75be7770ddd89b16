"""Limits: bodies, headers, slow callers, requests and streams at once."""

from __future__ import annotations

import asyncio
import json
import logging
import select
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial

import pytest
from fastapi import FastAPI

from http_helpers import ANN, DRY, TOKENS, asgi_client, make_app, problem_of, running
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


def told_until_closed(caller: socket.socket) -> bytes:
    """All that comes until the other end closes."""
    caller.settimeout(10)
    told = b""
    try:
        while piece := caller.recv(65536):
            told += piece
    except ConnectionResetError:
        pass
    return told


UNREAD = b"POST /api/v2/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n"


def test_the_rest_of_a_body_that_nobody_reads_is_not_waited_for(place: str) -> None:
    with (
        running(make_app(place), http=partial(Connection, 0.05)) as server,
        socket.create_connection(("127.0.0.1", server.port)) as caller,
    ):
        caller.sendall(UNREAD)
        told = caller.recv(4096)
        caller.sendall(b"x")
        told += told_until_closed(caller)
    assert told.count(b"HTTP/1.1 404") == 1


def test_a_connection_rests_no_longer_after_a_body_that_nobody_read(place: str) -> None:
    with (
        running(make_app(place), http=partial(Connection, 20), timeout_keep_alive=1) as server,
        socket.create_connection(("127.0.0.1", server.port)) as caller,
    ):
        caller.sendall(UNREAD)
        told = caller.recv(4096)
        caller.sendall(b"xxxxx")
        told += told_until_closed(caller)
    assert told.count(b"HTTP/1.1 404") == 1


def unread_answers(port: int) -> socket.socket:
    """A connection that asks for far more than it takes."""
    caller = socket.socket()
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    caller.connect(("127.0.0.1", port))
    caller.settimeout(0.5)
    asked = b"GET /api/v2/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n" * 500
    with suppress(TimeoutError, ConnectionError):
        while True:
            caller.sendall(asked)
    return caller


def test_who_takes_nothing_of_its_answers_is_let_go(place: str) -> None:
    connection = partial(Connection, 20, send_seconds=0.05)
    with (
        running(make_app(place), http=connection) as server,
        unread_answers(server.port) as caller,
    ):
        poll = select.poll()
        poll.register(caller, 0)
        # Nothing is asked for but the news that the other end is gone.
        assert poll.poll(10_000) != []


def test_an_error_that_nobody_reads_takes_no_room_from_others(place: str) -> None:
    app = make_app(place, server=Server(max_requests=1, tokens=TOKENS))
    with (
        running(app, http=partial(Connection, 20)) as server,
        unread_answers(server.port),
        server.client(headers=ANN) as client,
    ):
        assert client.get("/api/v2/chats").status_code == 200


CHUNKED = b"POST /api/v2/nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"


def test_what_is_no_http_behind_an_answer_ends_the_connection_alone(
    place: str, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        running(make_app(place), http=partial(Connection, 20)) as server,
        socket.create_connection(("127.0.0.1", server.port)) as caller,
    ):
        caller.sendall(CHUNKED + b"\r\n")
        told = caller.recv(4096)
        caller.sendall(b"no length\r\n")
        told += told_until_closed(caller)
    assert told.count(b"HTTP/1.1 404") == told.count(b"HTTP/1.1") == 1
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_what_is_no_http_is_answered_with_the_headers_of_every_answer(place: str) -> None:
    with (
        running(make_app(place), http=partial(Connection, 20)) as server,
        socket.create_connection(("127.0.0.1", server.port)) as caller,
    ):
        caller.sendall(b"GET /api/v2/health HTTP/1.1\r\nHost : localhost\r\n\r\n")
        told = told_until_closed(caller)
    assert told.startswith(b"HTTP/1.1 400 ")
    assert b"x-content-type-options: nosniff\r\n" in told
    assert b"cache-control: no-store\r\n" in told


def test_nothing_is_taken_for_a_request_behind_a_body_with_two_lengths(place: str) -> None:
    second = b"GET /api/v2/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with (
        running(make_app(place), http=partial(Connection, 20)) as server,
        socket.create_connection(("127.0.0.1", server.port)) as caller,
    ):
        caller.sendall(CHUNKED + b"Content-Length: 5\r\n\r\n0\r\n\r\n" + second)
        told = told_until_closed(caller)
    assert told.count(b"HTTP/1.1 404") == told.count(b"HTTP/1.1") == 1
