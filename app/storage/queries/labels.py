"""Queries of labels: an episode's history, the labels in force, who has labelled what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    func,
    literal_column,
    null,
    or_,
    select,
)

from app.storage.queries.agents import AgentSet, alive, among, count_waiting
from app.storage.rows import EpisodeMode, EpisodeStatus, LabelRow, columns_of, typed
from app.storage.schema import agents, episodes, labels

_all = select(*columns_of(LabelRow, labels))
_newer = labels.alias("newer")
# The last entry of its slot. The maximum is looked up by an index for each row; an EXISTS may be
# planned as a join of all labels of an agent with each other.
_newest = labels.c.id == (
    select(func.max(_newer.c.id))
    .where(
        _newer.c.agent == labels.c.agent,
        _newer.c.episode == labels.c.episode,
        _newer.c.slot == labels.c.slot,
    )
    .scalar_subquery()
)
_in_force = and_(labels.c.label.is_not(None), _newest)
_answered = and_(or_(labels.c.label.is_not(None), labels.c.cannot_tell), _newest)
_of_episode = and_(labels.c.agent == episodes.c.agent, labels.c.episode == episodes.c.number)


@dataclass(frozen=True, slots=True)
class LabelInForce:
    """A label in force with its episode.

    ``outcome`` is the label of the episode, None while more labels are wanted.
    """

    number: int
    label: int
    mode: EpisodeMode
    outcome: int | None


def label_rows(connection: Connection, agent: int, number: int) -> list[LabelRow]:
    """The label history of an episode, oldest first."""
    return label_rows_of(connection, agent, [number])[number]


def label_rows_of(
    connection: Connection, agent: int, numbers: Sequence[int]
) -> dict[int, list[LabelRow]]:
    """The label histories of some episodes, oldest first."""
    found: dict[int, list[LabelRow]] = {number: [] for number in numbers}
    query = _all.where(labels.c.agent == agent, labels.c.episode.in_(numbers))
    for row in typed(LabelRow, connection.execute(query.order_by(labels.c.id)).all()):
        found[row.episode].append(row)
    return found


def labels_in_force(connection: Connection, agent: int) -> list[LabelInForce]:
    """Every label of an agent that is in force and learned from, in the order of episodes."""
    query = (
        select(episodes.c.number, labels.c.label, episodes.c.mode, episodes.c.label)
        .join(episodes, _of_episode)
        .where(labels.c.agent == agent, _in_force, episodes.c.mode != EpisodeMode.evaluate)
        .order_by(labels.c.episode, labels.c.slot)
    )
    return typed(LabelInForce, connection.execute(query).all())


def newest_labels(connection: Connection, chosen: AgentSet, limit: int) -> list[LabelRow]:
    """The newest labels and withdrawals of some agents, oldest of them first, without comments."""
    columns = [
        null() if column.name == "comment" else column for column in columns_of(LabelRow, labels)
    ]
    query = (
        select(*columns)
        .join(agents, agents.c.id == labels.c.agent)
        .where(among(chosen))
        .order_by(labels.c.id.desc())
        .limit(limit)
    )
    return typed(LabelRow, connection.execute(query).all())[::-1]


def count_answers(connection: Connection, labeller: str | None, since: int) -> int:
    """How many labels and answers of a labeller, given since a time, are in force."""
    if labeller is None:
        return 0
    query = select(func.count()).select_from(labels)
    query = query.where(labels.c.at >= since, labels.c.labeller == labeller, _answered)
    return connection.execute(query).scalar() or 0


def judged_by(
    connection: Connection, labeller: str | None, among: Collection[tuple[int, int]]
) -> set[tuple[int, int]]:
    """The episodes, by (agent, number), that a labeller has answered; none without a name."""
    if labeller is None:
        return set()
    numbers: dict[int, list[int]] = defaultdict(list)
    for agent, number in among:
        numbers[agent].append(number)
    query = select(labels.c.episode).where(labels.c.labeller == labeller, _answered)
    return {
        (agent, number)
        for agent, episodes_of_agent in numbers.items()
        for number in connection.execute(
            query.where(labels.c.agent == agent, labels.c.episode.in_(episodes_of_agent))
        ).scalars()
    }


def count_left(connection: Connection, chosen: AgentSet, labeller: str | None) -> int:
    """How many episodes of some agents wait for a label that a labeller can give."""
    waiting = count_waiting(connection, chosen)
    if labeller is None:
        return waiting
    zero: ColumnElement[int] = literal_column("0")  # in the words of the partial indexes
    return waiting - sum(
        _count_judged(connection, chosen, labeller, condition)
        for condition in (
            (episodes.c.labels_given > zero,),
            (episodes.c.cannot_tell > zero, episodes.c.labels_given == zero),
        )
    )


def _count_judged(
    connection: Connection,
    chosen: AgentSet,
    labeller: str,
    condition: tuple[ColumnElement[bool], ...],
) -> int:
    """How many episodes that wait for more labels have an answer of a labeller."""
    query = _of_agents(select(func.count()), chosen).where(
        episodes.c.label.is_(None),
        *condition,
        # Not an equality, for which the larger index of statuses would be used.
        episodes.c.status.not_in([EpisodeStatus.completed, EpisodeStatus.abandoned]),
        _has_answer_of(labeller),
    )
    return connection.execute(query).scalar() or 0


def oldest_left(
    connection: Connection, chosen: AgentSet, labeller: str | None, limit: int
) -> list[tuple[int, int]]:
    """(agent, number) of the oldest episodes that wait for a label a labeller can give."""
    is_one = chosen is not None and len(chosen) == 1
    order = episodes.c.number if is_one else episodes.c.position
    query = _of_agents(select(episodes.c.agent, episodes.c.number), chosen)
    query = query.where(episodes.c.status == EpisodeStatus.awaiting_label)
    if labeller is not None:
        query = query.where(~_has_answer_of(labeller))
    found = connection.execute(query.order_by(order).limit(limit))
    return [(row.agent, row.number) for row in found]


def _of_agents(query: Select[Any], chosen: AgentSet) -> Select[Any]:
    """Limit a query to the episodes of some agents, or of all that were not deleted."""
    joined = episodes.join(agents, agents.c.id == episodes.c.agent)
    query = query.select_from(joined).where(alive)
    return query if chosen is None else query.where(episodes.c.agent.in_(sorted(chosen)))


def _has_answer_of(labeller: str) -> ColumnElement[bool]:
    return select(labels.c.id).where(_of_episode, labels.c.labeller == labeller, _answered).exists()
