"""Many clients of one server process: none may lose an event or get one twice, and its memory stays flat."""

from __future__ import annotations

import asyncio
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from http_child import Child, nursery
from storms.http_upstream import words

_UPSTREAM = Path(__file__).with_name("http_upstream.py")
_LIMITS = {"max_streams": 5000, "max_owner_streams": 5000, "max_requests": 5000, "body_seconds": 300}
MIB = 1 << 20


@contextmanager
def loaded_server(place: str, *, count: int, size: int = 7, pause: float = 0.0) -> Iterator[Child]:
    """Run a server in a process of its own whose provider streams so many words, in another one."""
    command = [sys.executable, str(_UPSTREAM), f"--words={count}", f"--size={size}", f"--pause={pause}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as upstream:
        assert upstream.stdout is not None
        assert upstream.stdin is not None
        url = upstream.stdout.readline().strip()
        with nursery() as started, started.children(place, url, server=_LIMITS) as [made]:
            yield made
        upstream.stdin.close()


@dataclass
class Crowd:
    """What came of many clients at once. `first` and `whole` are seconds of each client, `memory` in MiB."""

    clients: int
    events: int = 0
    seconds: float = 0.0
    first: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    memory: tuple[float, float] = (0.0, 0.0)
    faults: list[str] = field(default_factory=list)

    def row(self) -> str:
        """A line of a table."""
        first, whole = (f"{statistics.median(one):.2f} / {max(one):.2f}" for one in (self.first, self.whole))
        before, after = self.memory
        return (
            f"| {self.clients} | {self.events} | {self.seconds:.1f} | {first} | {whole} | "
            f"{before:.0f} → {after:.0f} | {len(self.faults)} |"
        )


CROWD_HEAD = (
    "| clients | events | seconds | first event, p50 / max s | whole, p50 / max s | memory, MiB | faults |\n"
    "| --- | --- | --- | --- | --- | --- | --- |"
)


async def crowd(server: Child, *, clients: int, count: int, readers: int = 1) -> Crowd:
    """Begin a turn for each client at once, each with `readers` that read it from the start; check every event.

    The first reader of a turn is the client that began it; the others read along.
    """
    made = Crowd(clients * readers)
    expected = "".join(words(count, 7))
    chats = await _begin_chats(server, clients)
    before = server.rss() / MIB
    began = time.monotonic()
    await asyncio.gather(*(_client(made, server, chat, expected, readers) for chat in chats))
    made.seconds = time.monotonic() - began
    made.memory = (before, server.rss() / MIB)
    return made


async def _begin_chats(server: Child, count: int) -> list[str]:
    limits = httpx.Limits(max_connections=16)
    async with server.async_client(limits=limits, timeout=300) as client:
        body = {"provider": "local", "model": "gpt-4o"}
        answers = await asyncio.gather(*(client.post("/api/v2/chats", json=body) for _ in range(count)))
    return [answer.json()["id"] for answer in answers]


async def _client(made: Crowd, server: Child, chat: str, expected: str, readers: int) -> None:
    known: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    began = _read(made, server, "POST", f"/api/v2/chats/{chat}/turns", {"input": "Count."}, expected, known)
    await asyncio.gather(began, *(_beside(made, server, known, expected) for _ in range(readers - 1)))


async def _beside(made: Crowd, server: Child, known: asyncio.Future[str], expected: str) -> None:
    turn_id = await known
    await _read(made, server, "GET", f"/api/v2/turns/{turn_id}/events", None, expected, None)


async def _read(
    made: Crowd,
    server: Child,
    method: str,
    path: str,
    body: Any,
    expected: str,
    known: asyncio.Future[str] | None,
) -> None:
    """Read a stream to its end on a connection of its own, and note what is wrong with it."""
    began = time.monotonic()
    events: list[tuple[int, dict[str, Any]]] = []
    try:
        async for event in stream(server, method, path, body):
            if not events:
                made.first.append(time.monotonic() - began)
                if known is not None:
                    known.set_result(event[1]["turnId"])
            events.append(event)
    except (OSError, ValueError, asyncio.IncompleteReadError) as error:
        made.faults.append(f"{path}: {error!r} after {len(events)} events")
        if known is not None and not known.done():
            known.set_result("none")
    made.whole.append(time.monotonic() - began)
    made.events += len(events)
    made.faults += faults_of(events, expected, path)


def faults_of(events: list[tuple[int, dict[str, Any]]], expected: str, name: str) -> list[str]:
    """Tell what is wrong with the events of a turn that were read from the start to the end."""
    faults = []
    numbers = [number for number, _ in events]
    if numbers != list(range(1, len(events) + 1)):
        faults.append(f"{name}: numbers {numbers[:3]} … {numbers[-3:]} of {len(numbers)}")
    text = "".join(event["text"] for _, event in events if event["kind"] == "text_delta")
    if text != expected:
        faults.append(f"{name}: {len(text)} characters, not {len(expected)}")
    if not events or events[-1][1]["kind"] != "turn_completed":
        faults.append(f"{name}: ended with {events[-1][1] if events else 'nothing'}")
    return faults


async def stream(server: Child, method: str, path: str, body: Any) -> Any:
    """Give number and event of a stream as they come."""
    reader, writer = await _ask(server, method, path, body)
    try:
        held = b""
        while piece := await _chunk(reader):
            *blocks, held = (held + piece).split(b"\n\n")
            for block in blocks:
                fields = dict(line.split(": ", 1) for line in block.decode().split("\n"))
                if "data" in fields:
                    yield int(fields["id"]), json.loads(fields["data"])
    finally:
        writer.close()


async def _ask(
    server: Child, method: str, path: str, body: Any
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = server.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    sent = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(sent)}\r\nConnection: close\r\n\r\n".encode() + sent)
    status = await reader.readline()
    if b" 200 " not in status:
        raise ValueError(f"{status!r} {await reader.read(600)!r}")
    await reader.readuntil(b"\r\n\r\n")
    return reader, writer


async def _chunk(reader: asyncio.StreamReader) -> bytes:
    size = int(await reader.readline(), 16)
    data = await reader.readexactly(size + 2)
    return data[:-2]


@dataclass
class Slow:
    """What came of readers that take nothing for as long as the turn runs. Memory in MiB."""

    readers: int
    turn_mib: float = 0.0
    memory: tuple[float, float, float] = (0.0, 0.0, 0.0)
    faults: list[str] = field(default_factory=list)

    def row(self) -> str:
        """A line of a table."""
        before, held, after = self.memory
        memory = f"{before:.0f} | {held:.0f} | {after:.0f}"
        return f"| {self.readers} | {self.turn_mib:.1f} | {memory} | {len(self.faults)} |"


SLOW_HEAD = (
    "| slow readers | text of the turn, MiB | memory before, MiB | while they take nothing | after | faults |\n"
    "| --- | --- | --- | --- | --- | --- |"
)


async def slow_readers(server: Child, *, readers: int, count: int, size: int) -> Slow:
    """Let readers with a small buffer take nothing until a turn has ended, then read it all, slowly."""
    expected = "".join(words(count, size))
    made = Slow(readers, len(expected) / MIB)
    [chat] = await _begin_chats(server, 1)
    # A first turn, so that what is loaded once is not taken for growth.
    assert not faults_of(await _all(server, chat), expected, "the first turn")
    before = server.rss() / MIB
    connections: list[socket.socket] = []
    events: list[tuple[int, dict[str, Any]]] = []
    async for number, event in stream(server, "POST", f"/api/v2/chats/{chat}/turns", {"input": "Again."}):
        if not events:
            connections = [_reader_that_waits(server, event["turnId"]) for _ in range(readers)]
        events.append((number, event))
    made.faults += faults_of(events, expected, "the turn")
    held = server.rss() / MIB
    for at, one in enumerate(connections):
        found = await asyncio.to_thread(_read_all, one)
        if found != events:
            made.faults.append(f"slow reader {at}: {len(found)} events, not the {len(events)} of the turn")
    made.memory = (before, held, server.rss() / MIB)
    return made


async def _all(server: Child, chat: str) -> list[tuple[int, dict[str, Any]]]:
    path = f"/api/v2/chats/{chat}/turns"
    return [event async for event in stream(server, "POST", path, {"input": "Count."})]


def _reader_that_waits(server: Child, turn_id: str) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.connect((host, int(port)))
    path = f"/api/v2/turns/{turn_id}/events"
    made.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    return made


def _read_all(connection: socket.socket) -> list[tuple[int, dict[str, Any]]]:
    with connection, connection.makefile("rb") as read:
        while read.readline().strip():
            pass
        body = b""
        while size := int(read.readline(), 16):
            body += read.read(size)
            read.readline()
    blocks = [block.decode() for block in body.split(b"\n\n") if b"data: " in block]
    fields = [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks]
    return [(int(one["id"]), json.loads(one["data"])) for one in fields]


@dataclass
class Soak:
    """What came of thousands of turns: memory in MiB after each `step` of them."""

    turns: int
    step: int
    seconds: float = 0.0
    memory: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def table(self) -> str:
        """All of it as a table."""
        rows = [f"| {(at + 1) * self.step} | {memory:.1f} |" for at, memory in enumerate(self.memory)]
        return "\n".join(["| turns | memory, MiB |", "| --- | --- |", *rows])


async def soak(server: Child, *, turns: int, step: int, clients: int, count: int, chat_turns: int = 20) -> Soak:
    """Run turns one after another at each of some clients, a new chat after every 20, and watch the memory."""
    made = Soak(turns, step)
    expected = "".join(words(count, 7))
    left = iter(range(turns))
    done = 0
    began = time.monotonic()

    async def talk(client: httpx.AsyncClient) -> None:
        nonlocal done
        chat, said = "", 0
        for _ in left:
            if not said % chat_turns:
                answer = await client.post("/api/v2/chats", json={"provider": "local", "model": "gpt-4o"})
                chat = answer.json()["id"]
            said += 1
            turn = await client.post(f"/api/v2/chats/{chat}/turns", json={"input": f"Count, {said}."})
            if turn.status_code != 200:
                made.faults.append(turn.text[:300])
                continue
            made.faults += faults_of(_events_in(turn.text), expected, chat)
            done += 1
            if done % step == 0:
                made.memory.append(server.rss() / MIB)

    async with server.async_client(timeout=120) as client:
        await asyncio.gather(*(talk(client) for _ in range(clients)))
    made.seconds = time.monotonic() - began
    return made


def _events_in(text: str) -> list[tuple[int, dict[str, Any]]]:
    fields = [dict(line.split(": ", 1) for line in block.split("\n")) for block in text.split("\n\n") if block]
    return [(int(one["id"]), json.loads(one["data"])) for one in fields if "data" in one]
