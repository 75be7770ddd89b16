"""What a store says when its database does not do what it should, and that nothing is half written then."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import stat
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from store.postgres import Cluster
from store.stories import begin, end, ids, new_chat, new_turn
from trimtab.store import engines, opening
from trimtab.store.addresses import SqliteAddress
from trimtab.store.failures import told
from trimtab.store.opening import open_store
from trimtab.store.sql_store import SqlStore
from trimtab_sdk.errors import ConfigError, StoreUnavailableError

pytestmark = pytest.mark.anyio


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "BUSY_SECONDS", 0.05)


def change(path: Path, *statements: str) -> None:
    """Change a SQLite file behind the store's back."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


async def fails(store: SqlStore) -> StoreUnavailableError:
    with pytest.raises(StoreUnavailableError) as caught:
        await store.create_chat(new_chat("x", "one"), now=1.0)
    assert caught.value.__cause__ is not None
    return caught.value


async def cannot_open(where: str | Path) -> StoreUnavailableError:
    with pytest.raises(StoreUnavailableError) as caught:
        await open_store(where).open()
    return caught.value


@pytest.mark.usefixtures("impatient")
async def test_a_locked_file_is_named_and_works_again_when_it_is_free(sqlite_place: Path) -> None:
    async with open_store(sqlite_place) as store:
        with contextlib.closing(sqlite3.connect(sqlite_place, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert "is locked by another process" in str(await fails(store))
            assert await store.list_chats(owner="ann") == []
            other.execute("ROLLBACK")
        assert (await store.create_chat(new_chat(), now=1.0)).id == "c"


@pytest.mark.usefixtures("impatient")
async def test_a_locked_row_is_waited_for_no_longer_than_the_limit(postgres_url: str) -> None:
    async with open_store(postgres_url) as store:
        await store.create_chat(new_chat(), now=1.0)
        with psycopg.connect(postgres_url) as other:
            other.execute("SELECT * FROM chats FOR UPDATE")
            with pytest.raises(StoreUnavailableError, match="is locked by another process"):
                await store.update_chat("c", owner="ann", now=2.0, title="x")
            assert (await store.get_chat("c", owner="ann")).title == ""
        assert (await store.update_chat("c", owner="ann", now=2.0, title="x")).title == "x"


async def test_a_full_disk_writes_nothing_and_the_next_turn_works(sqlite_place: Path) -> None:
    async with open_store(sqlite_place) as store:
        chat = await store.create_chat(new_chat(), now=1.0)
        begun = await begin(store, chat, "t", "u")
        await asyncio.to_thread(limit_pages, store, 30)
        with pytest.raises(StoreUnavailableError, match="out of space"):
            await store.finish_turn(end(begun, "a", partial="x" * 200_000, provider_state="e"))
        assert await ids(store) == ["u"]
        assert (await store.get_turn("t", owner="ann")).state == "running"
        await asyncio.to_thread(limit_pages, store, 1_000_000)
        await store.finish_turn(end(begun, "a", partial="x" * 200_000, provider_state="e"))
        assert await ids(store) == ["u", "a"]


def limit_pages(store: SqlStore, pages: int) -> None:
    opened = store._opened
    assert opened is not None
    with opened.engines.writer.begin() as connection:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")


async def test_a_file_that_was_taken_away_is_told(sqlite_place: Path) -> None:
    async with open_store(sqlite_place) as store:
        await store.create_chat(new_chat(), now=1.0)
        sqlite_place.rename(sqlite_place.with_name("moved.db"))
        with pytest.raises(StoreUnavailableError, match="was moved or deleted"):
            await store.update_chat("c", owner="ann", now=2.0, title="lost")
        sqlite_place.write_bytes(b"")
        with pytest.raises(StoreUnavailableError, match="was moved or deleted"):
            await store.update_chat("c", owner="ann", now=2.0, title="lost")


async def test_a_damaged_file_is_told(sqlite_place: Path) -> None:
    size = sqlite_place.stat().st_size
    with sqlite_place.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))
    error = await cannot_open(sqlite_place)
    assert "is damaged" in str(error)
    assert "backup" in str(error)


async def test_a_file_that_is_no_database_is_told_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("These are my notes. " * 100)
    assert "is no SQLite database; name another file" in str(await cannot_open(path))
    assert path.read_text() == "These are my notes. " * 100


async def test_a_file_of_another_program_is_told_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    change(path, "CREATE TABLE chats (mine TEXT)", "INSERT INTO chats VALUES ('x')")
    assert "another program" in str(await cannot_open(path))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("chats",)]


@pytest.mark.parametrize("name", ["folder", "file/chats.db"])
async def test_a_place_where_no_file_can_be_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    assert str(tmp_path / name) in str(await cannot_open(tmp_path / name))


async def test_a_newer_schema_is_told_and_not_touched(sqlite_place: Path) -> None:
    change(sqlite_place, "UPDATE trimtab_schema SET version_num = '9999'")
    error = await cannot_open(sqlite_place)
    assert "newer version of Trimtab (schema 9999" in str(error)
    assert "upgrade Trimtab" in str(error)


async def test_a_server_that_is_not_there_is_told_without_the_password(tmp_path: Path) -> None:
    error = await cannot_open(f"postgres://ann:s3cret@/chats?host={tmp_path}")
    assert "cannot be reached" in str(error)
    assert "s3cret" not in f"{error} {error.to_dict()}"
    assert "s3cret" not in repr(open_store("postgresql://ann:s3cret@db.example.org:5433/chats"))


async def test_a_database_that_is_not_there_is_told(postgres_cluster: Cluster) -> None:
    assert "check that it runs, and its name" in str(await cannot_open(postgres_cluster.url("nothere")))


async def test_a_server_that_goes_away_in_the_middle_leaves_nothing_half_written(
    postgres_cluster: Cluster, postgres_url: str
) -> None:
    def cut(holder: str) -> bool:
        postgres_cluster.end_connections()
        return True

    async with open_store(postgres_url) as store:
        chat = await store.create_chat(new_chat(), now=1.0)
        begun = await begin(store, chat, "t", "u")
        with pytest.raises(StoreUnavailableError, match=r"was shut down|cannot be reached"):
            await store.begin_turn(new_turn(begun.chat, "t2", "u2"), is_dead=cut)
        assert await store.get_chat("c", owner="ann") == begun.chat
        postgres_cluster.end_connections()
        assert await ids(store) == ["u"]


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE messages SET body = 'x' WHERE id = 'two'", "message 'two' of chat 'c'"),
        ("UPDATE messages SET body = x'00' WHERE id = 'two'", "message 'two' of chat 'c'"),
        ("UPDATE messages SET wire = '[]' WHERE id = 'two'", "message 'two' of chat 'c'"),
        (
            'UPDATE messages SET wire = \'["p", "c", {}, "a", [7]]\' WHERE id = \'two\'',
            "message 'two' of chat 'c'",
        ),
        ("UPDATE messages SET wire = '{' WHERE id = 'two'", "message 'two' of chat 'c'"),
        ("UPDATE messages SET provider_state = '[1]' WHERE id = 'two'", "message 'two' of chat 'c'"),
        ("UPDATE messages SET count_key = 'k' WHERE id = 'two'", "message 'two' of chat 'c'"),
        (
            "UPDATE messages SET count_key = 'k', count_tokens = 1, count_approximate = 'all' WHERE id = 'two'",
            "message 'two' of chat 'c'",
        ),
        ("UPDATE chats SET settings = '7'", "settings of chat 'c'"),
        ("UPDATE chats SET title = '{}'", "title of chat 'c'"),
        ("UPDATE chats SET carried = 'x'", "carried edit of chat 'c'"),
        ("UPDATE turns SET input_ids = '{}'", "turn 't'"),
        ("UPDATE turns SET options = ''", "turn 't'"),
        ("UPDATE audits SET body = x'1234'", "audit of chat 'c'"),
    ],
)
async def test_a_damaged_row_is_named(sqlite_place: Path, statement: str, named: str) -> None:
    async with open_store(sqlite_place) as store:
        chat = await store.create_chat(new_chat("c", "one", "two"), now=1.0)
        await begin(store, chat, "t", "u")
        change(sqlite_place, statement)
        with pytest.raises(StoreUnavailableError, match=named) as caught:
            await read_all(store)
        assert "damaged in the store" in str(caught.value)


async def read_all(store: SqlStore) -> None:
    await store.get_chat("c", owner="ann")
    await store.messages("c", owner="ann")
    await store.get_turn("t", owner="ann")
    await store.audit("c", owner="ann")


class _ToldError(Exception):
    """A driver's error as it tells what happened."""

    def __init__(self, **facts: str) -> None:
        super().__init__("upstream words")
        self.__dict__.update(facts)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"sqlite_errorname": "SQLITE_READONLY"}, "can only be read"),
        ({"sqlite_errorname": "SQLITE_IOERR_WRITE"}, "check its disk"),
        ({"sqlite_errorname": "SQLITE_BUSY_SNAPSHOT"}, "locked"),
        ({"sqlite_errorname": "SQLITE_MISMATCH"}, "SQLITE_MISMATCH"),
        ({"sqlstate": "53100"}, "out of space"),
        ({"sqlstate": "53300"}, "max_connections"),
        ({"sqlstate": "40P01"}, "try again"),
        ({"sqlstate": "28P01"}, "user and password"),
        ({"sqlstate": "42501"}, "grant the rights"),
        ({"sqlstate": "42P01"}, "SQLSTATE 42P01"),
        ({}, "the cause has the details"),
    ],
)
def test_every_failure_says_what_to_do_next(facts: dict[str, str], said: str) -> None:
    original = OperationalError("SELECT", {}, _ToldError(**facts))
    with pytest.raises(StoreUnavailableError, match=said) as caught, told(SqliteAddress(Path("/x.db"))):
        raise original
    assert caught.value.__cause__ is original
    assert "upstream words" not in str(caught.value)


def test_a_pool_without_a_free_connection_is_told() -> None:
    with pytest.raises(StoreUnavailableError, match="no free connection"), told(SqliteAddress(None)):
        raise PoolTimeoutError("late")


def test_errors_that_are_no_failure_of_the_database_pass() -> None:
    with pytest.raises(KeyError), told(SqliteAddress(None)):
        raise KeyError("a bug of ours")


async def test_a_new_file_and_its_folder_are_for_this_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "data" / "chats.db"
    async with open_store(path) as store:
        await store.create_chat(new_chat(), now=1.0)
        modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()}
        assert modes == {"chats.db": 0o600, "chats.db-wal": 0o600, "chats.db-shm": 0o600}
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_files_that_are_there_keep_their_modes(sqlite_place: Path) -> None:
    sqlite_place.chmod(0o640)
    async with open_store(sqlite_place):
        assert stat.S_IMODE(sqlite_place.stat().st_mode) == 0o640


@pytest.mark.parametrize("durability", ["full", "normal"])
async def test_durability_and_the_log_are_as_asked(sqlite_place: Path, durability: Any) -> None:
    async with open_store(sqlite_place, durability=durability) as store:
        pragmas = await asyncio.to_thread(pragmas_of, store)
    assert pragmas == ("wal", {"full": 2, "normal": 1}[durability], 1)


def pragmas_of(store: SqlStore) -> tuple[object, ...]:
    opened = store._opened
    assert opened is not None
    with opened.engines.writer.begin() as connection:
        names = ("journal_mode", "synchronous", "foreign_keys")
        return tuple(connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names)


async def test_a_store_in_memory_works_while_it_is_open() -> None:
    async with open_store(":memory:") as store:
        chat = await store.create_chat(new_chat("c", "one"), now=1.0)
        await begin(store, chat, "t", "two")
        assert await ids(store) == ["one", "two"]


async def test_an_address_is_a_path_or_a_url(tmp_path: Path) -> None:
    path = tmp_path / "a % b #?.db"
    async with open_store(path) as store:
        await store.create_chat(new_chat(), now=1.0)
    async with open_store(str(path)) as store:
        assert (await store.get_chat("c", owner="ann")).id == "c"
    await open_store(f"sqlite:///{tmp_path / 'plain.db'}").open()
    assert (tmp_path / "plain.db").exists()


@pytest.mark.parametrize(
    "where", ["", "mysql://x/y", "sqlite://host/x.db", "postgresql+asyncpg://x/y", "a\0b", "postgresql://x:port/y"]
)
def test_what_is_no_address_is_refused(where: str) -> None:
    with pytest.raises(ConfigError):
        open_store(where)


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ConfigError, match="durability"):
        open_store("x.db", durability="off")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="connection"):
        open_store("x.db", connections=0)


@pytest.mark.parametrize(
    ("where", "missing", "install"),
    [
        ("x.db", "sqlalchemy", "trimtab[turns]"),
        ("x.db", "alembic", "trimtab[turns]"),
        ("postgresql://h/d", "psycopg", "trimtab[postgres]"),
    ],
)
def test_a_missing_extra_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, where: str, missing: str, install: str
) -> None:
    from importlib.util import find_spec

    monkeypatch.setattr(opening, "find_spec", lambda name: None if name == missing else find_spec(name))
    with pytest.raises(ConfigError) as caught:
        open_store(where)
    assert f"pip install '{install}'" in str(caught.value)
