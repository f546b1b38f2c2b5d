"""Running episodes may fall due; an agent may be pinned to a policy version."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_OVERDUE = sa.text("status = 'running' AND running_due IS NOT NULL")


def upgrade() -> None:
    """Go forward."""
    op.add_column("agents", sa.Column("pinned_version", sa.Integer(), nullable=True))
    op.add_column("episodes", sa.Column("running_due", sa.BigInteger(), nullable=True))
    op.create_index(
        "ix_episodes_overdue",
        "episodes",
        ["status", "running_due"],
        sqlite_where=_OVERDUE,
        postgresql_where=_OVERDUE,
    )


def downgrade() -> None:
    """Go back."""
    op.drop_index("ix_episodes_overdue", "episodes")
    op.drop_column("episodes", "running_due")
    op.drop_column("agents", "pinned_version")
