"""For simulators and fleets: many steps in one call, logged episodes in and out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass

from plaudit._core.flow import Flow, Reply, Request, json_request
from plaudit._core.parsing import parse
from plaudit.answers.episodes import FinishResult, LabelResult, StartResult
from plaudit.answers.steps import StepResult
from plaudit.answers.trajectories import (
    ExportedEpisode,
    ExportedLabel,
    LoggedCannotTell,
    LoggedLabel,
    LoggedStepDetail,
    TrajectoriesAnswer,
)
from plaudit.endpoints.body import given, idempotent, path
from plaudit.errors import InvalidArgument, UnexpectedAnswer


@dataclass(frozen=True)
class Step:
    """One step of many; ``step`` makes a retry safe.

    ``action``, ``executed`` and ``allowed`` are those of `take_step`.
    """

    episode: str
    state: object
    step: int | None = None
    action: object = None
    executed: object = None
    allowed: object = None


@dataclass(frozen=True)
class Trajectory:
    """An episode that was played elsewhere.

    With one more state than actions, the last one is the state that it ended in.
    """

    states: list[object]
    actions: list[object]
    label: object = None
    terminated: bool | None = None
    status: str | None = None
    mode: str | None = None
    learn_transitions: bool = True
    external_id: str | None = None
    labeller: str | None = None
    verdicts: list[LoggedLabel] = field(default_factory=list)
    undecided: list[LoggedCannotTell] = field(default_factory=list)
    labels_wanted: int | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    step_details: list[LoggedStepDetail] = field(default_factory=list)


TrajectoryLike = Trajectory | ExportedEpisode | Mapping[str, object]


def step_many(steps: Iterable[Step]) -> Flow[list[StepResult]]:
    """Step many episodes in one call; each result has its own action or its own problem."""
    entries = list(steps)
    body = {"steps": [given(**vars(entry)) for entry in entries]}
    safe = all(entry.step is not None for entry in entries)
    reply = yield json_request("POST", path("steps"), body, safe=safe)
    return [parse(StepResult, result) for result in _results(reply)]


def start_many(
    episodes: Iterable[Mapping[str, object]], *, idempotency_key: str | None = None
) -> Flow[list[StartResult]]:
    """Start many episodes in one call: dicts with ``agent`` and the fields of a start.

    Each result has its own episode or its own problem.
    """
    body = {"episodes": [dict(entry) for entry in episodes]}
    reply = yield json_request("POST", path("episodes"), body, idempotent(idempotency_key))
    return [parse(StartResult, result) for result in _results(reply)]


def finish_many(finishes: Iterable[Mapping[str, object]]) -> Flow[list[FinishResult]]:
    """Finish many episodes in one call: dicts with ``episode`` and the fields of a finish.

    The call is not repeated: the entries of a finish that arrived would be conflicts.
    """
    body = {"finishes": [dict(entry) for entry in finishes]}
    reply = yield json_request("POST", path("finishes"), body, safe=False)
    return [parse(FinishResult, result) for result in _results(reply)]


def label_many(labels: Iterable[Mapping[str, object]]) -> Flow[list[LabelResult]]:
    """Label many episodes in one call: dicts with ``episode``, ``label`` and who judged."""
    body = {"labels": [dict(entry) for entry in labels]}
    reply = yield json_request("POST", path("labels"), body)
    return [parse(LabelResult, result) for result in _results(reply)]


def _results(reply: Reply) -> Sequence[object]:
    data = reply.json()
    if not isinstance(data, dict) or not isinstance(results := data.get("results"), list):
        raise UnexpectedAnswer.of_body("expected a list of results")
    return results


def import_trajectories(
    agent: str, trajectories: Iterable[TrajectoryLike], *, idempotency_key: str | None = None
) -> Flow[TrajectoriesAnswer]:
    """Learn from logged episodes, all or none of them. Lines of an export fit as they are."""
    logged = [_plain_trajectory(trajectory) for trajectory in trajectories]
    if not logged:
        raise InvalidArgument("There is no trajectory to import. Give at least one.")
    where = path("agents", agent, "trajectories")
    headers = idempotent(idempotency_key)
    reply = yield json_request("POST", where, {"trajectories": logged}, headers)
    return parse(TrajectoriesAnswer, reply.json())


def _plain_trajectory(trajectory: TrajectoryLike) -> dict[str, object]:
    if isinstance(trajectory, Mapping):
        return dict(trajectory)
    if is_dataclass(trajectory):
        return given(**asdict(trajectory))
    raise InvalidArgument(
        f"{type(trajectory).__name__} is not a trajectory. Give plaudit.Trajectory(states, "
        "actions, label) or a dict with these."
    )


class ExportLines:
    """The lines of an export. A break is healed by reading again and skipping what was read."""

    endless = False

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._last = -1

    def request(self) -> Request:
        """The whole export: it cannot begin in the middle."""
        return Request("GET", path("agents", self._agent, "export"))

    def read(self, line: str) -> ExportedEpisode | None:
        """The episode of a line, unless it was read before."""
        if not line.strip():
            return None
        episode = parse(ExportedEpisode, json.loads(line))
        if episode.number <= self._last:
            return None
        self._last = episode.number
        return episode


def export_episodes(agent: str) -> ExportLines:
    """Iterate over every episode that is over, oldest first."""
    return ExportLines(agent)


class LabelLines:
    """The lines of an export of labels. A break is healed like that of an export."""

    endless = False

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._read = 0  # lines that were read, also before a break
        self._line = 0

    def request(self) -> Request:
        """The whole export: it cannot begin in the middle."""
        self._line = 0
        return Request("GET", path("agents", self._agent, "labels"))

    def read(self, line: str) -> ExportedLabel | None:
        """The label of a line, unless it was read before."""
        if not line.strip():
            return None
        self._line += 1
        if self._line <= self._read:
            return None
        self._read = self._line
        return parse(ExportedLabel, json.loads(line))


def export_labels(agent: str) -> LabelLines:
    """Iterate over the labels in force of every episode, without steps."""
    return LabelLines(agent)
