"""The schema: made by the migrations, known to the code, and the two say the same."""

from __future__ import annotations

import ast
import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, inspect, text

import trimtab.store
from store.stories import begin, new_chat
from trimtab.store.migrating import _upgrade
from trimtab.store.opening import open_store
from trimtab.store.protocol import StoredTurn
from trimtab.store.schema import HEAD, KNOWN, VERSION_TABLE, metadata

MIGRATIONS = Path(trimtab.store.__file__).with_name("migrations")


def scripts() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return ScriptDirectory.from_config(config)


def test_the_code_knows_every_revision_in_order() -> None:
    found = [one.revision for one in scripts().walk_revisions()]
    assert tuple(reversed(found)) == KNOWN
    assert scripts().get_heads() == [HEAD] == [KNOWN[-1]]


def test_the_migrations_make_what_the_code_describes(empty_place: str) -> None:
    asyncio.run(_open(empty_place))
    url = empty_place if "://" in empty_place else f"sqlite:///{empty_place}"
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, metadata) == []
        found = set(inspect(connection).get_table_names())
        live = [one for one in inspect(connection).get_indexes("turns") if one["name"] == "one_live_turn"]
    engine.dispose()
    assert found == {*metadata.tables, VERSION_TABLE}
    assert [one["unique"] for one in live] in ([True], [1])


def test_tables_that_are_made_at_once_are_those_that_the_migrations_make(empty_place: str) -> None:
    asyncio.run(_open(empty_place))
    url = empty_place if "://" in empty_place else f"sqlite:///{empty_place}"
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        made = _described(connection)
        for name in [*reversed(metadata.sorted_tables), VERSION_TABLE]:
            connection.execute(text(f"DROP TABLE {name}"))
        assert inspect(connection).get_table_names() == []
        _upgrade(connection)
        assert _described(connection) == made
    engine.dispose()


def _described(connection: Connection) -> dict[str, object]:
    """Everything that a database says of its tables, but for the order of their columns."""
    found = inspect(connection)
    told: dict[str, object] = {}
    for name in found.get_table_names():
        columns = {one["name"]: (str(one["type"]), one["nullable"]) for one in found.get_columns(name)}
        keys = [(one["constrained_columns"], one["referred_table"]) for one in found.get_foreign_keys(name)]
        indexes = [(one["name"], one["column_names"], bool(one["unique"])) for one in found.get_indexes(name)]
        uniques = sorted(one["column_names"] for one in found.get_unique_constraints(name))
        first = found.get_pk_constraint(name)["constrained_columns"]
        told[name] = (columns, sorted(keys), sorted(indexes, key=str), uniques, first)
    told["version"] = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).all()
    return told


@pytest.mark.parametrize("made", [False, True])
def test_opening_a_store_that_is_new_or_up_to_date_imports_no_alembic(empty_place: str, made: bool) -> None:
    if made:
        asyncio.run(_open(empty_place))
    program = (
        "import asyncio, sys\n"
        "from trimtab.store.opening import open_store\n"
        f"store = open_store({empty_place!r})\n"
        "asyncio.run(store.open())\n"
        "asyncio.run(store.close())\n"
        "print(sorted(name for name in sys.modules if name.partition('.')[0] == 'alembic'))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("module", ["trimtab.store", "trimtab.store.protocol", "trimtab.store.opening"])
def test_the_protocol_and_the_door_import_no_database(module: str) -> None:
    program = f"import sys, {module}; print({{'sqlalchemy', 'alembic', 'psycopg'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout.replace("set()", "[]")) == []


def test_a_store_of_the_first_schema_is_brought_up_to_date_with_all_that_is_in_it(empty_place: str) -> None:
    asyncio.run(_fill(empty_place))
    url = empty_place if "://" in empty_place else f"sqlite:///{empty_place}"
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.execute(text("DROP INDEX turns_by_key"))
        connection.execute(text("ALTER TABLE turns DROP COLUMN caller_key"))
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '0001'"))

    stored = asyncio.run(_turn_in(empty_place))

    assert (stored.id, stored.state) == ("t", "running")
    with engine.connect() as connection:
        columns = [one["name"] for one in inspect(connection).get_columns("turns")]
        assert connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar_one() == HEAD
    engine.dispose()
    assert columns[-1] == "caller_key"


async def _fill(place: str) -> None:
    async with open_store(place) as store:
        chat = await store.create_chat(new_chat("c", "s"), now=1.0)
        await begin(store, chat, "t", "u")


async def _turn_in(place: str) -> StoredTurn:
    async with open_store(place) as store:
        return await store.get_turn("t", owner="ann")


async def _open(place: str) -> None:
    async with open_store(place):
        pass
