"""Queries that look for mistakes in how an agent is used."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from app.storage.queries.agents import agent_row
from app.storage.rows import AgentRow, EpisodeStatus
from app.storage.schema import episodes, steps

_NEWEST = 100  # episodes that are looked at
_ALIKE = 10  # of them that must have been cut off in the same state


@dataclass(frozen=True, slots=True)
class Suspicions:
    """What an agent's episodes look like."""

    oldest_running: int | None  # when it started
    cut_off: int  # episodes that were cut off in one state from which no other went on


def agent_with_suspicions(
    connection: Connection, agent: int, horizon: int
) -> tuple[AgentRow | None, Suspicions]:
    """An agent, and what its episodes look like."""
    return agent_row(connection, agent), suspicions_of(connection, agent, horizon)


def suspicions_of(connection: Connection, agent: int, horizon: int) -> Suspicions:
    """What the episodes of an agent look like."""
    return Suspicions(_oldest_running(connection, agent), _cut_off(connection, agent, horizon))


def _oldest_running(connection: Connection, agent: int) -> int | None:
    query = (
        select(episodes.c.created_at)
        .where(episodes.c.agent == agent, episodes.c.status == EpisodeStatus.running)
        .order_by(episodes.c.number)
        .limit(1)
    )
    found: int | None = connection.execute(query).scalar()
    return found


def _cut_off(connection: Connection, agent: int, horizon: int) -> int:
    """How many of the newest episodes were cut off in the most common such state.

    None if an episode ever went on from that state: then it is a state like any other.
    """
    newest = (
        select(episodes.c.number, episodes.c.final, episodes.c.length, episodes.c.ended)
        .where(episodes.c.agent == agent, episodes.c.final.is_not(None))
        .order_by(episodes.c.number.desc())
        .limit(_NEWEST)
        .subquery()
    )
    query = (
        select(newest.c.final, func.count().label("total"), func.min(newest.c.number))
        .where(newest.c.ended.is_(False), newest.c.length < horizon)
        .group_by(newest.c.final)
        .having(func.count() >= _ALIKE)
        .order_by(func.count().desc())
        .limit(1)
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        return 0
    final, total, first = row
    passed = select(steps.c.step).where(
        steps.c.agent == agent, steps.c.episode >= first, steps.c.state == final
    )
    return 0 if connection.execute(passed.limit(1)).first() else int(total)
