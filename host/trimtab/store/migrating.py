"""Bringing a database to the schema of this version."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    MetaData,
    String,
    Table,
    column,
    inspect,
    select,
    table,
    text,
)

from trimtab.store.addresses import Address
from trimtab.store.schema import HEAD, KNOWN, VERSION_TABLE, metadata
from trimtab_sdk.errors import StoreUnavailableError

_LOCK: Final = 0x7472696D
"""The number of the advisory lock that upgrades take on PostgreSQL."""


def bring_up_to_date(writer: Engine, address: Address) -> None:
    """Make the tables, or bring them to the newest revision; one process at a time.

    Raises StoreUnavailableError when the schema is of a newer version than this one.
    """
    with writer.begin() as connection:
        if _is_current(connection, address):
            return
    with writer.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        if not _is_current(connection, address):
            _make_or_upgrade(connection)


def _is_current(connection: Connection, address: Address) -> bool:
    found = revision_of(connection)
    if found is None or found in KNOWN[:-1]:
        return False
    if found != HEAD:
        raise StoreUnavailableError(
            f"{address} was written by a newer version of Trimtab (schema {found[:40]}, this one knows {HEAD}); "
            "upgrade Trimtab, or name another database"
        )
    return True


def revision_of(connection: Connection) -> str | None:
    """Give the revision of the schema, None when there is none yet."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.execute(select(column("version_num")).select_from(table(VERSION_TABLE))).scalar()
    return None if found is None else str(found)


def _make_or_upgrade(connection: Connection) -> None:
    """Make the tables where there is none of them; else go up revision by revision.

    An empty database needs no history, and alembic takes longer to import than the tables to be made.
    """
    if any(inspect(connection).has_table(name) for name in (*metadata.tables, VERSION_TABLE)):
        _upgrade(connection)
        return
    metadata.create_all(connection)
    versions = Table(
        VERSION_TABLE,
        MetaData(),
        Column("version_num", String(32), primary_key=True, nullable=False),
    )
    versions.create(connection)
    connection.execute(versions.insert(), {"version_num": HEAD})


def _upgrade(connection: Connection) -> None:
    from alembic.command import upgrade
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", _escaped(Path(__file__).with_name("migrations")))
    config.attributes["connection"] = connection
    upgrade(config, "head")


def _escaped(path: Path) -> str:
    """Alembic reads its options with configparser, which takes a percent sign for its own."""
    return str(path).replace("%", "%%")
