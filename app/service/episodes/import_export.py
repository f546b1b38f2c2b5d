"""Import and export of episodes that were played elsewhere."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from app.agents.cost import reading_cost
from app.errors import InvalidValue
from app.service.access.idempotency import Remember
from app.service.agents.hosted_agent import EncodedState, HostedAgent
from app.service.agents.specification import check_seconds
from app.service.episodes.label_export import LabelEntry, label_entries
from app.service.labelling.slots import (
    CannotTell,
    GivenLabel,
    cannot_tell_in_force,
    labels_in_force,
    majority,
)
from app.service.runtime.event_bus import EventBus
from app.service.runtime.ids import episode_id
from app.service.training.trainer import Trainer
from app.storage.commands.access import Answered
from app.storage.commands.episodes import (
    Imported,
    ImportedDetail,
    ImportedEpisode,
    ImportEpisodes,
)
from app.storage.commands.log import CounterChange, NewEvent
from app.storage.database import Database, now_milliseconds
from app.storage.queries import episodes
from app.storage.queries.episodes import StoredEpisode
from app.storage.rows import Actor, EpisodeMode, EpisodeStatus, EventKind, JsonObject
from app.storage.unit_of_work import Command, UnitOfWork

_PAGE = 100  # episodes read at once, if they have no more steps than
_PAGE_STEPS = 20_000


class LoggedDetail(Protocol):
    """A step in which somebody else acted, or not every action was allowed, as it was sent."""

    @property
    def step(self) -> int:
        """Its number."""

    @property
    def actor(self) -> str:
        """Who acted."""

    @property
    def answered(self) -> object:
        """What the policy chose, where it is not what was done."""

    @property
    def allowed(self) -> Sequence[object] | None:
        """The actions that the client allowed."""


@dataclass(frozen=True)
class LoggedEpisode:
    """An episode that was played elsewhere, as a client sent it."""

    states: Sequence[Any]  # one more than actions where the end is known
    actions: Sequence[Any]
    labels: Sequence[GivenLabel] = ()
    undecided: Sequence[CannotTell] = ()
    settled: bool = False  # whether these labels decide, however many are wanted
    labels_wanted: int | None = None  # by default the agent's, or as many as there are
    terminated: bool | None = None
    status: EpisodeStatus | None = None  # completed or abandoned where no label is wanted
    is_evaluation: bool = False  # the agent does not learn its label
    learn_transitions: bool = True
    external_id: str | None = None
    metadata: JsonObject = field(default_factory=dict)
    step_details: Sequence[LoggedDetail] = ()


class ImportExport:
    """Imports logged episodes and exports an agent's episodes."""

    def __init__(
        self, database: Database, trainer: Trainer, events: EventBus, job_seconds: float
    ) -> None:
        self._job_seconds = job_seconds  # that learning an import may take
        self._database = database
        self._trainer = trainer
        self._events = events

    async def import_episodes(
        self,
        agent: HostedAgent,
        logged: Sequence[LoggedEpisode],
        remember: Remember | None = None,
        imported_by: str | None = None,
    ) -> range:
        """Import episodes, all or nothing, and learn from them once; returns their numbers."""
        now = now_milliseconds()
        cost = reading_cost(sum(len(episode.actions) for episode in logged))
        await asyncio.to_thread(check_seconds, cost, self._job_seconds, "import fewer at once")
        encoded = await asyncio.to_thread(_encode_all, agent, logged, now)
        command: Command[Imported] = ImportEpisodes(
            agent.number, encoded, now, import_totals(encoded), imported_by
        )
        if remember is not None:
            command = Answered(
                command,
                lambda stored: remember(f"{stored.numbers.start}-{stored.numbers.stop}"),
            )

        def applied(results: list[Imported]) -> None:
            agent.update_counters(results[0].logged.counters)
            for event in results[0].logged.events:
                self._events.publish(event)

        submitted = self._database.writer.submit(UnitOfWork(commands=[command]), applied)
        results: list[Imported] = await asyncio.shield(submitted)
        self._trainer.request(agent)
        return results[0].numbers

    async def labels(self, agent: HostedAgent) -> AsyncIterator[LabelEntry]:
        """The labels in force of every episode, oldest episode first."""
        first = 0
        while page := await self._database.read(
            episodes.judged_episodes_from, agent.number, first, _PAGE
        ):
            for row, history in page:
                for entry in label_entries(row, history):
                    yield entry
            first = page[-1][0].number + 1

    async def lines(self, agent: HostedAgent) -> AsyncIterator[str]:
        """Every finished episode as a line of JSON, oldest first."""
        first, at_once = 0, max(1, min(_PAGE, _PAGE_STEPS // agent.horizon))
        while True:
            page = await self._database.read(
                episodes.stored_episodes_from, agent.number, first, at_once
            )
            for stored in page:
                yield await asyncio.to_thread(_line, agent, stored)
            if not page:
                return
            first = page[-1].row.number + 1


def _encode_all(
    agent: HostedAgent, logged: Sequence[LoggedEpisode], now: int
) -> list[ImportedEpisode]:
    return [
        encode_episode(agent, episode, f"trajectories.{i}", now) for i, episode in enumerate(logged)
    ]


def encode_episode(
    agent: HostedAgent, logged: LoggedEpisode, place: str, now: int
) -> ImportedEpisode:
    """Check a logged episode and encode it; ``place`` is where the client wrote it."""
    length, horizon = len(logged.actions), agent.horizon
    if length > horizon:
        raise InvalidValue(f"{place}.actions", f"at most {horizon}, the horizon, of them")
    if len(logged.states) not in (length, length + 1):
        raise InvalidValue(f"{place}.states", "as many as actions, or one more")
    states = [
        agent.encode_state(state, f"{place}.states.{i}") for i, state in enumerate(logged.states)
    ]
    actions = [
        agent.actions.encode(action, f"{place}.actions.{i}")
        for i, action in enumerate(logged.actions)
    ]
    answers, details = _details(agent, logged, actions, place)
    ended = length < horizon and logged.status is not EpisodeStatus.abandoned
    if logged.terminated is not None:
        ended = logged.terminated
    final = states.pop() if len(states) > length else None
    wanted = _labels_wanted(agent, logged, place)
    status = _status(logged, wanted, place)
    has_label = status is EpisodeStatus.labelled or logged.is_evaluation
    return ImportedEpisode(
        external_id=logged.external_id,
        mode=EpisodeMode.evaluate if logged.is_evaluation else EpisodeMode.imported,
        status=status,
        label_required=status in (EpisodeStatus.labelled, EpisodeStatus.awaiting_label),
        learn_transitions=logged.learn_transitions,
        ended=ended,
        final=None if final is None else final[0],
        final_observation=_observation(final),
        labels_wanted=wanted,
        label=majority(logged.labels) if has_label and logged.labels else None,
        metadata=logged.metadata,
        states=states,
        answers=answers,
        details=details,
        labels=[(given.label, given.labeller, given.comment) for given in logged.labels],
        undecided=[(answer.labeller, answer.reason) for answer in logged.undecided],
        events=_events(logged, status, ended or final is not None, now),
    )


def _details(
    agent: HostedAgent, logged: LoggedEpisode, actions: Sequence[int], place: str
) -> tuple[list[int], list[ImportedDetail]]:
    """What the policy chose at each step, and the steps in which somebody else acted."""
    answers, details = list(actions), []
    seen: set[int] = set()
    for i, given in enumerate(logged.step_details):
        field = f"{place}.step_details.{i}"
        if given.step >= len(actions) or given.step in seen:
            raise InvalidValue(f"{field}.step", "the number of a step, once")
        seen.add(given.step)
        done = actions[given.step]
        answer = agent.encode_action(given.answered, f"{field}.answered")
        answers[given.step] = done if answer is None else answer
        executed = None if answer in (None, done) else done
        actor = None if given.actor == "policy" else Actor(given.actor)
        details.append(ImportedDetail(given.step, actor, executed, _allowed(agent, given, field)))
    return answers, details


def _allowed(agent: HostedAgent, given: LoggedDetail, field: str) -> list[int] | None:
    if given.allowed is None:
        return None
    named = enumerate(given.allowed)
    return sorted({agent.actions.encode(one, f"{field}.allowed.{i}") for i, one in named})


def _status(logged: LoggedEpisode, wanted: int, place: str) -> EpisodeStatus:
    settled = bool(logged.labels) and (logged.settled or len(logged.labels) == wanted)
    is_abandoned = logged.status is EpisodeStatus.abandoned
    conflicts = settled and not logged.is_evaluation
    if logged.status is not None and (conflicts or (logged.labels and is_abandoned)):
        raise InvalidValue(f"{place}.status", "labelled, where there is a label")
    if logged.is_evaluation:
        return logged.status or EpisodeStatus.completed
    if settled:
        return EpisodeStatus.labelled
    return logged.status or EpisodeStatus.awaiting_label


def _labels_wanted(agent: HostedAgent, logged: LoggedEpisode, place: str) -> int:
    """How many labels an episode wants; the labels it has must fit in."""
    labellers = [given.labeller for given in logged.labels]
    labellers += [answer.labeller for answer in logged.undecided]
    if len(set(labellers)) < len(labellers):
        expected = "one of each labeller, and at most one without a name"
        raise InvalidValue(f"{place}.verdicts", expected)
    if logged.labels_wanted is None:
        return max(agent.specification.labels_wanted, len(logged.labels))
    if len(logged.labels) > logged.labels_wanted:
        raise InvalidValue(f"{place}.verdicts", f"at most {logged.labels_wanted}, labels_wanted")
    return logged.labels_wanted


def _observation(final: EncodedState | None) -> list[float] | None:
    return final[1] if final is not None and isinstance(final[1], list) else None


def _events(
    logged: LoggedEpisode, status: EpisodeStatus, final_known: bool, now: int
) -> list[NewEvent]:
    """The episode finished or was abandoned, and may have labels."""
    kind = EventKind.abandoned if status is EpisodeStatus.abandoned else EventKind.finished
    return [
        NewEvent(kind, now, final_known=final_known, teaches=logged.learn_transitions),
        *(
            NewEvent(
                EventKind.labelled,
                now,
                slot=slot,
                label=given.label,
                teaches=not logged.is_evaluation,
            )
            for slot, given in enumerate(logged.labels)
        ),
    ]


def import_totals(encoded: Sequence[ImportedEpisode]) -> CounterChange:
    """What an import adds to the counters of its agent."""
    labelled = [episode for episode in encoded if episode.status is EpisodeStatus.labelled]
    good = sum(episode.label or 0 for episode in labelled)
    total = CounterChange(episodes=len(encoded), good=good)
    for episode in encoded:
        total = total.moved(None, episode.status)
    return total


def _line(agent: HostedAgent, stored: StoredEpisode) -> str:
    """One episode as a line of JSON; import takes it back."""
    row, steps = stored.row, stored.steps
    states = [agent.decode_state(step.state, step.observation) for step in steps]
    if row.final is not None:
        states.append(agent.decode_state(row.final, row.final_observation))
    line = {
        "episode": episode_id(agent.number, row.number),
        "number": row.number,
        "external_id": row.external_id,
        "mode": row.mode,
        "learn_transitions": row.learn_transitions,
        "status": row.status,
        "policy_version": row.policy_version,
        "states": states,
        "actions": [agent.actions.decode(step.action) for step in steps],
        "terminated": row.ended,
        "label": row.label,
        "labels_wanted": row.labels_wanted,
        "verdicts": [
            {"label": given.label, "labeller": given.labeller, "comment": given.comment}
            for given in labels_in_force(stored.history).values()
        ],
        "undecided": [
            {"labeller": answer.labeller, "reason": answer.reason}
            for answer in cannot_tell_in_force(stored.history).values()
        ],
        "metadata": row.metadata,
        "step_details": [
            {
                "step": step.step,
                "actor": step.actor or "policy",
                "answered": agent.actions.decode(step.answered),
                "allowed": None
                if step.allowed is None
                else [agent.actions.decode(action) for action in step.allowed],
            }
            for step in steps
            if step.actor is not None or step.allowed is not None
        ],
    }
    return json.dumps(line) + "\n"
