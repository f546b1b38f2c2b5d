"""Episodes say whether their transitions are learned from; evaluations have an index."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_EVALUATED = sa.text("mode = 'evaluate' AND label IS NOT NULL")


def upgrade() -> None:
    """Go forward."""
    op.add_column(
        "episodes",
        sa.Column("learn_transitions", sa.Boolean(), nullable=False, server_default=sa.true()),
    )
    op.create_index(
        "ix_episodes_evaluated",
        "episodes",
        ["agent", "number"],
        sqlite_where=_EVALUATED,
        postgresql_where=_EVALUATED,
    )


def downgrade() -> None:
    """Go back."""
    op.drop_index("ix_episodes_evaluated", "episodes")
    op.drop_column("episodes", "learn_transitions")
