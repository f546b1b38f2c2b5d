"""Large bytes in pieces: each is committed by itself, so that steps are written between them.

A column that holds large bytes has a short reference to the pieces instead. Pieces without a
reference are left over from an interrupted publication, or from bytes that were replaced.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, select, tuple_

from app.storage.schema import knowledge, pieces, plans
from app.storage.upsert import insert_or_ignore

PIECE_BYTES = 500_000
_MARK = b"pieces\x01"  # no packed arrays begin like this
_NUMBER_BYTES = 8
_REFERENCE_BYTES = len(_MARK) + _NUMBER_BYTES
_DROPPED_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class StorePiece:
    """Store one piece of large bytes."""

    agent: int
    blob: int
    place: int
    content: bytes

    def apply(self, connection: Connection) -> None:
        """Insert the row."""
        row = {name: getattr(self, name) for name in ("agent", "blob", "place", "content")}
        insert_or_ignore(connection, pieces, [row])


@dataclass(frozen=True, slots=True)
class DropPieces:
    """Remove some pieces of an agent that no row refers to."""

    agent: int

    def apply(self, connection: Connection) -> bool:
        """Delete the rows; returns whether there may be more of them."""
        unused = select(pieces.c.blob, pieces.c.place).where(
            pieces.c.agent == self.agent, pieces.c.blob.not_in(_referenced(connection, self.agent))
        )
        found = connection.execute(unused.limit(_DROPPED_AT_ONCE)).all()
        keys = [(self.agent, row.blob, row.place) for row in found]
        if keys:
            place = tuple_(pieces.c.agent, pieces.c.blob, pieces.c.place)
            connection.execute(delete(pieces).where(place.in_(keys)))
        return len(keys) == _DROPPED_AT_ONCE


def cut(agent: int, content: bytes) -> tuple[list[StorePiece], bytes]:
    """The commands that store large bytes, and the reference to them; small bytes stay."""
    if len(content) <= PIECE_BYTES:
        return [], content
    blob = secrets.randbits(62)
    starts = range(0, len(content), PIECE_BYTES)
    commands = [
        StorePiece(agent, blob, place, content[start : start + PIECE_BYTES])
        for place, start in enumerate(starts)
    ]
    return commands, _MARK + blob.to_bytes(_NUMBER_BYTES, "big")


def joined(connection: Connection, agent: int, content: bytes) -> bytes:
    """The bytes of a column, read from their pieces where it has a reference."""
    if len(content) != _REFERENCE_BYTES or not content.startswith(_MARK):
        return content
    query = select(pieces.c.content).where(
        pieces.c.agent == agent, pieces.c.blob == _blob_of(content)
    )
    return b"".join(connection.execute(query.order_by(pieces.c.place)).scalars())


def _blob_of(reference: bytes) -> int:
    return int.from_bytes(reference[len(_MARK) :], "big")


def _referenced(connection: Connection, agent: int) -> list[int]:
    """The blobs that rows of an agent refer to."""
    found: list[int] = []
    for column in (plans.c.policy, knowledge.c.snapshot, knowledge.c.insight):
        is_short = func.length(column) == _REFERENCE_BYTES
        query = select(column).where(column.table.c.agent == agent, is_short)
        short = connection.execute(query).scalars()
        found += [_blob_of(content) for content in short if content.startswith(_MARK)]
    return found
