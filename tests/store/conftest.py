from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from store.postgres import Cluster
from trimtab.store.opening import open_store
from trimtab.store.sql_store import SqlStore

BACK_ENDS = ["sqlite", "postgresql"]


@dataclass(frozen=True, slots=True)
class Home:
    """A database and two stores on it."""

    place: str
    store: SqlStore
    other: SqlStore


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def sqlite_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with the tables, to be copied."""
    path = tmp_path_factory.mktemp("made") / "chats.db"
    asyncio.run(_make(str(path)))
    return path


@pytest.fixture
def sqlite_place(sqlite_made: Path, tmp_path: Path) -> Path:
    """A SQLite file of its own with the tables and nothing in them."""
    return Path(shutil.copy(sqlite_made, tmp_path / "chats.db"))


@pytest.fixture(params=BACK_ENDS)
def home(request: pytest.FixtureRequest) -> Home:
    """A database with the tables on each back end, and two stores on it that stay open for all tests."""
    made: Home = request.getfixturevalue(f"{request.param}_home")
    return made


@pytest.fixture(scope="session")
def sqlite_home(sqlite_made: Path) -> Iterator[Home]:
    with _home(str(sqlite_made.with_name("home.db"))) as made:
        yield made


@pytest.fixture(scope="session")
def postgresql_home(postgres_cluster: Cluster) -> Iterator[Home]:
    with postgres_cluster.database() as url, _home(url) as made:
        yield made


@pytest.fixture
def store(home: Home) -> Iterator[SqlStore]:
    """An open store with nothing in it."""
    yield home.store
    asyncio.run(_clear(home.store))


@pytest.fixture
def other(home: Home, store: SqlStore) -> SqlStore:
    """Another open store on the same database, as another process has it."""
    return home.other


@pytest.fixture
def place(home: Home, store: SqlStore) -> str:
    """Where that database is."""
    return home.place


@pytest.fixture(params=BACK_ENDS)
def empty_place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without tables, on each back end."""
    if request.param == "sqlite":
        return str(tmp_path / "new" / "chats.db")
    url: str = request.getfixturevalue("postgres_url")
    return url


@contextmanager
def _home(place: str) -> Iterator[Home]:
    made = Home(place, open_store(place), open_store(place))
    asyncio.run(made.store.open())
    asyncio.run(made.other.open())
    yield made
    asyncio.run(made.store.close())
    asyncio.run(made.other.close())


async def _clear(store: SqlStore) -> None:
    for owner in ("ann", "bob"):
        for chat in await store.list_chats(owner=owner, limit=1000):
            await store.delete_chat(chat.id, owner=owner)


async def _make(place: str) -> None:
    async with open_store(place):
        pass
