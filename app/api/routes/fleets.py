"""For simulators and fleets: import and export of logged episodes."""

from __future__ import annotations

import logging

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from app.api.http.auth import Importer, Operator
from app.api.http.dependencies import ImportExport, MetadataBytes, Registry
from app.api.http.idempotency import Once
from app.api.http.json_body import JsonRoute
from app.api.http.parameters import AgentId, check_metadata
from app.api.openapi.responses import declared
from app.errors import InvalidValue
from app.service.access.idempotency import Remember
from app.service.agents.hosted_agent import HostedAgent
from app.service.episodes.import_export import LoggedEpisode
from app.service.episodes.lifecycle import EpisodeStatus
from app.service.labelling.slots import CannotTell, GivenLabel, majority
from app.service.runtime.ids import episode_id
from app.wire.trajectories import LoggedTrajectory, Trajectories, TrajectoriesAnswer

log = logging.getLogger(__name__)

router = APIRouter(prefix="/v1", tags=["fleets"], route_class=JsonRoute)

LINES = "application/x-ndjson"
_LINE = {
    "schema": {"type": "string"},
    "example": '{"episode": "eps_0123456789_0", "number": 0, "states": [0, 4, 8], '
    '"actions": [1, 1], "terminated": true, "label": 0, "status": "labelled", '
    '"labels_wanted": 1, "verdicts": [{"label": 0, "labeller": "Ada", "comment": null}], '
    '"undecided": [], "mode": "learn", "learn_transitions": true, "policy_version": 0, '
    '"external_id": null, "metadata": {}, "step_details": [{"step": 1, "actor": "override", '
    '"answered": 0}]}\n',
}


@router.post(
    "/agents/{agent}/trajectories",
    status_code=201,
    summary="Learn from logged episodes",
    responses=declared(404, 409, 413, 422, 503),
)
async def import_trajectories(
    agent: AgentId,
    body: Trajectories,
    registry: Registry,
    import_export: ImportExport,
    metadata_bytes: MetadataBytes,
    caller: Importer,
    once: Once,
) -> TrajectoriesAnswer:
    """Import logged episodes: all, or none on an error. Lines of an export are valid entries."""
    hosted = await registry.find(agent)
    logged = []
    for i, trajectory in enumerate(body.trajectories):
        check_metadata(trajectory.metadata, metadata_bytes, f"trajectories.{i}.metadata")
        logged.append(_logged(trajectory, f"trajectories.{i}"))

    async def take(remember: Remember | None) -> TrajectoriesAnswer:
        numbers = await import_export.import_episodes(hosted, logged, remember, caller.key)
        fields = {"agent": hosted.id, "episodes": len(numbers), "by": caller.key}
        log.info("episodes imported", extra=fields)
        return _answer(hosted, numbers)

    async def taken_before(numbers: str) -> TrajectoriesAnswer:
        first, end = numbers.split("-")
        return _answer(hosted, range(int(first), int(end)))

    return await once.run(caller, take, taken_before)


def _logged(trajectory: LoggedTrajectory, field: str) -> LoggedEpisode:
    """A logged episode as the service takes it."""
    status = None
    if trajectory.status in ("completed", "abandoned"):
        status = EpisodeStatus(trajectory.status)
    labels = _labels(trajectory)
    is_evaluation = trajectory.mode == "evaluate"
    if trajectory.label is not None and status is not None and not is_evaluation:
        raise InvalidValue(f"{field}.status", "labelled, because there is a label")
    if trajectory.label is not None and trajectory.label != majority(labels):
        raise InvalidValue(f"{field}.label", "the majority of its verdicts")
    return LoggedEpisode(
        states=trajectory.states,
        actions=trajectory.actions,
        labels=labels,
        undecided=[CannotTell(answer.labeller, answer.reason) for answer in trajectory.undecided],
        settled=trajectory.label is not None,
        labels_wanted=trajectory.labels_wanted,
        terminated=trajectory.terminated,
        status=status,
        is_evaluation=is_evaluation,
        learn_transitions=trajectory.learn_transitions or not is_evaluation,
        external_id=trajectory.external_id,
        metadata=dict(trajectory.metadata),
        step_details=trajectory.step_details,
    )


def _labels(trajectory: LoggedTrajectory) -> list[GivenLabel]:
    if trajectory.verdicts:
        return [
            GivenLabel(int(verdict.label), verdict.labeller, verdict.comment)
            for verdict in trajectory.verdicts
        ]
    if trajectory.label is None:
        return []
    return [GivenLabel(int(trajectory.label), trajectory.labeller)]


def _answer(agent: HostedAgent, numbers: range) -> TrajectoriesAnswer:
    return TrajectoriesAnswer(
        agent=agent.id,
        imported=len(numbers),
        first=episode_id(agent.number, numbers.start),
        last=episode_id(agent.number, numbers.stop - 1),
        learning=agent.learning.value,
    )


@router.get(
    "/agents/{agent}/export",
    summary="Export all episodes",
    response_class=StreamingResponse,
    responses={
        200: {"description": "JSON lines", "content": {LINES: _LINE}},
        **declared(404, 503),
    },
)
async def export_episodes(
    agent: AgentId, registry: Registry, import_export: ImportExport, _: Operator
) -> StreamingResponse:
    """Every finished episode as a JSON line, oldest first. `trajectories` can import the lines."""
    hosted = await registry.find(agent)

    return StreamingResponse(import_export.lines(hosted), media_type=LINES)
