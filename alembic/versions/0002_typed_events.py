"""Events say what they hold, episodes carry a version, and steps have one table."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_COPY_EVENTS = """
INSERT INTO events (agent, number, kind, episode, slot, label, final_known, policy_version, at)
SELECT agent, number, kind, episode, voice,
       CASE WHEN kind IN ('labelled', 'settled') THEN value END,
       CASE WHEN kind IN ('finished', 'abandoned') THEN coalesce(value, 0) != 0 END,
       CASE WHEN kind = 'policy' THEN value END,
       at
FROM old_events
"""
_COPY_EVENTS_BACK = """
INSERT INTO events (agent, number, kind, episode, value, voice, at)
SELECT agent, number, kind, episode,
       coalesce(
           label, policy_version, CASE WHEN final_known THEN 1 WHEN NOT final_known THEN 0 END
       ),
       slot, at
FROM old_events
"""
_FILE_JOURNAL = """
INSERT INTO steps (agent, episode, step, state, action, observation)
SELECT agent, episode, step, state, action, observation FROM journal
WHERE NOT EXISTS (
    SELECT 1 FROM steps WHERE steps.agent = journal.agent
    AND steps.episode = journal.episode AND steps.step = journal.step
)
"""


def upgrade() -> None:
    """Go forward."""
    _rename_old()
    _create_events(
        sa.Column("slot", sa.Integer(), nullable=True),
        sa.Column("label", sa.Integer(), nullable=True),
        sa.Column("final_known", sa.Boolean(), nullable=True),
        sa.Column("policy_version", sa.Integer(), nullable=True),
    )
    op.execute(_COPY_EVENTS)
    op.drop_table("old_events")
    op.execute("ALTER TABLE labels RENAME COLUMN voice TO slot")
    op.execute("ALTER TABLE episodes RENAME COLUMN verdicts TO labels_given")
    op.add_column(
        "episodes", sa.Column("version", sa.Integer(), nullable=False, server_default=sa.text("0"))
    )
    op.execute(_FILE_JOURNAL)
    op.drop_table("journal")


def downgrade() -> None:
    """Go back."""
    op.create_table(
        "journal",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("agent", sa.BigInteger(), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("state", sa.Integer(), nullable=False),
        sa.Column("action", sa.Integer(), nullable=False),
        sa.Column("observation", sa.JSON(none_as_null=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_journal")),
    )
    op.drop_column("episodes", "version")
    op.execute("ALTER TABLE episodes RENAME COLUMN labels_given TO verdicts")
    op.execute("ALTER TABLE labels RENAME COLUMN slot TO voice")
    _rename_old()
    _create_events(
        sa.Column("value", sa.Integer(), nullable=True),
        sa.Column("voice", sa.Integer(), nullable=True),
    )
    op.execute(_COPY_EVENTS_BACK)
    op.drop_table("old_events")


def _rename_old() -> None:
    op.rename_table("events", "old_events")
    if op.get_bind().dialect.name == "postgresql":  # names of constraints are unique there
        op.execute("ALTER TABLE old_events RENAME CONSTRAINT pk_events TO pk_old_events")


def _create_events(*columns: sa.Column) -> None:
    op.create_table(
        "events",
        sa.Column("agent", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=True),
        *columns,
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("agent", "number", name=op.f("pk_events")),
        sqlite_with_rowid=False,
    )
