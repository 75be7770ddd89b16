"""HTTP/1.1 on asyncio streams, as much of it as the fake server needs: requests in, plans out."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import count
from typing import Literal, TypeAlias

from fakes.chat_moments import Gate
from fakes.chat_plans import Plan, Step
from fakes.chat_replies import Break, Endless, Pause

HEAD_LIMIT = 1 << 20
Settle: TypeAlias = Callable[[Literal["answered", "cut"]], None]
_END = b"0\r\n\r\n"


class BadHttpError(Exception):
    """A request that is no HTTP/1.1, or none of the kind this server reads."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it came: header names in lower case, the body as bytes."""

    method: str
    path: str
    headers: Mapping[str, str] = field(hash=False)
    raw: bytes


class Connection(asyncio.StreamReaderProtocol):
    """One connection of a client. While an answer runs, its task is cancelled when the client leaves."""

    _numbers = count(1)

    def __init__(
        self,
        serve: Callable[[Connection], Coroutine[None, None, None]],
        changed: Callable[[Connection], None],
    ) -> None:
        loop = asyncio.get_running_loop()
        self.reader = asyncio.StreamReader(HEAD_LIMIT, loop)
        super().__init__(self.reader, self._begin, loop)
        self.number = next(self._numbers)
        self.is_open = False
        self.is_answering = False
        self.has_left = False
        self.writer: asyncio.StreamWriter
        self.task: asyncio.Task[None]
        self._serve = serve
        self._changed = changed

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.is_open = True
        self._changed(self)
        self.task = asyncio.get_running_loop().create_task(self._serve(self))

    def eof_received(self) -> bool | None:
        """Take the end of what a client sends for its leaving."""
        super().eof_received()
        self._leave()
        return None

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the server that one connection less is open."""
        super().connection_lost(exc)
        self.is_open = False
        self._leave()
        self._changed(self)

    def _leave(self) -> None:
        self.has_left = True
        if self.is_answering:
            self.is_answering = False
            self.task.cancel()

    def close(self) -> None:
        """Close after what is written."""
        self.writer.close()

    def reset(self) -> None:
        """Close at once, by a reset."""
        endpoint: socket.socket = self.writer.get_extra_info("socket")
        endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


async def read_request(reader: asyncio.StreamReader) -> HttpRequest | None:
    """Read the next request of a connection, None when the client has left. Raises BadHttpError."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    except asyncio.LimitOverrunError as error:
        raise BadHttpError("a head that is too long") from error
    request_line, *lines = head.decode("latin-1").split("\r\n")[:-2]
    words = request_line.split(" ")
    if len(words) != 3 or words[2] != "HTTP/1.1":
        raise BadHttpError(f"the request line {request_line[:80]!r}")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if "transfer-encoding" in headers:
        raise BadHttpError("a chunked request")
    try:
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return HttpRequest(words[0], words[1], headers, raw)


async def send(connection: Connection, plan: Plan, settle: Settle) -> bool:
    """Carry out a plan; tell whether the connection can be used again.

    `settle` hears how it ends, just before the client can know: before the last bytes, or before the break.
    """
    is_chunked = plan.chunked and plan.length is None
    body = framed(plan.steps) if is_chunked else plan.steps
    steps: list[Step] = [*plan.before, head_of(plan, is_chunked=is_chunked), *body]
    last = steps.pop()
    for step in steps:
        if not await _take(connection, step, settle):
            return False
    if not isinstance(last, bytes) and not await _take(connection, last, settle):
        return False
    settle("answered")
    if isinstance(last, bytes):
        connection.writer.write(last)
    if not is_chunked and plan.length is None:
        connection.close()
        return False
    return True


def head_of(plan: Plan, *, is_chunked: bool) -> bytes:
    """Write the status line and the headers."""
    if plan.length is not None:
        body = {"content-length": str(plan.length)}
    else:
        body = {"transfer-encoding": "chunked"} if is_chunked else {"connection": "close"}
    reason = HTTPStatus(plan.status).phrase if plan.status in HTTPStatus._value2member_map_ else "Unknown"
    lines = [f"HTTP/1.1 {plan.status} {reason}", *(f"{k}: {v}" for k, v in {**body, **plan.headers}.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def framed(steps: Sequence[Step]) -> list[Step]:
    """Write each run of bytes as an HTTP chunk of its own, the end together with the last."""
    chunks = [_framed_step(step) for step in steps]
    last = chunks[-1] if chunks else b""
    if isinstance(last, bytes):
        return [*chunks[:-1], last + _END]
    return chunks if isinstance(last, Break | Endless) else [*chunks, _END]


def _framed_step(step: Step) -> Step:
    if isinstance(step, Endless):
        return Endless(_chunk(step.data), step.every_ms)
    return _chunk(step) if isinstance(step, bytes) else step


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def _take(connection: Connection, step: Step, settle: Settle) -> bool:
    """Take one step; tell whether the connection is still good."""
    if isinstance(step, bytes):
        connection.writer.write(step)
        await connection.writer.drain()
    elif isinstance(step, Gate):
        step.reached.happen()
        await step.opened.wait_async(None)
    elif isinstance(step, Pause):
        await asyncio.sleep(step.ms / 1000)
    elif isinstance(step, Endless):
        await _repeat(connection, step)
    else:
        await _break(connection, step, settle)
        return False
    return True


async def _repeat(connection: Connection, step: Endless) -> None:
    while True:
        connection.writer.write(step.data)
        await connection.writer.drain()
        await asyncio.sleep(step.every_ms / 1000)


async def _break(connection: Connection, step: Break, settle: Settle) -> None:
    if step is Break.STALL:
        await asyncio.get_running_loop().create_future()
    settle("cut")
    if step is Break.CUT:
        connection.close()
    else:
        connection.reset()
