"""Who calls: bearer tokens, compared in constant time, and the owner behind each."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, TypeAlias

from fastapi import Depends, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from trimtab.config import Server
from trimtab.http.errors import HttpError
from trimtab_sdk.errors import ConfigError

LOCAL_OWNER: Final = "local"
OPEN_PATHS: Final = frozenset({"/api/v2/health", "/api/v2/readiness", "/openapi.json"})
"""What everybody may ask who reaches the port: nothing of a chat is in it."""

_OWNER: Final = "trimtab.owner"
_SHORTEST: Final = 16
_LONGEST: Final = 4096


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens that are let in, each with its owner. None at all: everybody is the owner `local`."""

    pairs: tuple[tuple[bytes, str], ...] = field(default=(), repr=False)

    @property
    def needed(self) -> bool:
        """Whether a caller must show a token."""
        return bool(self.pairs)

    def owner_of(self, shown: bytes) -> str | None:
        """Give the owner of a token, None for a wrong one. Every token is compared, each in constant time."""
        found = None
        for token, owner in self.pairs:
            if hmac.compare_digest(token, shown):
                found = owner
        return found


def read_tokens(server: Server, environ: Mapping[str, str]) -> Tokens:
    """Read the owners' tokens from the environment.

    Raises ConfigError when a variable is not set, holds what cannot be a token, or the same one twice, and when a
    server that others can reach has none.
    """
    if not server.tokens and not server.is_loopback:
        raise ConfigError(
            f"the server would listen on {server.host}, where others can reach it, without a token; "
            'name one in [server.tokens] (owner = "VARIABLE"), or listen on 127.0.0.1'
        )
    pairs = tuple((_token(environ, name, owner), owner) for owner, name in server.tokens.items())
    if len({token for token, _ in pairs}) < len(pairs):
        raise ConfigError("two owners of [server.tokens] have the same token; give each one its own")
    return Tokens(pairs)


def _token(environ: Mapping[str, str], name: str, owner: str) -> bytes:
    value = environ.get(name, "")
    if not value:
        raise ConfigError(f"the token of {owner!r} is not there: set the environment variable {name}")
    sound = value.isascii() and value.isprintable() and " " not in value
    if not sound or not _SHORTEST <= len(value) <= _LONGEST:
        raise ConfigError(
            f"{name} must hold {_SHORTEST} to {_LONGEST:,} ASCII characters without blanks; "
            "`python -c 'import secrets; print(secrets.token_urlsafe(32))'` makes one"
        )
    return value.encode()


class Access:
    """ASGI middleware that lets in who shows a token, before a byte of the body is read."""

    def __init__(self, app: ASGIApp, *, tokens: Tokens) -> None:
        self._app = app
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request."""
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            scope[_OWNER] = self._owner(scope["headers"])
        await self._app(scope, receive, send)

    def _owner(self, headers: Iterable[tuple[bytes, bytes]]) -> str:
        if not self._tokens.needed:
            return LOCAL_OWNER
        shown = [value for name, value in headers if name == b"authorization"]
        scheme, _, token = shown[0].partition(b" ") if len(shown) == 1 else (b"", b"", b"")
        owner = self._tokens.owner_of(token.strip()) if scheme.lower() == b"bearer" else None
        if owner is None:
            raise HttpError(
                "UNAUTHENTICATED",
                "this needs a token that is known here: Authorization: Bearer TOKEN",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return owner


async def owner_of(request: Request) -> str:
    """Give the owner who asks."""
    return str(request.scope[_OWNER])


Owner: TypeAlias = Annotated[str, Depends(owner_of)]
"""The owner who asks, as a parameter of a route."""
