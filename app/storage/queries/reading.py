"""What the serving process reads, beside the hot path, which reads nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, and_, func, literal_column, or_, select

from app.storage.schema import (
    agents,
    answers,
    episodes,
    events,
    keys,
    knowledge,
    plans,
    recordings,
    secrets,
    versions,
)
from app.storage.sqlite.journal import all_steps

Record = Row[*tuple[Any, ...]]

_alive = agents.c.deleted_at.is_(None)
# Spelled out, because an index of what waits is not used for a parameter.
_awaits_label = episodes.c.status == literal_column("'awaiting_label'")


def agent_row(connection: Connection, agent: int) -> Record | None:
    """An agent that was not deleted."""
    return connection.execute(select(agents).where(agents.c.id == agent, _alive)).one_or_none()


def agent_page(connection: Connection, after: int, limit: int) -> Sequence[Record]:
    """Agents in the order they were created."""
    query = select(agents).where(agents.c.position > after, _alive).order_by(agents.c.position)
    return connection.execute(query.limit(limit)).all()


def last_position(connection: Connection) -> int:
    """The position of the newest agent."""
    return connection.execute(select(func.max(agents.c.position))).scalar() or 0


def agents_behind(connection: Connection) -> list[int]:
    """Agents that were learning when the server stopped.

    Episodes that only finished do not count: they are learned from at the next label or start, as
    if nothing had happened.
    """
    asks = events.c.kind.in_(("labelled", "withdrawn")) | (episodes.c.mode == "imported")
    asked = (
        select(events.c.number)
        .join(
            episodes,
            (episodes.c.agent == events.c.agent) & (episodes.c.number == events.c.episode),
        )
        .where(events.c.agent == agents.c.id, events.c.number > agents.c.learned, asks)
        .exists()
    )
    query = select(agents.c.id).where(agents.c.learned < agents.c.last_lesson, asked, _alive)
    return list(connection.execute(query).scalars())


def agents_deleted(connection: Connection) -> list[tuple[int, int]]:
    """Deleted agents whose rows are still there, with the number of their episodes."""
    query = select(agents.c.id, agents.c.episodes).where(agents.c.deleted_at.is_not(None))
    return [(row.id, row.episodes) for row in connection.execute(query)]


def count_agents(connection: Connection) -> int:
    """How many agents there are."""
    return connection.execute(select(func.count()).select_from(agents).where(_alive)).scalar() or 0


def plan_rows(connection: Connection, agent: int, version: int) -> Sequence[Record]:
    """The plans of one version."""
    query = select(plans).where(plans.c.agent == agent, plans.c.version == version)
    return connection.execute(query.order_by(plans.c.episode)).all()


def plan_row(connection: Connection, agent: int, version: int, episode: int) -> Record | None:
    """One plan."""
    query = select(plans).where(
        plans.c.agent == agent, plans.c.version == version, plans.c.episode == episode
    )
    return connection.execute(query).one_or_none()


def version_row(connection: Connection, agent: int, version: int) -> Record | None:
    """What is known of one version."""
    query = select(versions).where(versions.c.agent == agent, versions.c.version == version)
    return connection.execute(query).one_or_none()


def version_rows(connection: Connection, agent: int) -> Sequence[Record]:
    """Every version there has been, oldest first."""
    query = select(versions).where(versions.c.agent == agent).order_by(versions.c.version)
    return connection.execute(query).all()


def insight_bytes(connection: Connection, agent: int) -> bytes | None:
    """The tables to explain with."""
    query = select(knowledge.c.insight).where(knowledge.c.agent == agent)
    found: bytes | None = connection.execute(query).scalar()
    return found


def episode_row(connection: Connection, agent: int, number: int) -> Record | None:
    """One episode."""
    query = select(episodes).where(episodes.c.agent == agent, episodes.c.number == number)
    return connection.execute(query).one_or_none()


def step_rows(connection: Connection, agent: int, number: int) -> Sequence[Record]:
    """The steps of an episode, in order."""
    query = all_steps(agent, [number])
    return connection.execute(query.order_by("step")).all()


def episode_page(
    connection: Connection,
    agent: int | None,
    status: str | None,
    external_id: str | None,
    newest: bool,
    after: tuple[int, int, int] | None,
    limit: int,
) -> Sequence[Record]:
    """Episodes by the time they were created, of agents that were not deleted."""
    order = (episodes.c.created_at, episodes.c.agent, episodes.c.number)
    query = select(episodes).join(agents, agents.c.id == episodes.c.agent).where(_alive)
    if agent is not None:
        # Within an agent numbers follow time, whatever the clock did.
        order = (episodes.c.number,)  # type: ignore[assignment]
        query = query.where(episodes.c.agent == agent)
    if status is not None:
        query = query.where(episodes.c.status == status)
    if external_id is not None:
        query = query.where(episodes.c.external_id == external_id)
    if after is not None:
        query = query.where(_beyond(order, after[-len(order) :], newest))
    query = query.order_by(*(column.desc() if newest else column for column in order))
    return connection.execute(query.limit(limit)).all()


def _beyond(order: tuple[Any, ...], after: tuple[int, ...], newest: bool) -> Any:
    """Rows past ``after`` in lexicographic order."""
    ways = []
    for i, column in enumerate(order):
        same = [order[k] == after[k] for k in range(i)]
        ways.append(and_(*same, column < after[i] if newest else column > after[i]))
    return or_(*ways)


def waiting_numbers(connection: Connection, agent: int, limit: int) -> list[int]:
    """The newest episodes of an agent that wait for a label."""
    query = (
        select(episodes.c.number)
        .where(episodes.c.agent == agent, episodes.c.status == "awaiting_label")
        .order_by(episodes.c.number.desc())
        .limit(limit)
    )
    return list(connection.execute(query).scalars())


def count_waiting(connection: Connection, agent: int | None) -> int:
    """How many episodes wait for a label, at one agent or at all."""
    query = select(func.sum(agents.c.awaiting_label)).where(_alive)
    if agent is not None:
        query = query.where(agents.c.id == agent)
    return connection.execute(query).scalar() or 0


def agents_waiting(connection: Connection, limit: int) -> list[int]:
    """Agents with episodes that wait for a label."""
    query = select(agents.c.id).where(agents.c.awaiting_label > 0, _alive).limit(limit)
    return list(connection.execute(query).scalars())


def episodes_by_number(
    connection: Connection, agent: int, numbers: Sequence[int]
) -> dict[int, Record]:
    """Some episodes of an agent."""
    query = select(episodes).where(episodes.c.agent == agent, episodes.c.number.in_(numbers))
    return {row.number: row for row in connection.execute(query)}


def episodes_due(connection: Connection, now: int, limit: int) -> list[tuple[int, int]]:
    """Episodes whose label is overdue."""
    query = (
        select(episodes.c.agent, episodes.c.number)
        .join(agents, agents.c.id == episodes.c.agent)
        .where(_alive, _awaits_label, episodes.c.label_due <= now)
        .order_by(episodes.c.label_due)
        .limit(limit)
    )
    return [(row.agent, row.number) for row in connection.execute(query)]


def episodes_from(
    connection: Connection, agent: int, first: int, limit: int
) -> Iterator[tuple[Record, list[Record]]]:
    """Finished episodes with their steps, from a number on."""
    query = select(episodes).where(
        episodes.c.agent == agent, episodes.c.number >= first, episodes.c.status != "running"
    )
    chosen = connection.execute(query.order_by(episodes.c.number).limit(limit)).all()
    numbers = [row.number for row in chosen]
    parts: dict[int, list[Record]] = {number: [] for number in numbers}
    for step in connection.execute(all_steps(agent, numbers).order_by("episode", "step")):
        parts[step.episode].append(step)
    return ((row, parts[row.number]) for row in chosen)


def event_rows(connection: Connection, agent: int, after: int, limit: int) -> Sequence[Record]:
    """Events of an agent after one, in order."""
    query = select(events).where(events.c.agent == agent, events.c.number > after)
    return connection.execute(query.order_by(events.c.number).limit(limit)).all()


def key_rows(connection: Connection) -> Sequence[Record]:
    """Every key, oldest first."""
    return connection.execute(select(keys).order_by(keys.c.created_at, keys.c.id)).all()


def answer_row(connection: Connection, scope: str, key: str) -> Record | None:
    """The answer that was given to a request with this Idempotency-Key."""
    query = select(answers).where(answers.c.scope == scope, answers.c.key == key)
    return connection.execute(query).one_or_none()


def secret(connection: Connection, name: str) -> bytes | None:
    """A secret that the server made for itself."""
    found: bytes | None = connection.execute(
        select(secrets.c.value).where(secrets.c.name == name)
    ).scalar()
    return found


def recording_row(connection: Connection, agent: int, episode: int) -> Record | None:
    """What is known of the recording of an episode, without its content."""
    query = select(recordings.c.media_type, recordings.c.size, recordings.c.at)
    own = recordings.c.agent == agent, recordings.c.episode == episode
    return connection.execute(query.where(*own)).one_or_none()


def recording_part(
    connection: Connection, agent: int, episode: int, first: int, length: int
) -> bytes | None:
    """Some bytes of a recording, from the byte ``first`` on."""
    part = func.substr(recordings.c.content, first + 1, length, type_=recordings.c.content.type)
    own = recordings.c.agent == agent, recordings.c.episode == episode
    found: bytes | None = connection.execute(select(part).where(*own)).scalar()
    return found
