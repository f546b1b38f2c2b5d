"""Queries of an agent's event log."""

from __future__ import annotations

from sqlalchemy import Connection, select

from app.storage.rows import LEARNED_KINDS, EventRow, columns_of, typed
from app.storage.schema import events

_all = select(*columns_of(EventRow, events))


def event_rows(connection: Connection, agent: int, after: int, limit: int) -> list[EventRow]:
    """Events of an agent after one, in order."""
    query = _all.where(events.c.agent == agent, events.c.number > after)
    return typed(EventRow, connection.execute(query.order_by(events.c.number).limit(limit)).all())


def events_to_learn(connection: Connection, agent: int, after: int) -> list[EventRow]:
    """Every event after one that the agent learns from, in order."""
    query = _all.where(
        events.c.agent == agent, events.c.number > after, events.c.kind.in_(LEARNED_KINDS)
    )
    return typed(EventRow, connection.execute(query.order_by(events.c.number)).all())
