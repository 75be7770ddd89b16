from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from http_helpers import ANN, TOKENS, Running, asgi_client, make_app, running
from store.postgres import Cluster
from trimtab.config import Server
from trimtab.store.opening import open_store


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def made_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with the tables, to be copied."""
    path = tmp_path_factory.mktemp("made") / "chats.db"
    asyncio.run(_make(str(path)))
    return path


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a test stores its chats: a SQLite file, unless it asks for `postgresql`."""
    if getattr(request, "param", "sqlite") == "sqlite":
        yield str(shutil.copy(request.getfixturevalue("made_store"), tmp_path / "chats.db"))
        return
    cluster: Cluster = request.getfixturevalue("postgres_cluster")
    with cluster.database() as url:
        yield url


@pytest.fixture
async def client(place: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an app without tokens: everybody is the owner `local`."""
    async with asgi_client(make_app(place)) as ready:
        yield ready


@pytest.fixture
async def ann(place: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an app with tokens, that shows ann's. `headers=BOB` in a call makes it bob's."""
    async with asgi_client(make_app(place, server=Server(tokens=TOKENS)), headers=ANN) as ready:
        yield ready


@pytest.fixture
def server(place: str) -> Iterator[Running]:
    """A real server on a loopback port, without tokens."""
    with running(make_app(place)) as ready:
        yield ready


async def _make(place: str) -> None:
    async with open_store(place):
        pass
