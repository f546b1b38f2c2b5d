"""Queries of episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, literal_column, or_, select, tuple_

from app.storage.queries.agents import AgentSet, alive
from app.storage.queries.labels import label_rows, label_rows_of
from app.storage.queries.steps import step_rows, steps_of
from app.storage.rows import (
    EpisodeRow,
    EpisodeStatus,
    LabelRow,
    StepRow,
    columns_of,
    typed,
    typed_or_none,
)
from app.storage.schema import agents, episodes

_all = select(*columns_of(EpisodeRow, episodes))
# Written out, because the partial indexes of overdue episodes are not used for a parameter.
_awaits_label = episodes.c.status == literal_column("'awaiting_label'")
_runs = episodes.c.status == literal_column("'running'")


def episode_row(connection: Connection, agent: int, number: int) -> EpisodeRow | None:
    """One episode."""
    query = _all.where(episodes.c.agent == agent, episodes.c.number == number)
    return typed_or_none(EpisodeRow, connection.execute(query).one_or_none())


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """An episode with its steps and its label history, as they were at one moment."""

    row: EpisodeRow
    steps: list[StepRow]
    history: list[LabelRow]


def stored_episode(connection: Connection, agent: int, number: int) -> StoredEpisode | None:
    """An episode with its steps and its label history."""
    row = episode_row(connection, agent, number)
    if row is None:
        return None
    return StoredEpisode(
        row, step_rows(connection, agent, number), label_rows(connection, agent, number)
    )


def episode_page(
    connection: Connection,
    chosen: AgentSet,
    status: str | None,
    external_id: str | None,
    newest: bool,
    after: tuple[int, int, int] | None,
    limit: int,
) -> list[EpisodeRow]:
    """Episodes in the order of their creation, of agents that were not deleted."""
    order: tuple[Any, ...] = (episodes.c.position, episodes.c.agent, episodes.c.number)
    query = _all.join(agents, agents.c.id == episodes.c.agent).where(alive)
    if chosen is not None:
        query = query.where(episodes.c.agent.in_(sorted(chosen)))
    if chosen is not None and len(chosen) == 1:
        order = (episodes.c.number,)  # which has an index with the agent
    if status is not None:
        query = query.where(episodes.c.status == EpisodeStatus(status))
    if external_id is not None:
        query = query.where(episodes.c.external_id == external_id)
    if after is not None:
        query = query.where(_beyond(order, after[-len(order) :], newest))
    query = query.order_by(*(column.desc() if newest else column for column in order))
    return typed(EpisodeRow, connection.execute(query.limit(limit)).all())


def _beyond(order: tuple[Any, ...], after: tuple[int, ...], newest: bool) -> ColumnElement[bool]:
    """Rows past ``after`` in lexicographic order."""
    ways = []
    for i, column in enumerate(order):
        same = [order[k] == after[k] for k in range(i)]
        ways.append(and_(*same, column < after[i] if newest else column > after[i]))
    return or_(*ways)


def newest_episodes(
    connection: Connection, agent: int, before: int | None, limit: int
) -> list[EpisodeRow]:
    """The newest episodes of an agent; with ``before`` of those with a lower number."""
    query = _all.where(episodes.c.agent == agent)
    if before is not None:
        query = query.where(episodes.c.number < before)
    query = query.order_by(episodes.c.number.desc()).limit(limit)
    return typed(EpisodeRow, connection.execute(query).all())


def episodes_named(
    connection: Connection, pairs: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], EpisodeRow]:
    """Some episodes by (agent, number)."""
    if not pairs:
        return {}
    query = _all.where(tuple_(episodes.c.agent, episodes.c.number).in_(pairs))
    rows = typed(EpisodeRow, connection.execute(query).all())
    return {(row.agent, row.number): row for row in rows}


def waiting_numbers(connection: Connection, agent: int, limit: int) -> list[int]:
    """The newest episodes of an agent that wait for a label."""
    query = (
        select(episodes.c.number)
        .where(
            episodes.c.agent == agent,
            episodes.c.status == EpisodeStatus.awaiting_label,
        )
        .order_by(episodes.c.number.desc())
        .limit(limit)
    )
    return list(connection.execute(query).scalars())


def episodes_due(connection: Connection, now: int, limit: int) -> list[tuple[int, int]]:
    """(agent, number) of episodes whose label is overdue."""
    query = (
        select(episodes.c.agent, episodes.c.number)
        .join(agents, agents.c.id == episodes.c.agent)
        .where(alive, _awaits_label, episodes.c.label_due <= now)
        .order_by(episodes.c.label_due)
        .limit(limit)
    )
    return [(row.agent, row.number) for row in connection.execute(query)]


def episodes_overdue(connection: Connection, now: int, limit: int) -> list[tuple[int, int]]:
    """(agent, number) of running episodes whose time is over."""
    query = (
        select(episodes.c.agent, episodes.c.number)
        .join(agents, agents.c.id == episodes.c.agent)
        .where(alive, _runs, episodes.c.running_due <= now)
        .order_by(episodes.c.running_due)
        .limit(limit)
    )
    return [(row.agent, row.number) for row in connection.execute(query)]


def judged_episodes_from(
    connection: Connection, agent: int, first: int, limit: int
) -> list[tuple[EpisodeRow, list[LabelRow]]]:
    """Episodes that somebody has judged with their label histories, from a number on."""
    judged = or_(episodes.c.labels_given > 0, episodes.c.cannot_tell > 0)
    query = _all.where(episodes.c.agent == agent, episodes.c.number >= first, judged)
    query = query.order_by(episodes.c.number).limit(limit)
    rows = typed(EpisodeRow, connection.execute(query).all())
    histories = label_rows_of(connection, agent, [row.number for row in rows])
    return [(row, histories[row.number]) for row in rows]


def stored_episodes_from(
    connection: Connection, agent: int, first: int, limit: int
) -> list[StoredEpisode]:
    """Finished episodes with their steps and label histories, from a number on."""
    query = _all.where(
        episodes.c.agent == agent,
        episodes.c.number >= first,
        episodes.c.status != EpisodeStatus.running,
    )
    query = query.order_by(episodes.c.number).limit(limit)
    rows = typed(EpisodeRow, connection.execute(query).all())
    numbers = [row.number for row in rows]
    parts = steps_of(connection, agent, numbers)
    histories = label_rows_of(connection, agent, numbers)
    return [StoredEpisode(row, parts[row.number], histories[row.number]) for row in rows]


def started_by(connection: Connection, agent: int, episode: int) -> str | None:
    """The id of the key that started an episode."""
    query = select(episodes.c.started_by)
    query = query.where(episodes.c.agent == agent, episodes.c.number == episode)
    found: str | None = connection.execute(query).scalar()
    return found
