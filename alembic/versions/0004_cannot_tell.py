"""Labellers may answer that they cannot tell."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_INDEX = "ix_episodes_half_judged"
_BEFORE = sa.text("label IS NULL AND labels_given > 0")
_AFTER = sa.text("label IS NULL AND (labels_given > 0 OR cannot_tell > 0)")


def upgrade() -> None:
    """Go forward."""
    op.add_column(
        "labels",
        sa.Column("cannot_tell", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    op.add_column(
        "episodes",
        sa.Column("cannot_tell", sa.Integer(), nullable=False, server_default=sa.text("0")),
    )
    _replace_index(_AFTER)


def downgrade() -> None:
    """Go back. Answers of "cannot tell" are forgotten."""
    _replace_index(_BEFORE)
    op.execute("DELETE FROM labels WHERE cannot_tell")
    op.execute("DELETE FROM events WHERE kind IN ('cannot_tell', 'retracted')")
    op.drop_column("episodes", "cannot_tell")
    op.drop_column("labels", "cannot_tell")


def _replace_index(condition: sa.TextClause) -> None:
    op.drop_index(_INDEX, table_name="episodes")
    op.create_index(
        _INDEX,
        "episodes",
        ["agent", "labels_given"],
        sqlite_where=condition,
        postgresql_where=condition,
    )
