"""Commands on agents: create, describe, delete, purge."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TypedDict

from sqlalchemy import BigInteger, Connection, delete, func, insert, literal, select, update

from app.errors import Stale
from app.storage.rows import JsonObject
from app.storage.schema import OWNED, agents, deliveries, guidelines, steps, webhooks

_START = dict.fromkeys(
    (
        "episodes",
        "running",
        "awaiting_label",
        "labelled",
        "completed",
        "abandoned",
        "good",
        "last_event",
        "last_lesson",
        "learned",
        "policy_version",
    ),
    0,
)


@dataclass(frozen=True, slots=True)
class CreateAgent:
    """Create an agent; it takes the next position in the list of agents."""

    id: int
    name: str
    specification: JsonObject
    metadata: JsonObject
    display: JsonObject | None
    created_at: int
    notes: JsonObject
    question: str | None = None
    guidelines: str | None = None

    def apply(self, connection: Connection) -> None:
        """Insert the row."""
        position = select(func.coalesce(func.max(agents.c.position), 0) + 1).scalar_subquery()
        values = {**asdict(self), **_START, "paused": False, "position": position}
        connection.execute(insert(agents).values(values))
        if self.question is not None or self.guidelines is not None:
            _add_guidelines(connection, self.id, self.created_at)


class AgentDescription(TypedDict, total=False):
    """What can be changed about an agent without touching its learning."""

    name: str
    metadata: JsonObject
    display: JsonObject | None
    paused: bool
    question: str | None
    guidelines: str | None
    examples: JsonObject | None


@dataclass(frozen=True, slots=True)
class DescribeAgent:
    """Set some of what describes an agent. A new question or new guidelines get a version."""

    agent: int
    changes: AgentDescription
    now: int

    def apply(self, connection: Connection) -> None:
        """Update the given columns only, so that two changes at once keep both."""
        before = _asked(connection, self.agent)
        query = update(agents).where(agents.c.id == self.agent, agents.c.deleted_at.is_(None))
        if self.changes and connection.execute(query.values(dict(self.changes))).rowcount == 0:
            raise Stale("the agent was deleted")
        if _asked(connection, self.agent) != before:
            _add_guidelines(connection, self.agent, self.now)


def _asked(connection: Connection, agent: int) -> object:
    """The question and the guidelines of an agent."""
    query = select(agents.c.question, agents.c.guidelines).where(agents.c.id == agent)
    return connection.execute(query).one_or_none()


def _add_guidelines(connection: Connection, agent: int, now: int) -> None:
    """Store the question and the guidelines in force as a new version."""
    one = agents.c.id == agent
    connection.execute(
        update(agents).where(one).values(guidelines_version=agents.c.guidelines_version + 1)
    )
    columns = agents.c.id, agents.c.guidelines_version, agents.c.question, agents.c.guidelines
    names = ("agent", "version", "question", "guidelines", "at")
    version = select(*columns, literal(now, BigInteger)).where(one)
    connection.execute(insert(guidelines).from_select(names, version))


@dataclass(frozen=True, slots=True)
class DeleteAgent:
    """Mark an agent as deleted; its rows are purged later."""

    agent: int
    now: int

    def apply(self, connection: Connection) -> None:
        """Set the time of the deletion."""
        query = update(agents).where(agents.c.id == self.agent, agents.c.deleted_at.is_(None))
        if connection.execute(query.values(deleted_at=self.now)).rowcount == 0:
            raise Stale("the agent was deleted")
        for table in (webhooks, deliveries):  # nobody is told of an agent that is gone
            connection.execute(delete(table).where(table.c.agent == self.agent))


@dataclass(frozen=True, slots=True)
class PurgeSteps:
    """Remove the steps of a deleted agent's episodes before one of them.

    Rows are deleted in parts, so that no transaction is long.
    """

    agent: int
    before_episode: int

    def apply(self, connection: Connection) -> None:
        """Delete the rows."""
        connection.execute(
            delete(steps).where(steps.c.agent == self.agent, steps.c.episode < self.before_episode)
        )


@dataclass(frozen=True, slots=True)
class PurgeAgent:
    """Remove every row of a deleted agent."""

    agent: int

    def apply(self, connection: Connection) -> None:
        """Delete the rows."""
        for table in OWNED:
            connection.execute(delete(table).where(table.c.agent == self.agent))
        connection.execute(delete(agents).where(agents.c.id == self.agent))
