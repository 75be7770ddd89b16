"""Where a store is: a file for SQLite, or a PostgreSQL database."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from trimtab_sdk.errors import ConfigError, StoreUnavailableError

Durability: TypeAlias = Literal["full", "normal"]
"""What a power cut may take from SQLite: nothing, or the last few transactions."""


@dataclass(frozen=True, slots=True)
class SqliteAddress:
    """A file, or memory when there is no path."""

    path: Path | None

    def __str__(self) -> str:
        return "the SQLite database in memory" if self.path is None else f"the SQLite database {self.path}"


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """A database of a server. The password in the URL is never shown."""

    url: URL

    def __str__(self) -> str:
        host = self.url.host or self.url.query.get("host") or "the local socket"
        port = f":{self.url.port}" if self.url.port else ""
        return f"the PostgreSQL database {self.url.database or '(the usual one)'} at {host}{port}"


Address: TypeAlias = SqliteAddress | PostgresAddress


def read_address(where: str | Path) -> Address:
    """Give the address behind a path or a URL (`sqlite:///FILE`, `postgresql://…`).

    Raises ConfigError for any other URL.
    """
    if isinstance(where, Path) or "://" not in where:
        return _file(str(where))
    try:
        url = make_url(where)
    except (ArgumentError, ValueError) as error:
        raise ConfigError("the store's URL cannot be read; write postgresql://USER@HOST/DATABASE") from error
    if url.drivername == "sqlite":
        if url.host or url.query:
            raise ConfigError("write the store's file as sqlite:///relative.db or sqlite:////absolute.db")
        return _file(url.database or ":memory:")
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return PostgresAddress(url.set(drivername="postgresql+psycopg"))
    raise ConfigError(f"no store speaks {url.drivername!r}; take a file, sqlite:///FILE or postgresql://…")


def prepare_file(path: Path) -> None:
    """Make a database file that is not there yet, for its user alone: folder 0700, file 0600.

    Raises StoreUnavailableError.
    """
    try:
        if not path.parent.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise StoreUnavailableError(
            f"the store's file {path} cannot be made ({error.strerror}); name one in a folder you can write to"
        ) from error


def _file(name: str) -> SqliteAddress:
    if not name or "\0" in name:
        raise ConfigError("the store needs the path of a file")
    return SqliteAddress(None if name == ":memory:" else Path(name).expanduser().absolute())
