"""Episodes that come from elsewhere and go elsewhere: import and export."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from app.errors import InvalidValue
from app.service.access.idempotency import Remember
from app.service.agents.hosted_agent import Event, HostedAgent
from app.service.labelling.slots import history
from app.service.labelling.verdicts import Verdict, in_force, majority
from app.service.runtime.events import Broadcast
from app.service.runtime.ids import episode_id
from app.service.training.scheduler import Learning
from app.storage import commands
from app.storage.database import Database, now_milliseconds
from app.storage.queries import labelling, reading
from app.storage.sqlite.writer import Row, Write

_PAGE = 100  # episodes read at once


@dataclass(frozen=True)
class LoggedEpisode:
    """An episode that was played elsewhere, as a client wrote it."""

    states: Sequence[Any]  # one more than actions where the end is known
    actions: Sequence[Any]
    verdicts: Sequence[Verdict] = ()
    settled: bool = False  # whether they are all there will be, however many are wanted
    labels_wanted: int | None = None  # by default the agent's, or as many as there are
    terminated: bool | None = None
    status: str | None = None  # "completed" or "abandoned" where no label is wanted
    external_id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Encoded:
    """The same, as it is stored."""

    states: list[tuple[int, Any]]
    actions: list[int]
    final: tuple[int, Any] | None
    ended: bool
    status: str
    labels_wanted: int
    label: int | None
    logged: LoggedEpisode

    @property
    def is_whole(self) -> bool:
        return self.final is not None or self.ended


class Logbook:
    """Learns from logged episodes, and writes logs."""

    def __init__(self, database: Database, learning: Learning, broadcast: Broadcast) -> None:
        self._database = database
        self._learning = learning
        self._broadcast = broadcast

    async def take_in(
        self,
        agent: HostedAgent,
        logged: Sequence[LoggedEpisode],
        remember: Remember | None = None,
    ) -> range:
        """Import episodes, all or nothing, and learn from them once; their numbers."""
        encoded = await asyncio.to_thread(_encode_all, agent, logged)
        now, first = now_milliseconds(), agent.next_episode
        numbers = range(first, first + len(encoded))
        also = [] if remember is None else [remember(f"{numbers.start}-{numbers.stop}")]
        batch = _Import(agent, encoded, first, agent.last_event + 1, now, also)
        agent.next_episode += len(encoded)
        agent.last_event += batch.events
        agent.last_lesson = agent.last_event
        batch.count = agent.count(**batch.totals)
        await self._database.write(batch)
        for event in batch.all_events():
            self._broadcast.publish(event)
        self._learning.request(agent)
        return numbers

    async def lines(self, agent: HostedAgent) -> AsyncIterator[dict[str, Any]]:
        """Every episode that is over, oldest first."""
        first = 0
        while True:
            page = await self._database.read(_read_page, agent, first)
            for line in page:
                yield line
            if not page:
                return
            first = page[-1]["number"] + 1


def _encode_all(agent: HostedAgent, logged: Sequence[LoggedEpisode]) -> list[_Encoded]:
    return [_encode(agent, one, f"trajectories.{i}") for i, one in enumerate(logged)]


def _encode(agent: HostedAgent, logged: LoggedEpisode, field_: str) -> _Encoded:
    length, horizon = len(logged.actions), agent.horizon
    if length > horizon:
        raise InvalidValue(f"{field_}.actions", f"at most {horizon}, the horizon, of them")
    if len(logged.states) not in (length, length + 1):
        raise InvalidValue(f"{field_}.states", "as many as actions, or one more")
    states = [
        agent.encode_state(state, f"{field_}.states.{i}") for i, state in enumerate(logged.states)
    ]
    actions = [
        agent.actions.encode(action, f"{field_}.actions.{i}")
        for i, action in enumerate(logged.actions)
    ]
    ended = length < horizon and logged.status != "abandoned"
    if logged.terminated is not None:
        ended = logged.terminated
    final = states.pop() if len(states) > length else None
    wanted = _wanted(agent, logged, field_)
    settled = bool(logged.verdicts) and (logged.settled or len(logged.verdicts) == wanted)
    if logged.status is not None and (
        settled or (logged.verdicts and logged.status == "abandoned")
    ):
        raise InvalidValue(f"{field_}.status", "labelled, where there is a label")
    status = "labelled" if settled else logged.status or "awaiting_label"
    label = majority(logged.verdicts) if settled else None
    return _Encoded(states, actions, final, ended, status, wanted, label, logged)


def _wanted(agent: HostedAgent, logged: LoggedEpisode, field_: str) -> int:
    """How many labels an episode wants; its verdicts must fit in."""
    if len({one.labeller for one in logged.verdicts}) < len(logged.verdicts):
        expected = "one of each labeller, and of those without a name one together"
        raise InvalidValue(f"{field_}.verdicts", expected)
    if logged.labels_wanted is None:
        return max(agent.specification.labels_wanted, len(logged.verdicts))
    if len(logged.verdicts) > logged.labels_wanted:
        raise InvalidValue(f"{field_}.verdicts", f"at most {logged.labels_wanted}, labels_wanted")
    return logged.labels_wanted


class _Import:
    """The writes of an import, made row by row while they are written."""

    def __init__(
        self,
        agent: HostedAgent,
        encoded: list[_Encoded],
        first: int,
        first_event: int,
        now: int,
        also: Sequence[Write],
    ) -> None:
        self._agent, self._encoded, self._also = agent, encoded, also
        self._first, self._first_event, self._now = first, first_event, now
        self.count: Write | None = None

    @property
    def events(self) -> int:
        """How many events the import is."""
        return sum(1 + len(one.logged.verdicts) for one in self._encoded)

    @property
    def totals(self) -> dict[str, int]:
        """How the counters of the agent change."""
        totals = {"good": sum(one.label or 0 for one in self._encoded)}
        for one in self._encoded:
            totals[one.status] = totals.get(one.status, 0) + 1
        return totals

    def __iter__(self) -> Iterator[Write]:
        for number, one in enumerate(self._encoded, self._first):
            yield Write(commands.ADD_EPISODE, self._episode(number, one))
        for number, one in enumerate(self._encoded, self._first):
            yield Write(commands.ADD_FILED_STEP, self._steps(number, one))
        for event in self.all_events():
            yield event.stored()
        for number, one in enumerate(self._encoded, self._first):
            for voice, verdict in enumerate(one.logged.verdicts):
                said = replace(verdict, at=self._now)
                yield history(self._agent.number, number, voice, **asdict(said))
        if self.count is not None:
            yield self.count
        yield from self._also

    def all_events(self) -> Iterator[Event]:
        """What happens: every episode is finished, or given up, and some are labelled."""
        agent, number = self._agent.number, self._first_event
        for episode, one in enumerate(self._encoded, self._first):
            kind = "abandoned" if one.status == "abandoned" else "finished"
            yield Event(agent, number, kind, episode, int(one.is_whole), self._now)
            number += 1
            for voice, verdict in enumerate(one.logged.verdicts):
                yield Event(agent, number, "labelled", episode, verdict.label, self._now, voice)
                number += 1

    def _episode(self, number: int, one: _Encoded) -> dict[str, Any]:
        index, value = one.final if one.final is not None else (None, None)
        return {
            "agent": self._agent.number,
            "number": number,
            "external_id": one.logged.external_id,
            "mode": "imported",
            "status": one.status,
            "label_required": one.status in ("labelled", "awaiting_label"),
            "policy_version": 0,
            "length": len(one.actions),
            "ended": one.ended,
            "final": index,
            "final_observation": value if isinstance(value, list) else None,
            "labels_wanted": one.labels_wanted,
            "verdicts": len(one.logged.verdicts),
            "label": one.label,
            "metadata": one.logged.metadata,
            "created_at": self._now,
            "finished_at": self._now,
            "labelled_at": None if one.label is None else self._now,
        }

    def _steps(self, number: int, one: _Encoded) -> list[Row]:
        pairs = zip(one.states, one.actions, strict=True)
        return [
            commands.step_row(self._agent.number, number, step, index, action, value)
            for step, ((index, value), action) in enumerate(pairs)
        ]


def _read_page(connection: Any, agent: HostedAgent, first: int) -> list[dict[str, Any]]:
    page = list(reading.episodes_from(connection, agent.number, first, _PAGE))
    labels = labelling.label_rows_of(connection, agent.number, [row.number for row, _ in page])
    return [_line(agent, row, steps, labels[row.number]) for row, steps in page]


def _line(
    agent: HostedAgent, row: Any, steps: Sequence[Any], labels: Sequence[Any]
) -> dict[str, Any]:
    """One episode as one line; what import takes back."""
    states = [agent.decode_state(step.state, step.observation) for step in steps]
    if row.final is not None:
        states.append(agent.decode_state(row.final, row.final_observation))
    return {
        "episode": episode_id(agent.number, row.number),
        "number": row.number,
        "external_id": row.external_id,
        "mode": row.mode,
        "status": row.status,
        "policy_version": row.policy_version,
        "states": states,
        "actions": [agent.actions.decode(step.action) for step in steps],
        "terminated": row.ended,
        "label": row.label,
        "labels_wanted": row.labels_wanted,
        "verdicts": [
            {"label": one.label, "labeller": one.labeller, "comment": one.comment}
            for one in in_force(labels).values()
        ],
        "metadata": row.metadata,
    }
