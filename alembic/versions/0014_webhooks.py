"""Webhooks, and the deliveries that are to be sent to them."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_DUE = sa.text("due_at IS NOT NULL")


def upgrade() -> None:
    """Go forward."""
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("agent", sa.BigInteger(), nullable=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("events", sa.JSON(), nullable=False),
        sa.Column("secret", sa.String(80), nullable=False),
        sa.Column("old_secret", sa.String(80), nullable=True),
        sa.Column("old_until", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_webhooks"),
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("webhook", sa.String(40), nullable=False),
        sa.Column("event", sa.String(16), nullable=False),
        sa.Column("agent", sa.BigInteger(), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=True),
        sa.Column("code", sa.String(100), nullable=True),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("attempted_at", sa.BigInteger(), nullable=True),
        sa.Column("response_status", sa.Integer(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_deliveries"),
    )
    op.create_index("ix_deliveries_webhook_id", "deliveries", ["webhook", "id"])
    op.create_index("ix_deliveries_agent_episode", "deliveries", ["agent", "episode"])
    op.create_index(
        "ix_deliveries_due", "deliveries", ["due_at"], sqlite_where=_DUE, postgresql_where=_DUE
    )


def downgrade() -> None:
    """Go back."""
    op.drop_table("deliveries")
    op.drop_table("webhooks")
