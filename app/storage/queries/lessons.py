"""What a learning job reads: an agent's specification, its log of events, its episodes' steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, select

from app.storage.schema import agents, episodes, events, knowledge, plans
from app.storage.sqlite.journal import all_steps

LESSONS = ("finished", "reported", "abandoned", "labelled", "withdrawn")  # kinds of events
_PENDING = 32  # running episodes whose plans a new plan heeds; more change little


Record = Row[*tuple[Any, ...]]


class Played(NamedTuple):
    """The rows of one episode."""

    states: NDArray[np.int64]
    actions: NDArray[np.int64]
    observations: list[Any]
    final: int | None
    final_observation: list[float] | None
    ended: bool
    version: int  # of the policy that played it
    plan: int | None  # the episode that its plan was made for; None where it has none


def read_specification(connection: Connection, agent: int) -> dict[str, Any] | None:
    """The specification of an agent, unless it is gone."""
    query = select(agents.c.specification).where(
        agents.c.id == agent, agents.c.deleted_at.is_(None)
    )
    found: dict[str, Any] | None = connection.execute(query).scalar()
    return found


def read_position(connection: Connection, agent: int) -> tuple[int, int]:
    """The last event that an agent has learned from, and the version of its policy."""
    query = select(agents.c.learned, agents.c.policy_version).where(agents.c.id == agent)
    row = connection.execute(query).one()
    return row.learned, row.policy_version


def read_snapshot(connection: Connection, agent: int) -> tuple[bytes | None, int]:
    """The last snapshot of what an agent knows, and the event it was taken after."""
    query = select(knowledge.c.snapshot, knowledge.c.snapshot_event)
    row = connection.execute(query.where(knowledge.c.agent == agent)).one_or_none()
    return (None, 0) if row is None or row.snapshot is None else (row.snapshot, row.snapshot_event)


def read_lessons(connection: Connection, agent: int, after: int) -> Sequence[Record]:
    """The events after one that there is something to learn from, in order."""
    query = (
        select(events.c.number, events.c.kind, events.c.episode, events.c.value, events.c.voice)
        .where(events.c.agent == agent, events.c.number > after, events.c.kind.in_(LESSONS))
        .order_by(events.c.number)
    )
    return connection.execute(query).all()


def read_played(connection: Connection, agent: int, numbers: Iterable[int]) -> dict[int, Played]:
    """The steps and ends of some episodes, by number."""
    wanted = sorted(set(numbers))
    found: dict[int, Played] = {}
    for first in range(0, len(wanted), 500):
        found |= _read_some(connection, agent, wanted[first : first + 500])
    return found


def _read_some(connection: Connection, agent: int, numbers: list[int]) -> dict[int, Played]:
    ends = connection.execute(
        select(
            episodes.c.number,
            episodes.c.final,
            episodes.c.final_observation,
            episodes.c.ended,
            episodes.c.policy_version,
            episodes.c.plan,
        ).where(episodes.c.agent == agent, episodes.c.number.in_(numbers))
    ).all()
    rows = connection.execute(all_steps(agent, numbers).order_by("episode", "step")).all()
    found: dict[int, Played] = {}
    parts: dict[int, list[Record]] = {end.number: [] for end in ends}
    for row in rows:
        parts[row.episode].append(row)
    for end in ends:
        own = parts[end.number]
        found[end.number] = Played(
            np.array([row.state for row in own], dtype=np.int64),
            np.array([row.action for row in own], dtype=np.int64),
            [row.observation for row in own],
            end.final,
            end.final_observation,
            bool(end.ended),
            end.policy_version,
            end.plan,
        )
    return found


def read_plans_played(connection: Connection, agent: int, version: int) -> list[tuple[int, int]]:
    """The (version, episode that it was made for) of plans that were played since a version."""
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


def read_pending(connection: Connection, agent: int) -> list[bytes]:
    """The policies of the newest episodes that run now."""
    query = (
        select(plans.c.policy)
        .join(
            episodes,
            (episodes.c.agent == plans.c.agent)
            & (episodes.c.policy_version == plans.c.version)
            & (episodes.c.plan == plans.c.episode),
        )
        .where(episodes.c.agent == agent, episodes.c.status == "running")
        .order_by(episodes.c.number.desc())
        .limit(_PENDING)
    )
    return list(connection.execute(query).scalars())
