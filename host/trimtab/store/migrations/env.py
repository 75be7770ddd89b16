"""Run by alembic: the migrations go over the connection that is handed in, inside its transaction."""

from __future__ import annotations

from alembic import context

from trimtab.store.schema import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
)
context.run_migrations()
