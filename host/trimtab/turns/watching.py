"""Connections that tell whether they ended before the first byte of an answer: only then may one ask again."""

from __future__ import annotations

import select
import ssl
from collections.abc import Iterable
from typing import Protocol

import httpcore


class _HasDescriptor(Protocol):
    def fileno(self) -> int: ...


class SilentCloseError(httpcore.ReadError):
    """The connection was closed before a single byte of the answer."""


class _WatchedStream(httpcore.AsyncNetworkStream):
    """A connection that tells whether it ended before any answer to what was written last."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._silent = True
        self._socket: _HasDescriptor | None = None

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            data = await self._stream.read(max_bytes, timeout)
        except httpcore.ReadError as error:
            if self._silent:
                raise SilentCloseError(str(error)) from error
            raise
        if not data and self._silent:
            raise SilentCloseError("closed")
        self._silent = False
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._silent = True
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        return _WatchedStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> object:
        if info != "is_readable":
            return self._stream.get_extra_info(info)
        # Asked of every idle connection for every request, and dear to ask the backend.
        if self._socket is None:
            self._socket = self._stream.get_extra_info("socket")
        return _is_readable(self._socket)


def _is_readable(socket: _HasDescriptor | None) -> bool:
    """Tell whether reading would give something at once, if only the end; a closed socket does."""
    if socket is None or (descriptor := socket.fileno()) < 0:
        return True
    if not hasattr(select, "poll"):
        return bool(select.select([descriptor], [], [], 0)[0])
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


class WatchedBackend(httpcore.AsyncNetworkBackend):
    """Opens connections for httpcore that are watched."""

    def __init__(self) -> None:
        self._backend = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Open a connection."""
        stream = await self._backend.connect_tcp(host, port, timeout, local_address, socket_options)
        return _WatchedStream(stream)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._backend.sleep(seconds)
