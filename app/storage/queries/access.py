"""Queries of access: keys, sessions, secrets, and answers to idempotent requests."""

from __future__ import annotations

from sqlalchemy import Connection, select

from app.storage.rows import AnswerRow, KeyRow, SessionRow, columns_of, typed, typed_or_none
from app.storage.schema import answers, keys, secrets, sessions

UNFINISHED_COPY = "unfinished copy"
"""The name of the secret that marks the target of a copy until it is whole."""


def key_rows(connection: Connection) -> list[KeyRow]:
    """Every key, oldest first."""
    query = select(*columns_of(KeyRow, keys)).order_by(keys.c.created_at, keys.c.id)
    return typed(KeyRow, connection.execute(query).all())


_sessions = select(*columns_of(SessionRow, sessions))


def session_row(connection: Connection, session: str) -> SessionRow | None:
    """A browser session, unless it was ended."""
    query = _sessions.where(sessions.c.id == session)
    return typed_or_none(SessionRow, connection.execute(query).one_or_none())


def session_rows(connection: Connection, key: str | None) -> list[SessionRow]:
    """The browser sessions of a key, or of all keys; the last used first."""
    query = _sessions if key is None else _sessions.where(sessions.c.key == key)
    query = query.order_by(sessions.c.seen_at.desc(), sessions.c.id)
    return typed(SessionRow, connection.execute(query).all())


def answer_row(connection: Connection, scope: str, key: str) -> AnswerRow | None:
    """What a request with this Idempotency-Key created."""
    query = select(*columns_of(AnswerRow, answers))
    query = query.where(answers.c.scope == scope, answers.c.key == key)
    return typed_or_none(AnswerRow, connection.execute(query).one_or_none())


def secret(connection: Connection, name: str) -> bytes | None:
    """A secret that the server generated."""
    query = select(secrets.c.value).where(secrets.c.name == name)
    found: bytes | None = connection.execute(query).scalar()
    return found
