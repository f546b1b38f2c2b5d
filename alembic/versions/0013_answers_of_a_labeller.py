"""An index that counts what a labeller has judged since a time."""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go forward."""
    op.create_index("ix_labels_labeller_at", "labels", ["labeller", "at"])


def downgrade() -> None:
    """Go back."""
    op.drop_index("ix_labels_labeller_at", table_name="labels")
