"""The app: its rooms put together, and the guards before them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

from trimtab.config import Server
from trimtab.http import catalogue, chats, context, health, messages, turns
from trimtab.http.access import Access, read_tokens
from trimtab.http.description import describe
from trimtab.http.gateway import router as gateway
from trimtab.http.guarding import Bodies, Guard
from trimtab.http.metrics import Metrics
from trimtab.http.problems import add_handlers
from trimtab.http.service import Service
from trimtab.http.streams import StreamSlots

if TYPE_CHECKING:
    from trimtab.host import Host

ROUTERS = (
    gateway.router,
    chats.router,
    messages.router,
    turns.router,
    context.router,
    catalogue.router,
    health.router,
)


def create_app(host: Host, server: Server | None = None, *, environ: Mapping[str, str] | None = None) -> FastAPI:
    """Give the ASGI app of a host, which it opens when it starts and closes when it stops.

    - `server`: how it listens and whom it lets in; by default what the host's configuration says.
    - `environ`: where the tokens are looked up.

    Raises ConfigError when a token is missing, or others could reach it without one.
    """
    server = host.config.server if server is None else server
    tokens = read_tokens(server, os.environ if environ is None else environ)
    streams = StreamSlots(most=server.max_streams, most_of_owner=server.max_owner_streams)
    metrics = Metrics(host, streams)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with host:
            yield

    app = _App(lifespan=lifespan, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.secured = tokens.needed
    app.state.service = Service(host, server, host.config, streams, metrics)
    for router in ROUTERS:
        app.include_router(router)
    add_handlers(app)
    # The last one added stands outermost.
    app.add_middleware(Bodies, server=server)
    app.add_middleware(Access, tokens=tokens)
    if server.cors_origins:
        _add_cors(app, server)
    app.add_middleware(Guard, server=server, metrics=metrics)
    return app


class _App(FastAPI):
    """An app that describes itself as `description` has it, once."""

    secured = False

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = describe(self, secured=self.secured)
        return self.openapi_schema


def _add_cors(app: FastAPI, server: Server) -> None:
    from starlette.middleware.cors import CORSMiddleware

    app.add_middleware(
        CORSMiddleware,
        allow_origins=list(server.cors_origins),
        allow_methods=["GET", "POST", "PATCH", "DELETE"],
        allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID"],
        expose_headers=["Location", "Retry-After", "X-Request-Id"],
        max_age=600,
    )
