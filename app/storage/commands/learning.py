"""Commands of learning: publish or pin a policy version, note progress, note a failure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, delete, func, select, update

from app.errors import Stale
from app.storage.commands.log import CounterChange, Logged, NewEvent, record
from app.storage.commands.outbox import notify
from app.storage.rows import (
    EpisodeStatus,
    EventKind,
    JsonObject,
    PlanRow,
    VersionRow,
    WebhookEvent,
)
from app.storage.schema import agents, episodes, knowledge, maps, plans, versions
from app.storage.upsert import insert_or_ignore, insert_or_update


@dataclass(frozen=True, slots=True)
class NoteLearned:
    """Note that an agent has learned up to an event, and left its policy in force."""

    agent: int
    expected_version: int  # of the policy that this was learned on
    learned: int
    policy_version: int
    notes: JsonObject

    def apply(self, connection: Connection) -> None:
        """Update the agent; `Stale` if it was deleted or has another policy by now."""
        query = (
            update(agents)
            .where(
                agents.c.id == self.agent,
                agents.c.deleted_at.is_(None),
                agents.c.policy_version == self.expected_version,
            )
            .values(
                learned=self.learned,
                policy_version=self.policy_version,
                notes=self.notes,
                learning_error=None,
            )
        )
        if connection.execute(query).rowcount == 0:
            raise Stale("the agent was deleted, or has another policy by now")


@dataclass(frozen=True, slots=True)
class PublishPolicy:
    """Store a policy version: its plans, what the agent knows, and that it is in force."""

    learned: NoteLearned
    version: VersionRow
    plans: Sequence[PlanRow]
    insight: bytes | None
    snapshot: bytes | None  # None keeps the previous one
    snapshot_event: int
    map: bytes | None = None  # of what it believes, where one is kept of this version
    replaces: bool = False  # plans of this version that could not be read

    def apply(self, connection: Connection) -> Logged:
        """Check the version in force first; then store all of it in one transaction."""
        self.learned.apply(connection)
        agent = self.learned.agent
        if self.replaces:
            numbers = [plan.episode for plan in self.plans]
            DiscardPlans(agent, self.version.version, numbers).apply(connection)
        insert_or_ignore(connection, plans, [asdict(plan) for plan in self.plans])
        insert_or_ignore(connection, versions, [asdict(self.version)])
        if self.map is not None:
            version, labels = self.version.version, self.version.labels
            kept_map = {"agent": agent, "version": version, "labels": labels, "map": self.map}
            insert_or_ignore(connection, maps, [kept_map])
        known = {
            "agent": agent,
            "snapshot": self.snapshot,
            "snapshot_event": self.snapshot_event,
            "insight": self.insight,
        }
        kept = [] if self.snapshot is None else ["snapshot", "snapshot_event"]
        insert_or_update(connection, knowledge, known, ["insight", *kept])
        at, number = self.version.at, self.learned.policy_version
        notify(connection, WebhookEvent.policy_replaced, agent, at, policy_version=number)
        event = NewEvent(EventKind.policy, at, policy_version=number)
        return record(connection, agent, CounterChange(), [event])


@dataclass(frozen=True, slots=True)
class DropOldPlans:
    """Remove the plans of earlier versions that neither an episode nor the agent is pinned to."""

    agent: int
    version: int

    def apply(self, connection: Connection) -> None:
        """Delete the rows."""
        pinned = (
            select(episodes.c.number)
            .where(
                episodes.c.agent == plans.c.agent,
                episodes.c.status == EpisodeStatus.running,
                episodes.c.policy_version == plans.c.version,
                episodes.c.plan == plans.c.episode,
            )
            .exists()
        )
        kept = select(func.coalesce(agents.c.pinned_version, -1)).where(agents.c.id == self.agent)
        connection.execute(
            delete(plans).where(
                plans.c.agent == self.agent,
                plans.c.version < self.version,
                plans.c.version != kept.scalar_subquery(),
                ~pinned,
            )
        )


@dataclass(frozen=True, slots=True)
class PinPolicy:
    """Pin an agent to a policy version with its plans; None unpins it."""

    agent: int
    version: int | None
    plans: Sequence[PlanRow]
    at: int

    def apply(self, connection: Connection) -> Logged:
        """Store the plans that are missing, and the pin."""
        if self.plans:
            insert_or_ignore(connection, plans, [asdict(plan) for plan in self.plans])
        query = update(agents).where(agents.c.id == self.agent, agents.c.deleted_at.is_(None))
        if connection.execute(query.values(pinned_version=self.version)).rowcount == 0:
            raise Stale("the agent was deleted")
        kind = EventKind.unpinned if self.version is None else EventKind.pinned
        event = NewEvent(kind, self.at, policy_version=self.version)
        return record(connection, self.agent, CounterChange(), [event])


@dataclass(frozen=True, slots=True)
class NoteFailure:
    """Note why an agent's last learning job failed."""

    agent: int
    reason: str
    at: int

    def apply(self, connection: Connection) -> None:
        """Update the agent. Webhooks are told of the first failure of several."""
        one = (agents.c.id == self.agent) & agents.c.deleted_at.is_(None)
        before = connection.execute(select(agents.c.learning_error).where(one)).one_or_none()
        connection.execute(update(agents).where(one).values(learning_error=self.reason))
        if before is not None and before.learning_error is None:
            kind = WebhookEvent.learning_failed
            notify(connection, kind, self.agent, self.at, reason=self.reason)


@dataclass(frozen=True, slots=True)
class DiscardPlans:
    """Remove plans that cannot be read, so that learning stores them again."""

    agent: int
    version: int
    episodes: Sequence[int]

    def apply(self, connection: Connection) -> None:
        """Delete the rows."""
        connection.execute(
            delete(plans).where(
                plans.c.agent == self.agent,
                plans.c.version == self.version,
                plans.c.episode.in_(self.episodes),
            )
        )
