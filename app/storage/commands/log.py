"""An agent's event log and its counters: numbers are handed out here, in the transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, bindparam, case, insert, update

from app.errors import Stale
from app.storage.rows import (
    LEARNED_KINDS,
    AgentCounters,
    EpisodeStatus,
    EventKind,
    EventRow,
    columns_of,
)
from app.storage.schema import agents, events


@dataclass(frozen=True, slots=True)
class CounterChange:
    """What a change adds to the counters of an agent."""

    episodes: int = 0
    running: int = 0
    awaiting_label: int = 0
    labelled: int = 0
    completed: int = 0
    abandoned: int = 0
    good: int = 0

    def moved(self, before: EpisodeStatus | None, after: EpisodeStatus) -> CounterChange:
        """The change plus one episode that moves from the status ``before`` to ``after``."""
        if before == after:
            return self
        counts = asdict(self)
        counts[after.value] += 1
        if before is not None:
            counts[before.value] -= 1
        return CounterChange(**counts)


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event before the log has given it a number; see `EventRow`.

    ``teaches`` is not stored; queries derive it from the episode.
    """

    kind: EventKind
    at: int
    episode: int | None = None
    slot: int | None = None
    label: int | None = None
    final_known: bool | None = None
    policy_version: int | None = None
    teaches: bool = True  # false if the agent must not learn from it, as in an evaluation

    @property
    def is_lesson(self) -> bool:
        """Whether the agent learns from it."""
        return self.teaches and self.kind in LEARNED_KINDS

    def numbered(self, agent: int, number: int) -> EventRow:
        """The event as an entry of an agent's log."""
        return EventRow(
            agent,
            number,
            self.kind,
            self.episode,
            self.slot,
            self.label,
            self.final_known,
            self.policy_version,
            self.at,
        )


@dataclass(frozen=True, slots=True)
class Logged:
    """What a change added to an agent's log, and the agent's counters after it."""

    events: Sequence[EventRow]
    counters: AgentCounters


_COUNTED = ("episodes", "running", "awaiting_label", "labelled", "completed", "abandoned", "good")
_COUNT = (
    update(agents)
    .where(agents.c.id == bindparam("agent_id"), agents.c.deleted_at.is_(None))
    .values(
        **{name: agents.c[name] + bindparam(f"add_{name}") for name in _COUNTED},
        last_event=agents.c.last_event + bindparam("add_events"),
        last_lesson=case(
            (bindparam("teaches"), agents.c.last_event + bindparam("add_events")),
            else_=agents.c.last_lesson,
        ),
    )
    .returning(*columns_of(AgentCounters, agents))
)
_ADD_EVENTS = insert(events)


def count(
    connection: Connection, agent: int, change: CounterChange, new_events: int, teaches: bool
) -> AgentCounters:
    """Add to the counters of an agent; `Stale` if it was deleted.

    ``teaches`` says that one of the new events is to be learned from.
    """
    values = {f"add_{name}": value for name, value in asdict(change).items()}
    row = connection.execute(
        _COUNT, values | {"agent_id": agent, "add_events": new_events, "teaches": teaches}
    ).one_or_none()
    if row is None:
        raise Stale("the agent was deleted")
    return AgentCounters(*row)


def record(
    connection: Connection, agent: int, change: CounterChange, new_events: Sequence[NewEvent]
) -> Logged:
    """Append events to an agent's log and add to its counters."""
    teaches = any(event.is_lesson for event in new_events)
    counters = count(connection, agent, change, len(new_events), teaches)
    first = counters.last_event - len(new_events) + 1
    numbered = [event.numbered(agent, first + i) for i, event in enumerate(new_events)]
    if numbered:
        connection.execute(_ADD_EVENTS, [asdict(event) for event in numbered])
    return Logged(numbered, counters)
