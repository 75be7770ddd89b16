"""A turn may have a key of its caller, so that asking again begins no second one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("turns", sa.Column("caller_key", sa.Text))
    op.create_index("turns_by_key", "turns", ["chat_id", "caller_key"], unique=True)


def downgrade() -> None:
    """Take the column away; which keys were used is forgotten."""
    op.drop_index("turns_by_key", "turns")
    op.drop_column("turns", "caller_key")
