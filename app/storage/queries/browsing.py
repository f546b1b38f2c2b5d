"""What the dashboard reads: a fixed number of queries for a page, however much there is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, null, select, tuple_

from app.storage.queries.reading import Record
from app.storage.schema import agents, episodes, knowledge, labels
from app.storage.sqlite.journal import all_steps

SPARK_POINTS = 16


def agents_around(
    connection: Connection, offset: int, limit: int, name: str = ""
) -> tuple[Sequence[Record], int]:
    """Some agents, the newest first, and how many there are; with ``name`` within theirs."""
    where: list[ColumnElement[bool]] = [agents.c.deleted_at.is_(None)]
    if name:
        where.append(agents.c.name.icontains(name, autoescape=True))
    total = connection.execute(select(func.count()).select_from(agents).where(*where)).scalar()
    query = select(agents).where(*where).order_by(agents.c.position.desc())
    return connection.execute(query.offset(offset).limit(limit)).all(), total or 0


def sparks(connection: Connection, chosen: Sequence[int]) -> dict[int, list[tuple[int, int, int]]]:
    """(part, labels, good ones) of some agents: their episodes in at most 16 parts each."""
    part = (episodes.c.number * SPARK_POINTS / agents.c.episodes).cast(episodes.c.number.type)
    query = (
        select(
            episodes.c.agent,
            part.label("part"),
            func.count().label("labels"),
            func.sum(episodes.c.label).label("good"),
        )
        .join(agents, agents.c.id == episodes.c.agent)
        .where(episodes.c.agent.in_(chosen), episodes.c.status == "labelled")
        .group_by(episodes.c.agent, part)
        .order_by(episodes.c.agent, part)
    )
    found: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for row in connection.execute(query):
        found[row.agent].append((row.part, row.labels, row.good))
    return dict(found)


def newest_episodes(
    connection: Connection, agent: int, before: int | None, limit: int
) -> Sequence[Record]:
    """The newest episodes of an agent; with ``before`` of those with a lower number."""
    query = select(episodes).where(episodes.c.agent == agent)
    if before is not None:
        query = query.where(episodes.c.number < before)
    return connection.execute(query.order_by(episodes.c.number.desc()).limit(limit)).all()


def verdicts(connection: Connection, limit: int) -> Sequence[Record]:
    """The newest verdicts and withdrawals, oldest of them first."""
    query = (
        select(
            *(labels.c[name] for name in ("agent", "episode", "voice", "label", "labeller", "at")),
            null().label("comment"),  # may be long, and is not shown
        )
        .join(agents, agents.c.id == labels.c.agent)
        .where(agents.c.deleted_at.is_(None))
        .order_by(labels.c.id.desc())
        .limit(limit)
    )
    return connection.execute(query).all()[::-1]


def judged(connection: Connection, pairs: Sequence[tuple[int, int]]) -> Sequence[Record]:
    """The rows of some episodes by (agent, number), of those that have a verdict now."""
    named = tuple_(episodes.c.agent, episodes.c.number).in_(pairs)
    query = select(episodes).where(named, episodes.c.verdicts > 0)
    return connection.execute(query).all()


def steps_of(
    connection: Connection, agent: int, numbers: Sequence[int]
) -> dict[int, tuple[list[int], list[int]]]:
    """(states, actions) of some episodes of an agent."""
    found: dict[int, tuple[list[int], list[int]]] = {number: ([], []) for number in numbers}
    for row in connection.execute(all_steps(agent, numbers).order_by("episode", "step")):
        states, actions = found[row.episode]
        states.append(row.state)
        actions.append(row.action)
    return found


def insights_of(connection: Connection, chosen: Sequence[int]) -> dict[int, bytes]:
    """The tables to explain some agents with, where they have any."""
    query = select(knowledge.c.agent, knowledge.c.insight).where(
        knowledge.c.agent.in_(chosen), knowledge.c.insight.is_not(None)
    )
    rows: Any = connection.execute(query)
    return {row.agent: row.insight for row in rows}


def names_of(connection: Connection, chosen: Sequence[int]) -> dict[int, str]:
    """The names of some agents."""
    query = select(agents.c.id, agents.c.name).where(agents.c.id.in_(chosen))
    return {row.id: row.name for row in connection.execute(query)}
