"""Running the app with uvicorn: a socket, a limit for slow heads, and an end that lets turns finish."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from trimtab.http.app import create_app
from trimtab.http.guarding import SECURITY
from trimtab.http.sse import SEND_SECONDS
from trimtab_sdk.errors import ConfigError

if TYPE_CHECKING:
    from trimtab.config import Server
    from trimtab.host import Host

_BACKLOG: Final = 1024
_LAST_SECONDS: Final = 10
"""How long requests may take that are still there when all turns have ended."""
_KEEP_ALIVE_SECONDS: Final = 75
_SWITCH_SECONDS: Final = 0.0005
_REFUSALS: Final = {
    errno.EADDRINUSE: "is taken by another program; name another with --port",
    errno.EACCES: "must not be used by this user; name a port of 1024 or more with --port",
    errno.EADDRNOTAVAIL: "is no address of this machine; name another with --host",
}


def listen(server: Server) -> socket.socket:
    """Give a socket that listens where a server shall. Raises ConfigError when it cannot."""
    try:
        found = socket.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"{server.host!r} is no address of this machine; name another with --host") from error
    family, kind, protocol, _, address = found[0]
    # The name may be this machine's own and lead elsewhere all the same.
    if server.is_loopback and not ip_address(str(address[0]).partition("%")[0]).is_loopback:
        raise ConfigError(f"{server.host} is {address[0]}, where others can reach it; listen on 127.0.0.1")
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(_BACKLOG)
        made.setblocking(False)
    except OSError as error:
        made.close()
        why = _REFUSALS.get(error.errno or 0, f"cannot be used ({error.strerror})")
        raise ConfigError(f"{server.host}:{server.port} {why}") from error
    return made


def serve(host: Host, server: Server, listening: socket.socket, *, ready: Callable[[], None]) -> bool:
    """Serve until a signal says to stop, and tell whether that was Ctrl-C.

    `ready` is called when requests are answered. On the signal no new turn begins, those that run may end within
    `drain_seconds` and are cancelled then; a second signal does not wait. Raises StoreUnavailableError when the
    store cannot be opened.
    """
    # Fits take the processor on threads of their own. At Python's usual 5 ms the event loop would wait that long
    # for its turn again and again, for nearly every piece that it reads or sends.
    sys.setswitchinterval(_SWITCH_SECONDS)
    app = create_app(host, server)
    settings = uvicorn.Config(
        app,
        http=partial(Connection, server.header_seconds),  # type: ignore[arg-type]
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_LAST_SECONDS,
        h11_max_incomplete_event_size=2 * server.max_header_bytes,
        limit_concurrency=4 * (server.max_requests + server.max_streams),
    )
    running = _Uvicorn(settings, host, server.drain_seconds, ready)
    asyncio.run(running.run_opened(listening))
    return running.interrupted


class _Uvicorn(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, host: Host, seconds: float, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._host = host
        self._seconds = seconds
        self._ready = ready
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Task[None] | None = None
        self.interrupted = False

    async def run_opened(self, listening: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        # Before uvicorn, which would tell of a store that cannot be opened in words of its own.
        await self._host.open()
        try:
            await self.serve(sockets=[listening])
        finally:
            await self._host.close()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.interrupted = self.interrupted or sig == signal.SIGINT
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        if self._stopping is not None:
            self.should_exit = self.force_exit = True
        else:
            self._stopping = asyncio.ensure_future(self._drain())

    async def _drain(self) -> None:
        try:
            await self._host.drain(self._seconds)
        finally:
            self.should_exit = True


class Connection(H11Protocol):
    """A connection that is closed when its caller keeps it waiting.

    That is: when the head of a request takes too long to arrive, or the rest of a body whose request has been
    answered, or when nothing is taken of an answer for `send_seconds`.
    """

    def __init__(self, head_seconds: float, *, send_seconds: float = SEND_SECONDS, **options: Any) -> None:
        super().__init__(**options)
        self._head_seconds = head_seconds
        self._send_seconds = send_seconds
        self._head_timer: asyncio.TimerHandle | None = None
        self._reader_timer: asyncio.TimerHandle | None = None
        self._is_new = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take a piece, and wait on where the head is not whole."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for what is behind it, where that has begun to arrive."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """Wait for the caller to take what is there."""
        super().pause_writing()
        self._watch_reader()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP; close where an answer has begun, or is there."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            text = msg.encode("ascii")
            headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close"), *SECURITY]
            head = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
            for event in (head, h11.Data(data=text), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self._close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._forget_head()
        if self._reader_timer is not None:
            self._reader_timer.cancel()
        super().connection_lost(exc)

    def _watch(self) -> None:
        self._watch_reader()
        if self._waits_for_caller():
            if self._head_timer is None:
                self._head_timer = self.loop.call_later(self._head_seconds, self._close)
            return
        self._is_new = False
        self._forget_head()
        if self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None:
            # What came was the rest of a body that nobody read; uvicorn has stopped its own timer for it.
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _waits_for_caller(self) -> bool:
        if self.conn.their_state is h11.SEND_BODY:
            return self.cycle is not None and self.cycle.response_complete
        return self.conn.their_state is h11.IDLE and (self._is_new or bool(self.conn.trailing_data[0]))

    def _forget_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _close(self) -> None:
        self.transport.close()
        self._watch_reader()

    def _watch_reader(self) -> None:
        """See to it that what has been written is taken: a connection that is closing waits for that, too."""
        left = self.transport.get_write_buffer_size()
        if left and self._reader_timer is None:
            self._reader_timer = self.loop.call_later(self._send_seconds, self._look_at_reader, left)

    def _look_at_reader(self, before: int) -> None:
        self._reader_timer = None
        if self.transport.get_write_buffer_size() >= before:
            self.transport.abort()
        else:
            self._watch_reader()
