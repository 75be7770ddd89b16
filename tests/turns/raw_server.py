"""A server on a loopback socket that says exactly the bytes a test gives it, one reply for each request."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

STALL: Literal["stall"] = "stall"
"""Say nothing more until the client goes away."""
KEEP: Literal["keep"] = "keep"
"""Keep the connection for the next request; without it the connection is closed."""
RESET: Literal["reset"] = "reset"
"""Break the connection instead of closing it."""

Step: TypeAlias = bytes | Literal["stall", "keep", "reset"]
Reply: TypeAlias = Iterable[Step]


@dataclass
class Seen:
    """A request as it came: its first line, its headers with names in lower case, its body."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class RawServer:
    """`replies` are used up in order, the last one again and again.

    `asked` is set by a request, `gone` when a client left.
    """

    replies: list[Reply]
    port: int = 0
    scheme: str = "http"
    seen: list[Seen] = field(default_factory=list)
    connections: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    tasks: set[asyncio.Task[None] | None] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"{self.scheme}://localhost:{self.port}/v1"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        self.tasks.add(asyncio.current_task())
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            self.gone.set()
        finally:
            writer.close()

    async def stop(self) -> None:
        for writer in self.writers:
            writer.transport.abort()
        await asyncio.gather(*filter(None, self.tasks))

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        self.seen.append(await _read_request(reader))
        self.asked.set()
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        for step in reply:
            if step == KEEP:
                return True
            if step == STALL:
                await reader.read()
                self.gone.set()
            elif step == RESET:
                writer.transport.abort()
                return False
            elif isinstance(step, bytes):
                writer.write(step)
                await writer.drain()
        return False


async def _read_request(reader: asyncio.StreamReader) -> Seen:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii")
    line, *rest = head.split("\r\n")[:-2]
    headers = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in rest)}
    return Seen(line, headers, await reader.readexactly(int(headers["content-length"])))


@asynccontextmanager
async def serve(*replies: Reply, tls: ssl.SSLContext | None = None) -> AsyncIterator[RawServer]:
    """Serve these replies for as long as the context lasts."""
    server = RawServer(list(replies), scheme="https" if tls else "http")
    listener = await asyncio.start_server(server.answer, "127.0.0.1", 0, ssl=tls)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        await server.stop()


def head(status: int = 200, kind: str = "text/event-stream", **headers: str) -> bytes:
    """Give the head of a reply whose body is chunked. Underscores in names of headers stand for dashes."""
    lines = [f"HTTP/1.1 {status} It", f"content-type: {kind}", "transfer-encoding: chunked"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def chunk(data: bytes) -> bytes:
    """Give a piece of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


END = b"0\r\n\r\n"


def whole(status: int, body: bytes, kind: str = "application/json", **headers: str) -> list[Step]:
    """Give a reply that is complete, on a connection that stays."""
    return [head(status, kind, **headers) + chunk(body) + END, KEEP]


def events(*lines: str) -> bytes:
    """Give lines of data as server-sent events."""
    return "".join(f"data: {line}\n\n" for line in lines).encode()


def stream(*lines: str) -> list[Step]:
    """Give a whole stream of events, on a connection that stays."""
    return [head() + chunk(events(*lines)) + END, KEEP]
