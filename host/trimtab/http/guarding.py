"""What stands before every route: who may be asked for, how much at once, how large, how slow.

Plain ASGI, so that a stream passes through untouched. `Guard` is the outermost and answers every error; `Bodies`
is behind the access check, so that nobody's body is read who shows no token.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trimtab.config import Server
from trimtab.config_server import is_loopback
from trimtab.http.access import OPEN_PATHS
from trimtab.http.errors import HttpError
from trimtab.http.problems import error_response
from trimtab.turns.codes import normalize_error

if TYPE_CHECKING:
    from trimtab.http.metrics import Metrics

_LOG = logging.getLogger("trimtab.http")
_ACCESS = logging.getLogger("trimtab.http.access")
_REQUEST_ID: Final = "trimtab.request_id"
SECURITY: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)
"""The headers of every answer."""
_SECURED: Final = frozenset(name for name, _ in SECURITY)
_BUSY_SECONDS: Final = "1"
_HOST: Final = re.compile(r"(?:\[(?P<inner>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{0,5})?")


class Guard:
    """Names and logs each request, refuses what may not come in, and sees to it that every answer is safe."""

    def __init__(self, app: ASGIApp, *, server: Server, metrics: Metrics) -> None:
        self._app = app
        self.server = server
        self._metrics = metrics
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope[_REQUEST_ID] = secrets.token_hex(8)
        visit = _Visit(self, scope, send)
        try:
            check_head(scope, self.server)
            visit.enter(counted=scope["path"] not in OPEN_PATHS, most=self.server.max_requests)
            await self._app(scope, receive, visit.send)
        except ClientDisconnect:
            # There is nobody to answer, and nothing that anybody did wrong.
            pass
        except Exception as error:
            await visit.fail(error, receive)
        finally:
            visit.leave()
            self._metrics.request_ended(scope, status=visit.status, seconds=visit.seconds)

    def taken(self, change: int) -> int:
        """Change how many requests are in the house, and give the number."""
        self._running += change
        return self._running


class _Visit:
    """One request in the house, and what becomes of it."""

    def __init__(self, guard: Guard, scope: Scope, send: Send) -> None:
        self._guard = guard
        self._scope = scope
        self._send = send
        self._began = time.perf_counter()
        self._counted = False
        self.status = 0

    @property
    def seconds(self) -> float:
        """How long it has been here."""
        return time.perf_counter() - self._began

    def enter(self, *, counted: bool, most: int) -> None:
        """Count it in. Raises HttpError SERVER_BUSY when the house is full."""
        if not counted:
            return
        if self._guard.taken(0) >= most:
            raise HttpError(
                "SERVER_BUSY",
                "as many requests as this server takes at once are running; try again a little later",
                headers={"Retry-After": _BUSY_SECONDS},
            )
        self._guard.taken(1)
        self._counted = True

    def _count_out(self) -> None:
        if self._counted:
            self._counted = False
            self._guard.taken(-1)

    async def send(self, message: Message) -> None:
        """Pass on what the app sends, its head with the headers that every answer has."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": self._headers(message.get("headers", ()))}
        await self._send(message)

    def _headers(self, headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        kept = [(name, value) for name, value in headers if name.lower() not in _SECURED]
        if any(name.lower() == b"content-type" and value.startswith(b"text/event-stream") for name, value in kept):
            # A stream has a slot of its own, and may be open for an hour.
            self._count_out()
        if _has_two_lengths(self._scope):
            kept.append((b"connection", b"close"))
        return [*kept, *SECURITY, *self._for_page(kept), (b"x-request-id", self._scope[_REQUEST_ID].encode())]

    def _for_page(self, headers: Iterable[tuple[bytes, bytes]]) -> Iterable[tuple[bytes, bytes]]:
        """Let a page that is named read also what was refused before its room in the app was reached."""
        origin = next((value for name, value in self._scope["headers"] if name == b"origin"), b"")
        if any(name.lower() == b"access-control-allow-origin" for name, _ in headers):
            return ()
        named = origin.decode("latin-1") in self._guard.server.cors_origins
        return ((b"access-control-allow-origin", origin), (b"vary", b"Origin")) if named else ()

    async def fail(self, error: Exception, receive: Receive) -> None:
        """Answer an error; one in the middle of an answer can only end it."""
        if normalize_error(error).code == "INTERNAL_ERROR":
            _LOG.error("request %s failed", self._scope[_REQUEST_ID], exc_info=error)
        if not self.status:
            # The work is done, and who asked may be slow to read what it came to.
            self._count_out()
            response = error_response(error, path=self._scope["path"], request_id=self._scope[_REQUEST_ID])
            await response(self._scope, receive, self.send)

    def leave(self) -> None:
        """Count it out and log it: no query, no header, no body."""
        self._count_out()
        path = self._scope["path"].encode("ascii", "backslashreplace").decode()
        _ACCESS.info(
            "%s %s %s %.0f ms %s",
            self._scope["method"],
            path if path.isprintable() else "?",
            self.status or "gone",
            self.seconds * 1000,
            self._scope[_REQUEST_ID],
        )


def _has_two_lengths(scope: Scope) -> bool:
    """Tell whether a proxy may see another end of the body, and so another next request (RFC 9112, 6.3)."""
    return {b"transfer-encoding", b"content-length"} <= {name for name, _ in scope["headers"]}


def check_head(scope: Scope, server: Server) -> None:
    """Refuse a request by its head: too large, for another host, from a foreign web page.

    A name in `Host` that is not this machine's own may have been pointed here by somebody's web page (DNS
    rebinding), so a server on loopback answers to its own names alone. Raises HttpError.
    """
    headers = scope["headers"]
    if sum(len(name) + len(value) + 4 for name, value in headers) > server.max_header_bytes:
        raise HttpError(
            "HEADERS_TOO_LARGE", f"the headers have more than {server.max_header_bytes:,} bytes", headers=_CLOSE
        )
    hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
    if len(hosts) != 1 or not _is_allowed_host(hosts[0], server):
        raise HttpError("HOST_NOT_ALLOWED", "this server does not answer for the host that the request names")
    origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
    if any(not _is_allowed_origin(origin, hosts[0], server) for origin in origins):
        raise HttpError(
            "ORIGIN_NOT_ALLOWED", "web pages of this origin may not call; name it in [server] cors_origins"
        )


_CLOSE: Final = {"Connection": "close"}


def _is_allowed_host(value: str, server: Server) -> bool:
    name = _without_port(value).lower()
    if name in (one.lower() for one in server.allowed_hosts) or is_loopback(name):
        return True
    return not server.is_loopback and not server.allowed_hosts


def _without_port(value: str) -> str:
    """Give the name in a `Host`, empty for what is none."""
    found = _HOST.fullmatch(value)
    return "" if found is None else found["inner"] or found["name"] or ""


def _is_allowed_origin(origin: str, host: str, server: Server) -> bool:
    return origin in server.cors_origins or origin.lower() in (f"http://{host}".lower(), f"https://{host}".lower())


class Bodies:
    """ASGI middleware that reads no more of a body than may be sent, and does not wait for it longer."""

    def __init__(self, app: ASGIApp, *, server: Server) -> None:
        self._app = app
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = self._server.max_body_bytes
        if _length(scope["headers"]) > most:
            raise _too_large(most)
        body = _Body(receive, most=most, seconds=self._server.body_seconds)
        await self._app(scope, body.receive, send)


class _Body:
    def __init__(self, receive: Receive, *, most: int, seconds: float) -> None:
        self._receive = receive
        self._most = most
        self._seconds = seconds
        self._until: float | None = None
        self._got = 0
        self._ended = False

    async def receive(self) -> Message:
        if self._ended:
            return await self._receive()
        message = await self._next()
        self._got += len(message.get("body", b""))
        if self._got > self._most:
            raise _too_large(self._most)
        self._ended = not message.get("more_body", False)
        return message

    async def _next(self) -> Message:
        loop = asyncio.get_running_loop()
        if self._until is None:
            self._until = loop.time() + self._seconds
        try:
            async with asyncio.timeout_at(self._until):
                return await self._receive()
        except TimeoutError as error:
            raise HttpError(
                "REQUEST_TIMEOUT", f"the body did not arrive within {self._seconds:g} seconds", headers=_CLOSE
            ) from error


def _length(headers: Iterable[tuple[bytes, bytes]]) -> int:
    told = next((value for name, value in headers if name == b"content-length"), b"0")
    return int(told) if told.isdigit() and len(told) < 20 else 0


def _too_large(most: int) -> HttpError:
    return HttpError(
        "BODY_TOO_LARGE",
        f"the body has more than {most:,} bytes; [server] max_body_bytes is what this server takes",
        headers=_CLOSE,
        details={"maxBytes": most},
    )
