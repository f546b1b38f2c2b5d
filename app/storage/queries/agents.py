"""Queries of agents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Table, and_, func, or_, select

from app.storage.backend import backend_in_use
from app.storage.queries.policies import plan_rows
from app.storage.rows import (
    LABEL_KINDS,
    AgentRow,
    EpisodeMode,
    EpisodeStatus,
    GuidelinesRow,
    PlanRow,
    columns_of,
    typed,
    typed_or_none,
)
from app.storage.schema import OWNED, agents, episodes, events, guidelines, steps, versions

SPARK_POINTS = 16
_RECENT = 10  # durations that tell how long learning and playing take

_all = select(*columns_of(AgentRow, agents))
alive = agents.c.deleted_at.is_(None)


def agent_row(connection: Connection, agent: int) -> AgentRow | None:
    """An agent that was not deleted."""
    query = _all.where(agents.c.id == agent, alive)
    return typed_or_none(AgentRow, connection.execute(query).one_or_none())


@dataclass(frozen=True, slots=True)
class StoredAgent:
    """An agent with the plans in force, and how long it has taken lately, oldest first."""

    row: AgentRow
    plans: list[PlanRow]
    pinned_plans: list[PlanRow]
    learning_seconds: list[float]
    episode_seconds: list[float]


def stored_agent(connection: Connection, agent: int) -> StoredAgent | None:
    """An agent that was not deleted, with the plans in force."""
    row = agent_row(connection, agent)
    if row is None:
        return None
    return StoredAgent(
        row,
        plan_rows(connection, agent, row.policy_version),
        [] if row.pinned_version is None else plan_rows(connection, agent, row.pinned_version),
        _learning_seconds(connection, agent),
        _episode_seconds(connection, agent),
    )


def _learning_seconds(connection: Connection, agent: int) -> list[float]:
    """How long the last policy versions took to learn."""
    query = select(versions.c.seconds).where(versions.c.agent == agent)
    found = connection.execute(query.order_by(versions.c.version.desc()).limit(_RECENT)).scalars()
    return list(found)[::-1]


def _episode_seconds(connection: Connection, agent: int) -> list[float]:
    """How long the last episodes took to play."""
    query = (
        select(episodes.c.created_at, episodes.c.finished_at)
        .where(
            episodes.c.agent == agent,
            episodes.c.plan.is_not(None),
            episodes.c.finished_at.is_not(None),
            episodes.c.status != EpisodeStatus.abandoned,
        )
        .order_by(episodes.c.number.desc())
        .limit(_RECENT)
    )
    found = connection.execute(query).all()
    return [max(0, row.finished_at - row.created_at) / 1000 for row in reversed(found)]


def guidelines_rows(connection: Connection, agent: int) -> list[GuidelinesRow]:
    """Every version of an agent's question and guidelines, oldest first."""
    query = select(*columns_of(GuidelinesRow, guidelines)).where(guidelines.c.agent == agent)
    return typed(GuidelinesRow, connection.execute(query.order_by(guidelines.c.version)).all())


AgentSet = frozenset[int] | None
"""The agents that a query is about, by number; None for all of them."""


def among(chosen: AgentSet) -> ColumnElement[bool]:
    """The condition that an agent is one of the chosen ones and was not deleted."""
    return alive if chosen is None else and_(alive, agents.c.id.in_(sorted(chosen)))


def agent_page(connection: Connection, chosen: AgentSet, after: int, limit: int) -> list[AgentRow]:
    """Agents in the order they were created."""
    query = _all.where(agents.c.position > after, among(chosen)).order_by(agents.c.position)
    return typed(AgentRow, connection.execute(query.limit(limit)).all())


def newest_agents(
    connection: Connection, chosen: AgentSet, offset: int, limit: int, name: str = ""
) -> tuple[list[AgentRow], int]:
    """Some agents, the newest first, and how many there are; with ``name`` in their name."""
    where: list[ColumnElement[bool]] = [among(chosen)]
    if name:
        where.append(agents.c.name.icontains(name, autoescape=True))
    total = connection.execute(select(func.count()).select_from(agents).where(*where)).scalar()
    query = _all.where(*where).order_by(agents.c.position.desc()).offset(offset).limit(limit)
    return typed(AgentRow, connection.execute(query).all()), total or 0


def is_readable(connection: Connection) -> bool:
    """Whether the database answers."""
    connection.execute(select(agents.c.id).limit(1)).all()
    return True


def agents_behind(connection: Connection) -> list[int]:
    """Agents that were learning when the server stopped.

    Episodes that only finished do not count: they are learned from at the next label or start, as
    they would have been without the stop.
    """
    asks = or_(
        and_(events.c.kind.in_(LABEL_KINDS), episodes.c.mode != EpisodeMode.evaluate),
        episodes.c.mode == EpisodeMode.imported,
    )
    asks_to_learn = (
        select(events.c.number)
        .join(
            episodes,
            (episodes.c.agent == events.c.agent) & (episodes.c.number == events.c.episode),
        )
        .where(events.c.agent == agents.c.id, events.c.number > agents.c.learned, asks)
        .exists()
    )
    query = select(agents.c.id).where(agents.c.learned < agents.c.last_lesson, asks_to_learn, alive)
    return list(connection.execute(query).scalars())


def agents_deleted(connection: Connection) -> list[tuple[int, int]]:
    """Deleted agents whose rows are still there, with the number of their episodes."""
    query = select(agents.c.id, agents.c.episodes).where(agents.c.deleted_at.is_not(None))
    return [(row.id, row.episodes) for row in connection.execute(query)]


def agents_gone(connection: Connection) -> list[tuple[int, int]]:
    """Agents whose row is deleted but that still have rows in other tables.

    Each has the number of its episodes. Agents are found with one index lookup each, without
    reading their steps.
    """
    known = set(connection.execute(select(agents.c.id)).scalars())
    ownerless: set[int] = set()
    for table in OWNED:
        last = -1
        while (found := _next_agent(connection, table, last)) is not None:
            ownerless |= {found} - known
            last = found
    return [(agent, _episodes_with_steps(connection, agent)) for agent in sorted(ownerless)]


def _next_agent(connection: Connection, table: Table, last: int) -> int | None:
    query = select(func.min(table.c.agent)).where(table.c.agent > last)
    found: int | None = connection.execute(query).scalar()
    return found


def _episodes_with_steps(connection: Connection, agent: int) -> int:
    query = select(func.max(steps.c.episode) + 1).where(steps.c.agent == agent)
    return connection.execute(query).scalar() or 0


def agents_waiting(connection: Connection, chosen: AgentSet, limit: int) -> list[int]:
    """Agents with episodes that wait for a label."""
    query = select(agents.c.id).where(agents.c.awaiting_label > 0, among(chosen)).limit(limit)
    return list(connection.execute(query).scalars())


def waiting_counts(
    connection: Connection, chosen: AgentSet, limit: int
) -> list[tuple[int, str, int]]:
    """(agent, name, episodes that wait) of the agents with the most episodes that wait."""
    query = (
        select(agents.c.id, agents.c.name, agents.c.awaiting_label)
        .where(agents.c.awaiting_label > 0, among(chosen))
        .order_by(agents.c.awaiting_label.desc(), agents.c.id)
        .limit(limit)
    )
    return [(row.id, row.name, row.awaiting_label) for row in connection.execute(query)]


def existing(connection: Connection, chosen: Collection[int]) -> set[int]:
    """Those of some agents that exist."""
    query = select(agents.c.id).where(among(frozenset(chosen)))
    return set(connection.execute(query).scalars())


def count_waiting(connection: Connection, chosen: AgentSet) -> int:
    """How many episodes wait for a label."""
    query = select(func.sum(agents.c.awaiting_label)).where(among(chosen))
    return connection.execute(query).scalar() or 0


def names_of(connection: Connection, chosen: Sequence[int]) -> dict[int, str]:
    """The names of some agents."""
    query = select(agents.c.id, agents.c.name).where(agents.c.id.in_(chosen))
    return {row.id: row.name for row in connection.execute(query)}


def sparks(connection: Connection, chosen: Sequence[int]) -> dict[int, list[tuple[int, int, int]]]:
    """(part, labels, good labels) of some agents, each agent's episodes in at most 16 parts."""
    part = episodes.c.number * SPARK_POINTS // agents.c.episodes
    query = (
        select(
            episodes.c.agent,
            part.label("part"),
            func.count().label("labels"),
            func.sum(episodes.c.label).label("good"),
        )
        .join(agents, agents.c.id == episodes.c.agent)
        .where(episodes.c.agent.in_(chosen), episodes.c.status == EpisodeStatus.labelled)
        .group_by(episodes.c.agent, part)
        .order_by(episodes.c.agent, part)
    )
    found: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for row in connection.execute(query):
        found[row.agent].append((row.part, row.labels, row.good))
    return dict(found)


def horizons(connection: Connection, chosen: Collection[int]) -> dict[int, int]:
    """The horizons of some agents that were not deleted; damaged agents are left out."""
    horizon = agents.c.specification["horizon"].as_integer().label("horizon")
    is_valid = backend_in_use(connection).is_valid_json(agents.c.specification)
    query = select(agents.c.id, horizon).where(agents.c.id.in_(chosen), alive, is_valid)
    found = connection.execute(query)
    return {row.id: row.horizon for row in found if isinstance(row.horizon, int)}
