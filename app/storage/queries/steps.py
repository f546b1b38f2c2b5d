"""Queries of steps."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, func, select, tuple_

from app.storage.rows import StepRow, typed
from app.storage.schema import step_details, steps

_all = select(
    steps.c.agent,
    steps.c.episode,
    steps.c.step,
    steps.c.state,
    func.coalesce(step_details.c.executed, steps.c.action),
    steps.c.observation,
    steps.c.action,
    step_details.c.actor,
    step_details.c.allowed,
).outerjoin_from(
    steps,
    step_details,
    (step_details.c.agent == steps.c.agent)
    & (step_details.c.episode == steps.c.episode)
    & (step_details.c.step == steps.c.step),
)
"""The columns of `StepRow`."""


def step_rows(connection: Connection, agent: int, number: int) -> list[StepRow]:
    """The steps of an episode, in order."""
    return steps_of(connection, agent, [number])[number]


def steps_of(
    connection: Connection, agent: int, numbers: Sequence[int]
) -> dict[int, list[StepRow]]:
    """The steps of some episodes of an agent, in order, by episode."""
    found: dict[int, list[StepRow]] = {number: [] for number in numbers}
    query = _all.where(steps.c.agent == agent, steps.c.episode.in_(numbers))
    rows = connection.execute(query.order_by(steps.c.episode, steps.c.step)).all()
    for row in typed(StepRow, rows):
        found[row.episode].append(row)
    return found


def lengths_of(
    connection: Connection, pairs: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], int]:
    """How many steps some episodes have, by (agent, number); those without any are left out."""
    if not pairs:
        return {}
    query = (
        select(steps.c.agent, steps.c.episode, func.count().label("length"))
        .where(tuple_(steps.c.agent, steps.c.episode).in_(pairs))
        .group_by(steps.c.agent, steps.c.episode)
    )
    return {(row.agent, row.episode): row.length for row in connection.execute(query)}


def steps_of_episodes(
    connection: Connection, pairs: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], list[StepRow]]:
    """The steps of some episodes in order, by (agent, number)."""
    found: dict[tuple[int, int], list[StepRow]] = {pair: [] for pair in pairs}
    query = _all.where(tuple_(steps.c.agent, steps.c.episode).in_(pairs))
    rows = connection.execute(query.order_by(steps.c.agent, steps.c.episode, steps.c.step)).all()
    for row in typed(StepRow, rows):
        found[row.agent, row.episode].append(row)
    return found
