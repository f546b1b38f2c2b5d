"""Episodes have a position in the order of creation; browser sessions are rows."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

# Times are the best that older versions have left of the order.
_NUMBER = """
UPDATE episodes SET position = ordered.place
FROM (
    SELECT agent, number, row_number() OVER (ORDER BY created_at, agent, number) AS place
    FROM episodes
) AS ordered
WHERE episodes.agent = ordered.agent AND episodes.number = ordered.number
"""


def upgrade() -> None:
    """Go forward."""
    position = sa.Column("position", sa.BigInteger(), nullable=False, server_default=sa.text("0"))
    op.add_column("episodes", position)
    op.execute(_NUMBER)
    op.drop_index("ix_episodes_status_created_at", table_name="episodes")
    op.create_index("ix_episodes_position", "episodes", ["position"])
    op.create_index("ix_episodes_status_position", "episodes", ["status", "position"])
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("key", sa.String(40), nullable=False),
        sa.Column("device", sa.String(200), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
    )
    op.create_index("ix_sessions_key", "sessions", ["key"])


def downgrade() -> None:
    """Go back."""
    op.drop_table("sessions")
    op.drop_index("ix_episodes_status_position", table_name="episodes")
    op.drop_index("ix_episodes_position", table_name="episodes")
    op.create_index("ix_episodes_status_created_at", "episodes", ["status", "created_at"])
    op.drop_column("episodes", "position")
