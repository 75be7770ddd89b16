"""The tables as SQLAlchemy knows them. The migrations make them; this says how they are now.

Times are seconds since 1970, flags are 0 and 1. JSON is stored as text, since the JSON types of PostgreSQL refuse
a NUL. `LIVE` must stand literally in a query to be answered from the partial index.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)

HEAD: Final = "0002"
KNOWN: Final = ("0001", "0002")
"""All revisions of the schema, oldest first."""
VERSION_TABLE: Final = "trimtab_schema"
LIVE: Final = text("turns.state IN ('running', 'paused')")

metadata: Final = MetaData()


def _of_chat() -> ForeignKey:
    return ForeignKey("chats.id", ondelete="CASCADE")


chats: Final = Table(
    "chats",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("settings", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("history_revision", Integer, nullable=False),
    Column("next_seq", Integer, nullable=False),
    Column("last_provider_state", Text),
    Column("last_context_state", Text),
    Column("carried", Text),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Index("chats_by_owner", "owner", "updated_at", "id"),
)

messages: Final = Table(
    "messages",
    metadata,
    Column("chat_id", Text, _of_chat(), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False),
    Column("parent", Text),
    Column("active", SmallInteger, nullable=False),
    Column("turn_id", Text),
    Column("revision", Integer, nullable=False),
    Column("changed", Integer, nullable=False),
    Column("incomplete", SmallInteger, nullable=False),
    Column("count_key", Text),
    Column("count_tokens", Integer),
    Column("count_approximate", Text),
    Column("created_at", Double, nullable=False),
    Column("body", Text, nullable=False),
    Column("wire", Text),
    Column("provider_state", Text),
    Column("full_text", Text),
    UniqueConstraint("chat_id", "id", name="messages_by_id"),
    sqlite_with_rowid=False,
)

message_revisions: Final = Table(
    "message_revisions",
    metadata,
    Column("chat_id", Text, primary_key=True),
    Column("message_id", Text, primary_key=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),
    Column("replaced_at", Double, nullable=False),
    ForeignKeyConstraint(["chat_id", "message_id"], ["messages.chat_id", "messages.id"], ondelete="CASCADE"),
    sqlite_with_rowid=False,
)

turns: Final = Table(
    "turns",
    metadata,
    Column("id", Text, primary_key=True),
    Column("chat_id", Text, _of_chat(), nullable=False),
    Column("number", Integer, nullable=False),
    Column("owner", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("generation_id", Text, nullable=False),
    Column("input_ids", Text, nullable=False),
    Column("provider", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("fence", Integer, nullable=False),
    Column("lease_holder", Text, nullable=False),
    Column("lease_until", Double, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("options", Text, nullable=False),
    Column("loop_state", Text),
    Column("finish", Text),
    Column("partial", Text, nullable=False),
    Column("usage", Text),
    Column("error", Text),
    Column("cancel_requested", SmallInteger, nullable=False),
    Column("caller_key", Text),
    UniqueConstraint("chat_id", "number", name="turns_by_number"),
    Index("turns_by_key", "chat_id", "caller_key", unique=True),
    Index("one_live_turn", "chat_id", unique=True, sqlite_where=LIVE, postgresql_where=LIVE),
)

audits: Final = Table(
    "audits",
    metadata,
    Column("chat_id", Text, _of_chat(), primary_key=True),
    Column("generation_id", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("error_code", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

turn_events: Final = Table(
    "turn_events",
    metadata,
    Column("turn_id", Text, ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("event", Text, nullable=False),
    sqlite_with_rowid=False,
)
