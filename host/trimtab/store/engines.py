"""Connections: one that writes and a few that read for SQLite, a pool for PostgreSQL."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from trimtab.store.addresses import Address, Durability, PostgresAddress, SqliteAddress, prepare_file
from trimtab_sdk.errors import StoreUnavailableError

BUSY_SECONDS = 5.0
"""How long to wait for a lock that another one holds."""
SQLITE_READERS: Final = 4
IDLE_SECONDS: Final = 60
"""After how long PostgreSQL gives up a transaction whose process stands still."""


@dataclass(frozen=True, slots=True)
class OpenFile:
    """The file that was opened. SQLite goes on writing to it when its name is gone, and all that would be lost."""

    path: Path
    identity: tuple[int, int] | None

    @classmethod
    def at(cls, path: Path) -> OpenFile:
        """Give the file that is behind a path now."""
        return cls(path, _identity(path))

    def check(self) -> None:
        """Raise StoreUnavailableError unless the path still leads to it."""
        if _identity(self.path) != self.identity:
            raise StoreUnavailableError(
                f"{SqliteAddress(self.path)} was moved or deleted while it was open; put it back, or open it anew"
            )


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@dataclass(frozen=True, slots=True)
class Engines:
    """What a store reads and writes with, and how many threads each of the two is good for.

    Both are the same where a database has no use for the difference.
    """

    writer: Engine
    reader: Engine
    writers: int
    readers: int
    file: OpenFile | None = None

    def check(self) -> None:
        """Raise StoreUnavailableError when the file is not the one that was opened."""
        if self.file is not None:
            self.file.check()

    def dispose(self) -> None:
        """Close every connection."""
        self.reader.dispose()
        self.writer.dispose()


def make_engines(address: Address, *, durability: Durability, connections: int) -> Engines:
    """Give the engines for an address; a SQLite file is made when it is not there.

    `connections` is for PostgreSQL. Nothing is connected yet.
    """
    if isinstance(address, PostgresAddress):
        engine = _postgres_engine(address, connections)
        return Engines(engine, engine, connections, 0)
    if address.path is None:
        engine = _sqlite_engine(address, durability=durability, writes=True)
        return Engines(engine, engine, 1, 0)
    prepare_file(address.path)
    return Engines(
        _sqlite_engine(address, durability=durability, writes=True),
        _sqlite_engine(address, durability=durability, writes=False),
        1,
        SQLITE_READERS,
        OpenFile.at(address.path),
    )


def _postgres_engine(address: PostgresAddress, connections: int) -> Engine:
    engine = create_engine(
        address.url,
        pool_size=connections,
        max_overflow=0,
        pool_timeout=BUSY_SECONDS,
        pool_pre_ping=True,
        connect_args=postgres_arguments(address),
    )
    event.listen(engine, "connect", _set_up_postgres)
    return engine


def postgres_arguments(address: PostgresAddress) -> dict[str, object]:
    """Give how to connect, but for what the address says itself."""
    usual = {
        "connect_timeout": int(BUSY_SECONDS),
        "application_name": "trimtab",
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 30_000,
    }
    return {key: value for key, value in usual.items() if key not in address.url.query}


def _set_up_postgres(connection: Any, _: ConnectionPoolEntry) -> None:
    connection.autocommit = True
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = {round(BUSY_SECONDS * 1000)}")
            cursor.execute(f"SET idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'")
    finally:
        connection.autocommit = False


def _sqlite_engine(address: SqliteAddress, *, durability: Durability, writes: bool) -> Engine:
    def connect() -> sqlite3.Connection:
        return _connect_sqlite(address.path, durability=durability, writes=writes)

    engine = create_engine(
        "sqlite://",
        creator=connect,
        poolclass=QueuePool,
        pool_size=1 if writes else SQLITE_READERS,
        max_overflow=0,
        pool_timeout=2 * BUSY_SECONDS,
    )
    event.listen(engine, "begin", _begin_writing if writes else _begin_reading)
    return engine


def _begin_writing(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin_reading(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def _connect_sqlite(path: Path | None, *, durability: Durability, writes: bool) -> sqlite3.Connection:
    where = ":memory:" if path is None else f"{path.as_uri()}?mode=rw"
    connection = sqlite3.connect(
        where,
        uri=path is not None,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    try:
        _set_up_sqlite(connection, durability=durability, writes=writes)
    except BaseException:
        connection.close()
        raise
    return connection


def _set_up_sqlite(connection: sqlite3.Connection, *, durability: Durability, writes: bool) -> None:
    if writes:
        _use_wal(connection)
    connection.execute(f"PRAGMA synchronous = {durability.upper()}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA query_only = {'OFF' if writes else 'ON'}")


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log. SQLite does not wait for others here, so this does."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return
