from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from fakes.chat_server import ChatServer
from store.postgres import Cluster
from trimtab.store.opening import open_store
from turns.cursor_helpers import CursorStage, Remote, remote_of
from turns.turn_helpers import Stage


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """A provider's server that judges each request; a test fails when one of them was wrong."""
    with ChatServer(extra_keys={"reasoning_content"}) as running:
        yield running
        assert running.faults == []


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with the tables, to be copied."""
    path = tmp_path_factory.mktemp("empty") / "chats.db"
    asyncio.run(_make(str(path)))
    return path


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a test stores its chats: a SQLite file, unless it asks for `postgresql`."""
    if getattr(request, "param", "sqlite") == "sqlite":
        yield str(shutil.copy(request.getfixturevalue("empty_store"), tmp_path / "chats.db"))
        return
    cluster: Cluster = request.getfixturevalue("postgres_cluster")
    with cluster.database() as url:
        yield url


@pytest.fixture
async def stage(place: str, server: ChatServer) -> AsyncIterator[Stage]:
    """A store and a server; the hosts that a test opens are closed after it."""
    async with Stage(place, server) as ready:
        yield ready


@pytest.fixture(params=["openai", "gemini", "anthropic"])
def remote(request: pytest.FixtureRequest) -> Iterator[Remote]:
    """A provider that keeps conversations; a test fails when one of its requests was wrong."""
    with remote_of(request.param) as ready:
        yield ready


@pytest.fixture
async def scene(place: str, remote: Remote) -> AsyncIterator[CursorStage]:
    """A store and a provider that keeps conversations."""
    async with CursorStage(place, remote) as ready:
        yield ready


async def _make(place: str) -> None:
    async with open_store(place):
        pass
