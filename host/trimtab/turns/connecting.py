"""Connections to providers, held by httpcore: the part of httpx that knows connections and nothing else.

So there are no cookies that chats would share, no redirects, no headers of a client's own, and nothing is read
from the environment: neither proxies (HTTPS_PROXY) nor `.netrc`.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import httpcore

from trimtab.config_models import Endpoint
from trimtab.turns.connection_faults import CONNECTION_ERRORS, broken, opening_fault
from trimtab.turns.firm import firmly
from trimtab.turns.patience import Patience
from trimtab.turns.requesting import Prepared
from trimtab.turns.streaming import Inflater
from trimtab.turns.watching import WatchedBackend
from trimtab_sdk.errors import ConfigError

MAX_CONNECTIONS = 512
MAX_IDLE_CONNECTIONS = 64
IDLE_SECONDS = 30.0
DRAIN_SECONDS = 0.25
_IN_ONE_GO = 16 * 1024
"""How many bytes of an answer are read before others have their turn."""
DRAIN_BYTES = 64 * 1024


class Reply:
    """What a server answers: its status, its headers with names in lower case, its body piece by piece."""

    def __init__(self, response: httpcore.Response, patience: Patience) -> None:
        self.status = response.status
        self.headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers
        }
        self._pieces = aiter(response.aiter_stream())
        self._parts: Iterator[bytes] = iter(())
        self._given = 0
        self._inflater: Inflater | None = None
        self._patience = patience

    @property
    def media_type(self) -> str:
        """The media type without parameters, empty when the server does not say."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def piece(self) -> bytes | None:
        """Give the next bytes of the body, unpacked, None at the end.

        Raises CallFaultError when they are late, too many or cannot be unpacked, or when the connection breaks.
        """
        while (part := next(self._parts, None)) is None:
            packed = await self._packed()
            if packed is None:
                return None
            self._parts = self._unpacking().feed(packed)
        self._given += len(part)
        if self._given >= _IN_ONE_GO:
            # Very many may be at hand at once, as when a few bytes unpack to them: other turns go on meanwhile.
            self._given = 0
            await asyncio.sleep(0)
        return part

    def _unpacking(self) -> Inflater:
        if self._inflater is None:
            self._inflater = Inflater(self.headers.get("content-encoding", "").strip().lower())
        return self._inflater

    async def _packed(self) -> bytes | None:
        try:
            piece = await self._patience.wait_for(anext(self._pieces, None))
        except CONNECTION_ERRORS as error:
            raise broken("before its end") from error
        self._patience.heard()
        return piece

    async def drain(self) -> None:
        """Read the little that may follow an answer, so that the connection serves again. What is late is left."""
        left = DRAIN_BYTES
        with suppress(TimeoutError, *CONNECTION_ERRORS):
            async with asyncio.timeout(DRAIN_SECONDS):
                while left > 0 and (piece := await anext(self._pieces, None)) is not None:
                    left -= len(piece)


class Connections:
    """Connections that are kept open for the next call, those of each `ca_file` apart.

    They belong to one event loop. At most 512 are open at once, 64 of them idle, for 30 seconds.
    """

    def __init__(self) -> None:
        self._pools: dict[tuple[bool, Path | None], httpcore.AsyncConnectionPool] = {}

    @asynccontextmanager
    async def send(self, prepared: Prepared, endpoint: Endpoint, patience: Patience) -> AsyncIterator[Reply]:
        """Send a request and give the reply once its head is there. The connection is free or closed afterwards.

        Raises CallFaultError when there is no reply, ConfigError when the `ca_file` cannot be read.
        """
        pool = await self._pool(endpoint.ca_file, secure=prepared.url.startswith("https:"))

        async def on_event(event: str, _: Mapping[str, object]) -> None:
            if event == "http11.send_request_headers.started":
                patience.sent()

        limits = {"connect": endpoint.connect_seconds, "pool": endpoint.first_byte_seconds}
        sending = pool.stream(
            "POST",
            prepared.url,
            headers=[(name.encode("ascii"), value.encode("ascii")) for name, value in prepared.headers],
            content=prepared.body,
            extensions={"timeout": limits, "trace": on_event},
        )
        stack = AsyncExitStack()
        try:
            try:
                response = await patience.wait_for(stack.enter_async_context(sending))
            except CONNECTION_ERRORS as error:
                raise opening_fault(error, connect_seconds=endpoint.connect_seconds) from error
            yield Reply(response, patience)
        finally:
            # A close that is cancelled half-way leaves a connection that the pool takes for busy for ever.
            _, cancelled = await firmly(stack.aclose())
            if cancelled:
                raise asyncio.CancelledError

    async def _pool(self, ca_file: Path | None, *, secure: bool) -> httpcore.AsyncConnectionPool:
        key = (secure, ca_file)
        if key not in self._pools:
            # Reading all certificates takes tens of milliseconds, in which other turns go on.
            context = await asyncio.to_thread(tls_context, ca_file) if secure else None
            self._pools.setdefault(key, _new_pool(context))
        return self._pools[key]

    async def aclose(self) -> None:
        """Close all connections, those in use too."""
        pools = [*self._pools.values()]
        self._pools.clear()
        for pool in pools:
            await pool.aclose()


def _new_pool(context: ssl.SSLContext | None) -> httpcore.AsyncConnectionPool:
    return httpcore.AsyncConnectionPool(
        ssl_context=context,
        max_connections=MAX_CONNECTIONS,
        max_keepalive_connections=MAX_IDLE_CONNECTIONS,
        keepalive_expiry=IDLE_SECONDS,
        network_backend=WatchedBackend(),
    )


def tls_context(ca_file: Path | None) -> ssl.SSLContext:
    """Give what a secure connection is checked by: the usual authorities and those of `ca_file`."""
    context = httpcore.default_ssl_context()
    if ca_file is not None:
        try:
            context.load_verify_locations(ca_file)
        except (OSError, ValueError) as error:
            raise ConfigError(f"the ca_file {str(ca_file)!r} cannot be read as certificates: {error}") from error
    return context
