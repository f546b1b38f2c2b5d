"""Policies, snapshots and insights that are large are stored in pieces."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go forward."""
    op.create_table(
        "pieces",
        sa.Column("agent", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("blob", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("place", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("agent", "blob", "place", name=op.f("pk_pieces")),
    )


def downgrade() -> None:
    """Go back. What was stored in pieces cannot be read, and is rebuilt from the log."""
    op.drop_table("pieces")
