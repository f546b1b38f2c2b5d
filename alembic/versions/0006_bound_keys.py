"""Keys may be bound to some agents; half-judged episodes have an index for each kind of answer."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_HALF_JUDGED, _UNDECIDED = "ix_episodes_half_judged", "ix_episodes_undecided"


def upgrade() -> None:
    """Go forward."""
    op.add_column("keys", sa.Column("agents", sa.JSON(none_as_null=True), nullable=True))
    op.drop_index(_HALF_JUDGED, table_name="episodes")
    _create_index(_HALF_JUDGED, "labels_given", "label IS NULL AND labels_given > 0")
    _create_index(_UNDECIDED, "cannot_tell", "label IS NULL AND cannot_tell > 0")


def downgrade() -> None:
    """Go back. Bound keys are revoked, because they would see every agent."""
    op.drop_index(_UNDECIDED, table_name="episodes")
    op.drop_index(_HALF_JUDGED, table_name="episodes")
    either = "label IS NULL AND (labels_given > 0 OR cannot_tell > 0)"
    _create_index(_HALF_JUDGED, "labels_given", either)
    op.execute("UPDATE keys SET revoked_at = created_at WHERE agents IS NOT NULL")
    op.drop_column("keys", "agents")


def _create_index(name: str, column: str, condition: str) -> None:
    op.create_index(
        name,
        "episodes",
        ["agent", column],
        sqlite_where=sa.text(condition),
        postgresql_where=sa.text(condition),
    )
