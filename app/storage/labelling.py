"""What is known of labels: an episode's history, an agent's verdicts, what somebody has judged."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, and_, literal_column, select

from app.storage.reading import Record, count_waiting
from app.storage.tables import agents, episodes, labels

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
    connection: Connection, agent: int | None, labeller: str | None
) -> set[tuple[int, int]]:
    """(agent, number) of what waits for more verdicts and has those of a labeller, if named."""
    if labeller is None:
        return set()
    own = select(labels.c.id).where(_of_episode, labels.c.labeller == labeller, _holds).exists()
    query = (  # of all agents: what is half judged has an index, and there is not much of it
        select(episodes.c.agent, episodes.c.number)
        .join(agents, agents.c.id == episodes.c.agent)
        .where(
            agents.c.deleted_at.is_(None),
            episodes.c.label.is_(None),
            episodes.c.verdicts > literal_column("0"),
            episodes.c.label_required,
            own,
        )
    )
    found = connection.execute(query)
    return {(row.agent, row.number) for row in found if agent in (None, row.agent)}


def count_left(connection: Connection, agent: int | None, labeller: str | None) -> int:
    """How many episodes wait for a verdict that somebody can give, at one agent or at all."""
    return count_waiting(connection, agent) - len(judged_by(connection, agent, labeller))
