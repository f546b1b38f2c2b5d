"""What agents believed at some policy versions, so that pages can show how they learned."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go forward."""
    op.create_table(
        "maps",
        sa.Column("agent", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("version", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("labels", sa.Integer(), nullable=False),
        sa.Column("map", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("agent", "version", name=op.f("pk_maps")),
    )


def downgrade() -> None:
    """Go back. The maps of earlier versions are forgotten."""
    op.drop_table("maps")
