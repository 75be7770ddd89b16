"""Chats, their messages, turns and audits."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

LIVE = sa.text("state IN ('running', 'paused')")


def upgrade() -> None:
    """Make the tables."""
    _make_chats()
    _make_messages()
    _make_message_revisions()
    _make_turns()
    _make_audits()
    _make_turn_events()


def downgrade() -> None:
    """Take the tables away, with all that is in them."""
    for name in ("turn_events", "audits", "turns", "message_revisions", "messages", "chats"):
        op.drop_table(name)


def _make_chats() -> None:
    op.create_table(
        "chats",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("history_revision", sa.Integer, nullable=False),
        sa.Column("next_seq", sa.Integer, nullable=False),
        sa.Column("last_provider_state", sa.Text),
        sa.Column("last_context_state", sa.Text),
        sa.Column("carried", sa.Text),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
    )
    op.create_index("chats_by_owner", "chats", ["owner", "updated_at", "id"])


def _make_messages() -> None:
    op.create_table(
        "messages",
        sa.Column("chat_id", sa.Text, sa.ForeignKey("chats.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("parent", sa.Text),
        sa.Column("active", sa.SmallInteger, nullable=False),
        sa.Column("turn_id", sa.Text),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("changed", sa.Integer, nullable=False),
        sa.Column("incomplete", sa.SmallInteger, nullable=False),
        sa.Column("count_key", sa.Text),
        sa.Column("count_tokens", sa.Integer),
        sa.Column("count_approximate", sa.Text),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("wire", sa.Text),
        sa.Column("provider_state", sa.Text),
        sa.Column("full_text", sa.Text),
        sa.UniqueConstraint("chat_id", "id", name="messages_by_id"),
        sqlite_with_rowid=False,
    )


def _make_message_revisions() -> None:
    op.create_table(
        "message_revisions",
        sa.Column("chat_id", sa.Text, primary_key=True),
        sa.Column("message_id", sa.Text, primary_key=True),
        sa.Column("revision", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("replaced_at", sa.Double, nullable=False),
        sa.ForeignKeyConstraint(
            ["chat_id", "message_id"], ["messages.chat_id", "messages.id"], ondelete="CASCADE"
        ),
        sqlite_with_rowid=False,
    )


def _make_turns() -> None:
    op.create_table(
        "turns",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("chat_id", sa.Text, sa.ForeignKey("chats.id", ondelete="CASCADE"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("generation_id", sa.Text, nullable=False),
        sa.Column("input_ids", sa.Text, nullable=False),
        sa.Column("provider", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("fence", sa.Integer, nullable=False),
        sa.Column("lease_holder", sa.Text, nullable=False),
        sa.Column("lease_until", sa.Double, nullable=False),
        sa.Column("started_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double),
        sa.Column("options", sa.Text, nullable=False),
        sa.Column("loop_state", sa.Text),
        sa.Column("finish", sa.Text),
        sa.Column("partial", sa.Text, nullable=False),
        sa.Column("usage", sa.Text),
        sa.Column("error", sa.Text),
        sa.Column("cancel_requested", sa.SmallInteger, nullable=False),
        sa.UniqueConstraint("chat_id", "number", name="turns_by_number"),
    )
    op.create_index("one_live_turn", "turns", ["chat_id"], unique=True, sqlite_where=LIVE, postgresql_where=LIVE)


def _make_audits() -> None:
    op.create_table(
        "audits",
        sa.Column("chat_id", sa.Text, sa.ForeignKey("chats.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("generation_id", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("error_code", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )


def _make_turn_events() -> None:
    op.create_table(
        "turn_events",
        sa.Column("turn_id", sa.Text, sa.ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("event", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
