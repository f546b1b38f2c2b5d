"""Steps that are not plain: what was executed in place of the answer, and by whom."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go forward."""
    op.create_table(
        "step_details",
        sa.Column("agent", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("episode", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("step", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("actor", sa.String(16), nullable=True),
        sa.Column("executed", sa.Integer(), nullable=True),
        sa.Column("allowed", sa.JSON(none_as_null=True), nullable=True),
        sa.PrimaryKeyConstraint("agent", "episode", "step", name="pk_step_details"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """Go back. What was executed takes the place of what was answered, so that models stay true."""
    op.execute(
        "UPDATE steps SET action = (SELECT executed FROM step_details AS d WHERE d.agent = "
        "steps.agent AND d.episode = steps.episode AND d.step = steps.step) WHERE EXISTS (SELECT 1 "
        "FROM step_details AS d WHERE d.agent = steps.agent AND d.episode = steps.episode AND "
        "d.step = steps.step AND d.executed IS NOT NULL)"
    )
    op.drop_table("step_details")
