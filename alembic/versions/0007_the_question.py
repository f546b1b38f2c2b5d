"""Agents ask a question and have guidelines, with a version that labels keep."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go forward."""
    op.add_column("agents", sa.Column("question", sa.Text(), nullable=True))
    op.add_column("agents", sa.Column("guidelines", sa.Text(), nullable=True))
    op.add_column(
        "agents",
        sa.Column("guidelines_version", sa.Integer(), nullable=False, server_default=sa.text("0")),
    )
    op.add_column("agents", sa.Column("examples", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("labels", sa.Column("guidelines_version", sa.Integer(), nullable=True))
    op.add_column("labels", sa.Column("seconds", sa.Float(), nullable=True))
    op.create_table(
        "guidelines",
        sa.Column("agent", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("version", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("question", sa.Text(), nullable=True),
        sa.Column("guidelines", sa.Text(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("agent", "version", name=op.f("pk_guidelines")),
    )


def downgrade() -> None:
    """Go back. Questions, guidelines and the seconds of labels are forgotten."""
    op.drop_table("guidelines")
    op.drop_column("labels", "seconds")
    op.drop_column("labels", "guidelines_version")
    for column in ("examples", "guidelines_version", "guidelines", "question"):
        op.drop_column("agents", column)
