"""Queries of an agent's event log."""

from __future__ import annotations

from sqlalchemy import Connection, and_, func, or_, select

from app.storage.rows import LABEL_KINDS, LEARNED_KINDS, EpisodeMode, EventRow, columns_of, typed
from app.storage.schema import episodes, events

_all = select(*columns_of(EventRow, events))
_of_episode = and_(events.c.agent == episodes.c.agent, events.c.episode == episodes.c.number)
# Agents do not learn the labels of evaluations. They learn transitions if the client wants it.
_is_lesson = or_(
    episodes.c.mode != EpisodeMode.evaluate,
    and_(episodes.c.learn_transitions, events.c.kind.not_in(LABEL_KINDS)),
)


def event_rows(connection: Connection, agent: int, after: int, limit: int) -> list[EventRow]:
    """Events of an agent after one, in order."""
    query = _all.where(events.c.agent == agent, events.c.number > after)
    return typed(EventRow, connection.execute(query.order_by(events.c.number).limit(limit)).all())


def events_to_learn(
    connection: Connection, agent: int, after: int, last: int | None = None
) -> list[EventRow]:
    """Every event after one, up to ``last``, that the agent learns from, in order."""
    query = _all.join(episodes, _of_episode).where(
        events.c.agent == agent,
        events.c.number > after,
        events.c.kind.in_(LEARNED_KINDS),
        _is_lesson,
    )
    if last is not None:
        query = query.where(events.c.number <= last)
    return typed(EventRow, connection.execute(query.order_by(events.c.number)).all())


def count_labels(connection: Connection, agent: int, after: int, last: int) -> int:
    """How many labels were given, replaced or withdrawn after one event, up to another."""
    of_episode = select(func.count()).select_from(events).join(episodes, _of_episode)
    query = of_episode.where(
        events.c.agent == agent,
        events.c.number > after,
        events.c.number <= last,
        events.c.kind.in_(LABEL_KINDS),
        _is_lesson,
    )
    return connection.execute(query).scalar_one()
