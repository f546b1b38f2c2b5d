"""Queries of learning jobs: an agent's specification, its snapshot, its episodes' steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from app.storage.pieces import joined
from app.storage.queries.steps import steps_of
from app.storage.rows import (
    EpisodeRow,
    EpisodeStatus,
    JsonObject,
    StepRow,
    columns_of,
    typed,
)
from app.storage.schema import agents, episodes, knowledge, maps, plans

_PENDING = 32  # running episodes whose plans a new plan considers; more change little
_AT_ONCE = 500  # episodes read with one query


@dataclass(frozen=True, slots=True)
class PlayedEpisode:
    """An episode with its steps."""

    row: EpisodeRow
    steps: Sequence[StepRow]


def agent_specification(connection: Connection, agent: int) -> JsonObject | None:
    """The specification of an agent that was not deleted."""
    query = select(agents.c.specification).where(
        agents.c.id == agent, agents.c.deleted_at.is_(None)
    )
    found: JsonObject | None = connection.execute(query).scalar()
    return found


def policy_version(connection: Connection, agent: int) -> int:
    """The version of the policy in force."""
    query = select(agents.c.policy_version).where(agents.c.id == agent)
    version: int = connection.execute(query).scalar_one()
    return version


def labels_of_last_map(connection: Connection, agent: int) -> int | None:
    """How many labels the newest map of an agent knew; None before the first."""
    query = select(func.max(maps.c.labels)).where(maps.c.agent == agent)
    labels: int | None = connection.execute(query).scalar()
    return labels


def newest_snapshot(connection: Connection, agent: int) -> tuple[bytes | None, int]:
    """The last snapshot of what an agent knows, and the event it was taken after."""
    query = select(knowledge.c.snapshot, knowledge.c.snapshot_event)
    row = connection.execute(query.where(knowledge.c.agent == agent)).one_or_none()
    if row is None or row.snapshot is None:
        return None, 0
    return joined(connection, agent, row.snapshot), row.snapshot_event


def played_episodes(
    connection: Connection, agent: int, numbers: Iterable[int]
) -> dict[int, PlayedEpisode]:
    """Some episodes with their steps, by number and in the order of numbers."""
    wanted = sorted(set(numbers))
    found: dict[int, PlayedEpisode] = {}
    for first in range(0, len(wanted), _AT_ONCE):
        batch = wanted[first : first + _AT_ONCE]
        query = select(*columns_of(EpisodeRow, episodes)).where(
            episodes.c.agent == agent, episodes.c.number.in_(batch)
        )
        rows = typed(EpisodeRow, connection.execute(query.order_by(episodes.c.number)).all())
        parts = steps_of(connection, agent, [row.number for row in rows])
        found |= {row.number: PlayedEpisode(row, parts[row.number]) for row in rows}
    return found


def plans_played(connection: Connection, agent: int, version: int) -> list[tuple[int, int]]:
    """(version, episode that it was made for) of every plan that was played since a version."""
    query = (
        select(episodes.c.policy_version, episodes.c.plan)
        .where(
            episodes.c.agent == agent,
            episodes.c.policy_version >= version,
            episodes.c.plan.is_not(None),
        )
        .distinct()
        .order_by(episodes.c.policy_version, episodes.c.plan)
    )
    return [(row.policy_version, row.plan) for row in connection.execute(query)]


def plans_of_version(connection: Connection, agent: int, version: int) -> list[int]:
    """The episodes that the plans of a version which were played were made for."""
    query = (
        select(episodes.c.plan)
        .where(
            episodes.c.agent == agent,
            episodes.c.policy_version == version,
            episodes.c.plan.is_not(None),
        )
        .distinct()
        .order_by(episodes.c.plan)
    )
    return list(connection.execute(query).scalars())


def pending_policies(connection: Connection, agent: int) -> list[bytes]:
    """The packed policies of the newest running episodes."""
    query = (
        select(plans.c.policy)
        .join(
            episodes,
            (episodes.c.agent == plans.c.agent)
            & (episodes.c.policy_version == plans.c.version)
            & (episodes.c.plan == plans.c.episode),
        )
        .where(episodes.c.agent == agent, episodes.c.status == EpisodeStatus.running)
        .order_by(episodes.c.number.desc())
        .limit(_PENDING)
    )
    return [joined(connection, agent, policy) for policy in connection.execute(query).scalars()]
