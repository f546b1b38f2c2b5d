"""Commands on episodes: start, end, report the final state, import."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain

from sqlalchemy import Connection, Update, bindparam, delete, func, insert, select, update

from app.errors import Stale
from app.storage.backend import backend_in_use
from app.storage.commands.log import CounterChange, Logged, NewEvent, count, record
from app.storage.commands.outbox import notify, notify_waiting
from app.storage.rows import (
    Actor,
    AgentCounters,
    EpisodeMode,
    EpisodeStatus,
    JsonObject,
    LabelRow,
    StepDetail,
    WebhookEvent,
)
from app.storage.schema import episodes, labels, step_details, steps
from app.storage.unit_of_work import StepTuple

_LAST_POSITION = select(func.coalesce(func.max(episodes.c.position), 0))


def _next_position(connection: Connection) -> int:
    """The position of the next episode among those of all agents."""
    last: int = connection.execute(_LAST_POSITION).scalar_one()
    return last + 1


def step_tuple(
    agent: int, episode: int, step: int, index: int, action: int, state: object
) -> StepTuple:
    """A step for the driver; the observation is stored where the state is a list of numbers."""
    observation = json.dumps(state) if isinstance(state, list) else None
    return agent, episode, step, index, action, observation


@dataclass(frozen=True, slots=True)
class NewEpisode:
    """An episode that starts, without the number that the log gives it."""

    external_id: str | None
    mode: EpisodeMode
    label_required: bool
    policy_version: int
    plan: int | None
    labels_wanted: int
    metadata: JsonObject
    created_at: int
    started_by: str | None = None  # the id of the key
    learn_transitions: bool = True
    running_due: int | None = None


@dataclass(frozen=True, slots=True)
class StartedEpisode:
    """The number of a started episode, and the agent's counters after it."""

    number: int
    counters: AgentCounters


@dataclass(frozen=True, slots=True)
class StartEpisode:
    """Start the next episode of an agent.

    ``decide`` gives the episode its plan once its number is known. It must be a pure function.
    """

    agent: int
    decide: Callable[[int], NewEpisode]

    def apply(self, connection: Connection) -> StartedEpisode:
        """Take the next number and insert the row."""
        change = CounterChange(episodes=1, running=1)
        counters = count(connection, self.agent, change, new_events=0, teaches=False)
        number = counters.episodes - 1
        key = {"agent": self.agent, "number": number, "position": _next_position(connection)}
        fixed = {"status": EpisodeStatus.running, "ended": False, "labels_given": 0}
        connection.execute(insert(episodes), asdict(self.decide(number)) | key | fixed)
        return StartedEpisode(number, counters)


def change_of(*columns: str) -> Update:
    """An update of some columns of one episode that checks and raises its version."""
    return (
        update(episodes)
        .where(
            episodes.c.agent == bindparam("the_agent"),
            episodes.c.number == bindparam("the_number"),
            episodes.c.version == bindparam("the_version"),
        )
        .values(
            version=episodes.c.version + 1,
            **{name: bindparam(f"new_{name}", type_=episodes.c[name].type) for name in columns},
        )
    )


def change_episode(
    connection: Connection,
    statement: Update,
    agent: int,
    number: int,
    version: int,
    **values: object,
) -> None:
    """Run an update from `change_of`. Raises `Stale` if the episode has another version."""
    found = {"the_agent": agent, "the_number": number, "the_version": version}
    new = {f"new_{name}": value for name, value in values.items()}
    if connection.execute(statement, found | new).rowcount == 0:
        raise Stale("the episode has changed")


_END_COLUMNS = (
    "status",
    "length",
    "ended",
    "final",
    "final_observation",
    "label_due",
    "finished_at",
)
_END = change_of(*_END_COLUMNS)


@dataclass(frozen=True, slots=True)
class EndEpisode:
    """End a running episode: finished, or abandoned."""

    agent: int
    number: int
    version: int  # that this was decided from
    status: EpisodeStatus
    length: int
    ended: bool
    final: int | None
    final_observation: list[float] | None
    label_due: int | None
    finished_at: int
    event: NewEvent

    def apply(self, connection: Connection) -> Logged:
        """Update the episode and append to the log."""
        values = {name: getattr(self, name) for name in _END_COLUMNS}
        change_episode(connection, _END, self.agent, self.number, self.version, **values)
        change = CounterChange().moved(EpisodeStatus.running, self.status)
        waiting = change.awaiting_label
        notify_waiting(connection, self.agent, self.number, self.finished_at, waiting)
        return record(connection, self.agent, change, [self.event])


_REPORT = change_of("ended", "final", "final_observation")


@dataclass(frozen=True, slots=True)
class ReportFinal:
    """Report the state that the last step before the horizon led to, where it is known."""

    agent: int
    number: int
    version: int
    ended: bool
    final: int | None
    final_observation: list[float] | None
    event: NewEvent

    def apply(self, connection: Connection) -> Logged:
        """Update the episode and append to the log."""
        change_episode(
            connection,
            _REPORT,
            self.agent,
            self.number,
            self.version,
            ended=self.ended,
            final=self.final,
            final_observation=self.final_observation,
        )
        return record(connection, self.agent, CounterChange(), [self.event])


@dataclass(frozen=True, slots=True)
class ImportedDetail:
    """A detail of a step, without its episode; see `StepDetail`."""

    step: int
    actor: Actor | None
    executed: int | None
    allowed: list[int] | None


@dataclass(frozen=True, slots=True)
class ImportedEpisode:
    """An episode that was played elsewhere, ready to be stored."""

    external_id: str | None
    mode: EpisodeMode
    status: EpisodeStatus
    label_required: bool
    learn_transitions: bool
    ended: bool
    final: int | None
    final_observation: list[float] | None
    labels_wanted: int
    label: int | None
    metadata: JsonObject
    states: Sequence[tuple[int, object]]  # index, and as the client sent it
    answers: Sequence[int]  # what the policy chose, as far as it is known
    details: Sequence[ImportedDetail]
    labels: Sequence[tuple[int, str | None, str | None]]  # label, labeller, comment
    undecided: Sequence[tuple[str | None, str]]  # labeller and reason of "cannot tell"
    events: Sequence[NewEvent]  # without their episode


@dataclass(frozen=True, slots=True)
class Imported:
    """The numbers of imported episodes, and what the import added to the log."""

    numbers: range
    logged: Logged


def imported_steps(agent: int, number: int, episode: ImportedEpisode) -> Iterator[StepTuple]:
    """The steps of an imported episode as rows."""
    pairs = zip(episode.states, episode.answers, strict=True)
    for step, ((index, state), action) in enumerate(pairs):
        yield step_tuple(agent, number, step, index, action, state)


@dataclass(frozen=True, slots=True)
class ImportEpisodes:
    """Store episodes that were played elsewhere. Rows are built while they are written."""

    agent: int
    imported: Sequence[ImportedEpisode]
    at: int
    change: CounterChange
    imported_by: str | None = None  # the id of the key

    def apply(self, connection: Connection) -> Imported:
        """Insert episodes, steps, labels and events under the next numbers."""
        counters = count(connection, self.agent, self.change, new_events=0, teaches=False)
        first = counters.episodes - len(self.imported)
        rows = chain.from_iterable(
            imported_steps(self.agent, number, episode)
            for number, episode in enumerate(self.imported, first)
        )
        if backend_in_use(connection).insert_steps(connection, rows):
            raise Stale("another process has stored an episode under this number")
        logged = self.insert_episodes(connection, first, CounterChange())
        return Imported(range(first, first + len(self.imported)), logged)

    def insert_episodes(self, connection: Connection, first: int, change: CounterChange) -> Logged:
        """Insert episodes whose steps are stored, with labels and events, from a number on."""
        numbered = list(enumerate(self.imported, first))
        positions = _next_position(connection) - first  # of the episode with number 0
        rows = [self._row(n, episode) | {"position": positions + n} for n, episode in numbered]
        connection.execute(insert(episodes), rows)
        details = [asdict(row) for row in self._details(numbered)]
        if details:
            connection.execute(insert(step_details), details)
        history = [asdict(row) for row in self._labels(numbered)]
        if history:
            connection.execute(insert(labels), history)
        waiting = [n for n, one in numbered if one.status is EpisodeStatus.awaiting_label]
        notify(connection, WebhookEvent.label_wanted, self.agent, self.at, waiting)
        new_events = [
            replace(event, episode=number)
            for number, episode in numbered
            for event in episode.events
        ]
        return record(connection, self.agent, change, new_events)

    def _row(self, number: int, episode: ImportedEpisode) -> JsonObject:
        return {
            "agent": self.agent,
            "number": number,
            "external_id": episode.external_id,
            "mode": episode.mode,
            "status": episode.status,
            "label_required": episode.label_required,
            "learn_transitions": episode.learn_transitions,
            "policy_version": 0,
            "started_by": self.imported_by,
            "length": len(episode.answers),
            "ended": episode.ended,
            "final": episode.final,
            "final_observation": episode.final_observation,
            "labels_wanted": episode.labels_wanted,
            "labels_given": len(episode.labels),
            "cannot_tell": len(episode.undecided),
            "label": episode.label,
            "metadata": episode.metadata,
            "created_at": self.at,
            "finished_at": self.at,
            "labelled_at": None if episode.label is None else self.at,
        }

    def _details(self, numbered: Iterable[tuple[int, ImportedEpisode]]) -> Iterable[StepDetail]:
        for number, episode in numbered:
            for detail in episode.details:
                rest = (detail.actor, detail.executed, detail.allowed)
                yield StepDetail(self.agent, number, detail.step, *rest)

    def _labels(self, numbered: Iterable[tuple[int, ImportedEpisode]]) -> Iterable[LabelRow]:
        for number, episode in numbered:
            for slot, (label, labeller, comment) in enumerate(episode.labels):
                yield LabelRow(self.agent, number, slot, label, labeller, comment, self.at)
            for slot, (labeller, reason) in enumerate(episode.undecided, episode.labels_wanted):
                yield LabelRow(self.agent, number, slot, None, labeller, reason, self.at, True)


@dataclass(frozen=True, slots=True)
class ReserveEpisodes:
    """Hand out numbers for episodes that are stored later; the first of them."""

    agent: int
    episodes: int

    def apply(self, connection: Connection) -> StartedEpisode:
        """Count them."""
        change = CounterChange(episodes=self.episodes)
        counters = count(connection, self.agent, change, new_events=0, teaches=False)
        return StartedEpisode(counters.episodes - self.episodes, counters)


Batches = Callable[[], Iterable[tuple[Sequence[ImportedEpisode], CounterChange]]]
"""Imported episodes, some at a time, with what they add to the counters."""


@dataclass(frozen=True, slots=True)
class FinishImport:
    """Store imported episodes under reserved numbers, whose steps are stored already."""

    agent: int
    numbers: range
    batches: Batches
    at: int
    imported_by: str | None = None  # the id of the key

    def apply(self, connection: Connection) -> Imported:
        """Insert them batch by batch; the last event stands for all of them."""
        first, logged = self.numbers.start, None
        for batch, change in self.batches():
            part = ImportEpisodes(self.agent, batch, self.at, change, self.imported_by)
            logged = part.insert_episodes(connection, first, change)
            first += len(batch)
        assert logged is not None
        return Imported(self.numbers, logged)


@dataclass(frozen=True, slots=True)
class DropSteps:
    """Remove the steps of an import that failed."""

    agent: int
    first: int
    stop: int

    def apply(self, connection: Connection) -> None:
        """Delete the rows."""
        connection.execute(
            delete(steps).where(
                steps.c.agent == self.agent,
                steps.c.episode >= self.first,
                steps.c.episode < self.stop,
            )
        )
