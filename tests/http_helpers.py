"""A server of its own for a test: in this event loop for plain routes, on a real port for streams."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from trimtab import Config
from trimtab.config import Server
from trimtab.host import Host
from trimtab.http import create_app

TOKENS = {"ann": "ANN_TOKEN", "bob": "BOB_TOKEN"}
ENVIRON = {"ANN_TOKEN": "ann-has-a-long-token", "BOB_TOKEN": "bob-has-another-token"}
ANN = {"Authorization": "Bearer ann-has-a-long-token"}
BOB = {"Authorization": "Bearer bob-has-another-token"}
DRY = {"provider": "dry-run", "model": "gpt-4o"}


def make_host(place: str, *tools: Any, server: Server | None = None, **options: Any) -> Host:
    """A host that is not open yet; `config` may be a Config or its fields."""
    config = options.pop("config", None) or Config()
    if isinstance(config, Mapping):
        config = Config(**config)
    if server is not None:
        config = config.model_copy(update={"server": server})
    options.setdefault("environ", {})
    return Host(place, config, tools, **options)


def make_app(place: str, *tools: Any, server: Server | None = None, **options: Any) -> FastAPI:
    """An app over a store; without `server` anybody is the owner `local`."""
    environ = options.pop("tokens", ENVIRON)
    return create_app(make_host(place, *tools, server=server, **options), server, environ=environ)


@asynccontextmanager
async def asgi_client(app: FastAPI, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an app in this event loop. An answer is there when it is whole: not for streams."""
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=True)
    options.setdefault("base_url", "http://127.0.0.1")
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, **options) as client:
        yield client


@dataclass
class Running:
    """A uvicorn in a thread of its own, on a loopback port."""

    app: FastAPI
    port: int
    server: uvicorn.Server
    loop: asyncio.AbstractEventLoop | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def host(self) -> Host:
        host: Host = self.app.state.service.host
        return host

    def client(self, **options: Any) -> httpx.Client:
        """A client; close it, best by `with`."""
        options.setdefault("base_url", self.url)
        options.setdefault("timeout", 20)
        return httpx.Client(**options)

    def async_client(self, **options: Any) -> httpx.AsyncClient:
        options.setdefault("base_url", self.url)
        options.setdefault("timeout", 20)
        return httpx.AsyncClient(**options)


@contextmanager
def running(app: FastAPI, **options: Any) -> Iterator[Running]:
    """Run an app on a free port until the block is left; its lifespan has begun when it is given."""
    options.setdefault("http", "h11")
    settings = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_config=None, loop="asyncio", lifespan="on", access_log=False, **options
    )
    server = uvicorn.Server(settings)
    listening = settings.bind_socket()
    made = Running(app, listening.getsockname()[1], server)
    ready = threading.Event()
    failed: list[BaseException] = []

    async def serve() -> None:
        made.loop = asyncio.get_running_loop()
        begun = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started and not begun.done():
            await asyncio.sleep(0.005)
        ready.set()
        await begun

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            failed.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=run, name="uvicorn")
    thread.start()
    assert ready.wait(30)
    assert server.started, failed
    try:
        yield made
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()
    assert not thread.is_alive()
    assert failed == []


def problem_of(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The problem that a response tells, which must be one of this status and code."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"].startswith("application/problem+json")
    body: dict[str, Any] = response.json()
    assert (body["code"], body["status"]) == (code, status)
    assert body["requestId"] == response.headers["x-request-id"]
    return body
