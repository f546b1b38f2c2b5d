"""Queries for lists of episodes: one query for a whole page instead of one for each episode."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, func, select, tuple_, union_all

from app.storage.queries.reading import Record
from app.storage.schema import agents, episodes, journal, steps

EpisodeKey = tuple[int, int]  # agent and number


def episodes_by_key(connection: Connection, keys: Sequence[EpisodeKey]) -> dict[EpisodeKey, Record]:
    """Some episodes by (agent, number)."""
    named = tuple_(episodes.c.agent, episodes.c.number).in_(keys)
    rows = connection.execute(select(episodes).where(named))
    return {(row.agent, row.number): row for row in rows}


def step_counts(connection: Connection, keys: Sequence[EpisodeKey]) -> dict[EpisodeKey, int]:
    """How many steps some episodes have, by (agent, number)."""
    counts = dict.fromkeys(keys, 0)
    if not keys:
        return counts
    parts = union_all(
        *(
            select(table.c.agent, table.c.episode).where(
                tuple_(table.c.agent, table.c.episode).in_(keys)
            )
            for table in (steps, journal)
        )
    ).subquery()
    query = select(parts.c.agent, parts.c.episode, func.count().label("steps"))
    for row in connection.execute(query.group_by(parts.c.agent, parts.c.episode)):
        counts[row.agent, row.episode] = row.steps
    return counts


def steps_of_episodes(
    connection: Connection, keys: Sequence[EpisodeKey]
) -> dict[EpisodeKey, list[Record]]:
    """The steps of some episodes in order, by (agent, number)."""
    found: dict[EpisodeKey, list[Record]] = {key: [] for key in keys}
    query = union_all(
        *(
            select(
                table.c.agent,
                table.c.episode,
                table.c.step,
                table.c.state,
                table.c.action,
                table.c.observation,
            ).where(tuple_(table.c.agent, table.c.episode).in_(keys))
            for table in (steps, journal)
        )
    )
    for row in connection.execute(query.order_by("agent", "episode", "step")):
        found[row.agent, row.episode].append(row)
    return found


def horizons(connection: Connection, chosen: Collection[int]) -> dict[int, int]:
    """The horizons of some agents, without deleted ones."""
    horizon = agents.c.specification["horizon"].as_integer().label("horizon")
    query = select(agents.c.id, horizon).where(
        agents.c.id.in_(chosen), agents.c.deleted_at.is_(None)
    )
    return {row.id: row.horizon for row in connection.execute(query)}
