"""Recordings are files, and an episode knows the key that started it."""

from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

from app.storage.blobs.base import BlobStore
from app.storage.blobs.recordings import new_recording_name

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_PIECE_BYTES = 4_000_000
_KEY = sa.text("agent = :agent AND episode = :episode")


def upgrade() -> None:
    """Go forward. Files are durable before the rows that name them are committed."""
    op.add_column("episodes", sa.Column("started_by", sa.String(length=40), nullable=True))
    _rename_old()
    _create(sa.Column("blob", sa.String(length=80), nullable=False))
    connection = op.get_bind()
    rows = connection.execute(
        sa.text("SELECT agent, episode, media_type, size, at FROM old_recordings")
    ).all()
    for row in rows:
        name = _write_file(connection, row.agent, row.episode)
        connection.execute(
            sa.text(
                "INSERT INTO recordings (agent, episode, media_type, size, blob, at) "
                "VALUES (:agent, :episode, :media_type, :size, :blob, :at)"
            ),
            {**row._mapping, "blob": name},
        )
    op.drop_table("old_recordings")


def downgrade() -> None:
    """Go back. The files stay, so that nothing is lost if this is undone."""
    _rename_old()
    _create(sa.Column("content", sa.LargeBinary(), nullable=False))
    connection = op.get_bind()
    rows = connection.execute(
        sa.text("SELECT agent, episode, media_type, size, at, blob FROM old_recordings")
    ).all()
    insert = sa.text(
        "INSERT INTO recordings (agent, episode, media_type, size, content, at) "
        "VALUES (:agent, :episode, :media_type, :size, :content, :at)"
    ).bindparams(sa.bindparam("content", type_=sa.LargeBinary()))
    for row in rows:
        with _blobs().open(row.blob) as file:
            content = file.read(0, row.size)
        connection.execute(insert, {**row._mapping, "content": content})
    op.drop_table("old_recordings")
    op.drop_column("episodes", "started_by")


def _rename_old() -> None:
    op.rename_table("recordings", "old_recordings")
    if op.get_bind().dialect.name == "postgresql":  # names of constraints are unique there
        op.execute("ALTER TABLE old_recordings RENAME CONSTRAINT pk_recordings TO pk_old")


def _create(place: sa.Column) -> None:
    op.create_table(
        "recordings",
        sa.Column("agent", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("episode", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("media_type", sa.String(length=40), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        place,
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("agent", "episode", name=op.f("pk_recordings")),
    )


def _blobs() -> BlobStore:
    blobs: BlobStore = op.get_context().config.attributes["blobs"]
    return blobs


def _write_file(connection: sa.Connection, agent: int, episode: int) -> str:
    """Copy one recording to a file, some megabytes at a time; its name."""
    name = new_recording_name(agent, episode)
    writer = _blobs().create(name)
    try:
        for piece in _pieces(connection, agent, episode):
            writer.write(piece)
        writer.commit()
    finally:
        writer.abort()
    return name


def _pieces(connection: sa.Connection, agent: int, episode: int) -> Iterator[bytes]:
    piece = sa.select(
        sa.func.substr(
            sa.literal_column("content"), sa.bindparam("first"), _PIECE_BYTES, type_=sa.LargeBinary
        )
    ).select_from(sa.table("old_recordings"))
    first, key = 1, {"agent": agent, "episode": episode}
    while content := connection.execute(piece.where(_KEY), {**key, "first": first}).scalar():
        yield content
        first += _PIECE_BYTES
