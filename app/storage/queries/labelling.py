"""What is known of labels: an episode's history, an agent's verdicts, what somebody has judged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    func,
    literal_column,
    select,
)

from app.storage.queries.reading import Record, count_waiting
from app.storage.schema import agents, episodes, labels

_newer = labels.alias("newer")
_holds = and_(  # the last word of its voice, and no withdrawal
    labels.c.label.is_not(None),
    ~select(_newer.c.id)
    .where(
        _newer.c.agent == labels.c.agent,
        _newer.c.episode == labels.c.episode,
        _newer.c.voice == labels.c.voice,
        _newer.c.id > labels.c.id,
    )
    .exists(),
)
_of_episode = and_(labels.c.agent == episodes.c.agent, labels.c.episode == episodes.c.number)


def label_rows(connection: Connection, agent: int, number: int) -> Sequence[Record]:
    """The labels that an episode has had, oldest first."""
    return label_rows_of(connection, agent, [number])[number]


def label_rows_of(
    connection: Connection, agent: int, numbers: Sequence[int]
) -> dict[int, list[Record]]:
    """The labels that some episodes have had, oldest first."""
    found: dict[int, list[Record]] = {number: [] for number in numbers}
    query = select(labels).where(labels.c.agent == agent, labels.c.episode.in_(numbers))
    for row in connection.execute(query.order_by(labels.c.id)):
        found[row.episode].append(row)
    return found


def verdicts_of(connection: Connection, agent: int) -> Sequence[Record]:
    """(number, label, mode, outcome) of every verdict that holds, in the order of episodes.

    ``outcome`` is the label that its episode has come to, null while more verdicts are wanted.
    """
    query = (
        select(
            episodes.c.number, labels.c.label, episodes.c.mode, episodes.c.label.label("outcome")
        )
        .join(episodes, _of_episode)
        .where(labels.c.agent == agent, _holds)
        .order_by(labels.c.episode, labels.c.voice)
    )
    return connection.execute(query).all()


def judged_by(
    connection: Connection, labeller: str | None, among: Collection[tuple[int, int]]
) -> set[tuple[int, int]]:
    """Which of some episodes, by (agent, number), have a verdict of a labeller, if named."""
    if labeller is None:
        return set()
    numbers: dict[int, list[int]] = defaultdict(list)
    for agent, number in among:
        numbers[agent].append(number)
    query = select(labels.c.episode).where(labels.c.labeller == labeller, _holds)
    return {
        (agent, number)
        for agent, some in numbers.items()
        for number in connection.execute(
            query.where(labels.c.agent == agent, labels.c.episode.in_(some))
        ).scalars()
    }


def count_left(connection: Connection, agent: int | None, labeller: str | None) -> int:
    """How many episodes wait for a verdict that somebody can give, at one agent or at all."""
    waiting = count_waiting(connection, agent)
    if labeller is None:
        return waiting
    half_judged = (  # as the index of these says it
        episodes.c.label.is_(None),
        episodes.c.verdicts > literal_column("0"),
        episodes.c.label_required,
    )
    query = _of_agents(select(func.count()), agent).where(*half_judged, _has_verdict_of(labeller))
    return waiting - (connection.execute(query).scalar() or 0)


def oldest_left(
    connection: Connection, agent: int | None, labeller: str | None, limit: int
) -> list[tuple[int, int]]:
    """(agent, number) of the oldest episodes that wait for a verdict that somebody can give."""
    order = episodes.c.created_at if agent is None else episodes.c.number
    query = _of_agents(select(episodes.c.agent, episodes.c.number), agent)
    query = query.where(episodes.c.status == "awaiting_label")
    if labeller is not None:
        query = query.where(~_has_verdict_of(labeller))
    found = connection.execute(query.order_by(order).limit(limit))
    return [(row.agent, row.number) for row in found]


def _of_agents(query: Select[Any], agent: int | None) -> Select[Any]:
    """Of the episodes of one agent or of all, unless they were deleted."""
    own = episodes.join(agents, agents.c.id == episodes.c.agent)
    query = query.select_from(own).where(agents.c.deleted_at.is_(None))
    return query if agent is None else query.where(episodes.c.agent == agent)


def _has_verdict_of(labeller: str) -> ColumnElement[bool]:
    return select(labels.c.id).where(_of_episode, labels.c.labeller == labeller, _holds).exists()
