"""For simulators and fleets: import and export of logged episodes."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic_core import from_json

from app.api.http.auth import Importer, Operator
from app.api.http.dependencies import ImportExport, MetadataBytes, Registry, container_of
from app.api.http.idempotency import Once, OnceOnly
from app.api.http.json_body import JsonRoute
from app.api.http.lines import LINES, LineReader, is_lines
from app.api.http.parameters import AgentId, check_metadata
from app.api.openapi.responses import declared
from app.errors import InvalidValue
from app.service.access.idempotency import Remember
from app.service.access.keys import Caller
from app.service.agents.hosted_agent import HostedAgent
from app.service.episodes.import_export import LoggedEpisode
from app.service.episodes.label_export import csv_lines, json_lines
from app.service.episodes.lifecycle import EpisodeStatus
from app.service.episodes.line_import import NumberedEpisode
from app.service.labelling.slots import CannotTell, GivenLabel, majority
from app.service.runtime.ids import episode_id
from app.wire.trajectories import LoggedTrajectory, Trajectories, TrajectoriesAnswer
from app.wire.validation import parse

log = logging.getLogger(__name__)


class TrajectoriesRoute(JsonRoute):
    """A route whose JSON body may also come as JSON lines, which are read as they arrive."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The usual handler, and one for lines beside it."""
        handle = super().get_route_handler()
        takes_lines = "POST" in (self.methods or ())

        async def handled(request: Request) -> Response:
            if takes_lines and is_lines(request.headers.get("content-type", "")):
                caller = await self.check(request)
                answer = await _import_lines(request, caller)
                return Response(answer.model_dump_json(), 201, media_type="application/json")
            return await handle(request)

        return handled


router = APIRouter(prefix="/v1", tags=["fleets"], route_class=TrajectoriesRoute)

CSV = "text/csv"
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
    openapi_extra={"requestBody": {"content": {LINES: _LINE | {"schema": {}}}}},  # of any length
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
    """Import logged episodes: all, or none on an error. Lines of an export are valid entries.

    A body of `application/x-ndjson` has one episode a line and may be of any length.
    """
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

    return await once.run(caller, take, _taken_before(hosted))


async def _import_lines(request: Request, caller: Caller) -> TrajectoriesAnswer:
    """Import a body of lines: all, or none on an error."""
    container = container_of(request)
    settings = container.settings
    hosted = await container.registry.find(request.path_params["agent"])

    def parse_line(line: int, text: bytes) -> NumberedEpisode:
        place = f"line {line}"
        try:
            data = from_json(text)
        except ValueError as error:
            raise InvalidValue(place, f"valid JSON: {error}") from error
        trajectory = parse(LoggedTrajectory, data, place)
        check_metadata(trajectory.metadata, settings.metadata_bytes, f"{place}.metadata")
        return line, _logged(trajectory, place)

    reader = LineReader(request, settings.body_bytes, parse_line)
    spool = await container.line_import.spool(hosted, reader.batches())

    async def take(remember: Remember | None) -> TrajectoriesAnswer:
        numbers = await container.line_import.store(hosted, spool, remember, caller.key)
        fields = {"agent": hosted.id, "episodes": len(numbers), "by": caller.key}
        log.info("episodes imported", extra=fields)
        return _answer(hosted, numbers)

    once = OnceOnly(request, container.idempotency, request.headers.get("idempotency-key"))
    try:
        return await once.run(caller, take, _taken_before(hosted), fingerprint=reader.fingerprint)
    finally:
        spool.close()


def _taken_before(agent: HostedAgent) -> Callable[[str], Awaitable[TrajectoriesAnswer]]:
    async def taken_before(numbers: str) -> TrajectoriesAnswer:
        first, end = numbers.split("-")
        return _answer(agent, range(int(first), int(end)))

    return taken_before


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


_LABELS = {
    LINES: {
        "schema": {"type": "string"},
        "example": '{"episode": "eps_0123456789_3", "external_id": "run-17", "mode": "learn", '
        '"label": 1, "labeller": "Ada", "comment": "tidy", "at": "2026-01-02T03:04:05.678Z"}\n',
    },
    CSV: {
        "schema": {"type": "string"},
        "example": "episode,external_id,mode,label,labeller,comment,at\r\n"
        "eps_0123456789_3,run-17,learn,1,Ada,tidy,2026-01-02T03:04:05.678Z\r\n",
    },
}


@router.get(
    "/agents/{agent}/labels",
    summary="Every label, one a line",
    response_class=StreamingResponse,
    responses={
        200: {"description": "JSON lines, or CSV", "content": _LABELS},
        **declared(404, 422, 503),
    },
)
async def export_labels(
    agent: AgentId,
    registry: Registry,
    import_export: ImportExport,
    _: Operator,
    format: Annotated[  # noqa: A002 - the name of the parameter
        Literal["jsonl", "csv"], Query(description="`csv` is safe to open in a spreadsheet")
    ] = "jsonl",
) -> StreamingResponse:
    """The labels in force of every episode, without steps; `cannot_tell` is one of them."""
    hosted = await registry.find(agent)
    rows = import_export.labels(hosted)
    if format == "csv":
        headers = {"Content-Disposition": f'attachment; filename="labels-{hosted.id}.csv"'}
        return StreamingResponse(csv_lines(rows), media_type=CSV, headers=headers)
    return StreamingResponse(json_lines(rows), media_type=LINES)
