"""How a host app gets a store."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trimtab_sdk.errors import ConfigError

if TYPE_CHECKING:
    from trimtab.store.addresses import Durability
    from trimtab.store.sql_store import SqlStore

CONNECTIONS: Final = 16


def open_store(where: str | Path, *, durability: Durability = "full", connections: int = CONNECTIONS) -> SqlStore:
    """Give the store at a path or URL; nothing is connected before its `open`.

        async with open_store("chats.db") as store:
            await store.get_chat("c1", owner="ann")

    - `where`: a path, `sqlite:///FILE`, `:memory:`, or `postgresql://USER@HOST/DATABASE`. A file that is not there
      is made for this user alone.
    - `durability` is for SQLite: `full` loses nothing at a power cut, `normal` may lose the last transactions.
    - `connections`: how many PostgreSQL is asked for at a time.

    Raises ConfigError for anything else, and when what the database needs is not installed.
    """
    if durability not in ("full", "normal"):
        raise ConfigError(f"durability is `full` or `normal`, not {durability!r}")
    if connections < 1:
        raise ConfigError("a store needs at least one connection")
    require("sqlalchemy", "alembic", extra="turns")
    from trimtab.store.addresses import PostgresAddress, read_address
    from trimtab.store.sql_store import SqlStore

    address = read_address(where)
    if isinstance(address, PostgresAddress):
        require("psycopg", extra="postgres")
    return SqlStore(address, durability=durability, connections=connections)


def require(*modules: str, extra: str) -> None:
    """Raise ConfigError unless all modules of an extra are installed."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise ConfigError(f"this store needs {' and '.join(missing)}: pip install 'trimtab[{extra}]'")
