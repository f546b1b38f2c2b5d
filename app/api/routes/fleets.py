"""For simulators and fleets: logged episodes in and out."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from app.api.http import checks
from app.api.http.auth import OPERATE, TheContainer, guard
from app.api.http.idempotency import IdempotencyKey, once
from app.api.http.parameters import AgentId
from app.api.http.problems import declared
from app.errors import InvalidValue
from app.service.access.idempotency import Remember
from app.service.access.keys import Caller
from app.service.agents.hosted_agent import HostedAgent
from app.service.episodes.import_export import LoggedEpisode
from app.service.labelling.verdicts import Verdict, majority
from app.service.runtime.container import Container
from app.service.runtime.ids import episode_id, read_agent_id
from app.wire.trajectories import LoggedTrajectory, Trajectories, TrajectoriesAnswer

log = logging.getLogger(__name__)

router = APIRouter(prefix="/v1", tags=["fleets"])

LINES = "application/x-ndjson"
_LINE = {
    "schema": {"type": "string"},
    "example": '{"episode": "eps_0123456789_0", "number": 0, "states": [0, 4, 8], '
    '"actions": [1, 1], "terminated": true, "label": 0, "status": "labelled", '
    '"labels_wanted": 1, "verdicts": [{"label": 0, "labeller": "Ada", "comment": null}], '
    '"mode": "learn", "policy_version": 0, "external_id": null, "metadata": {}}\n',
}


@router.post(
    "/agents/{agent}/trajectories",
    status_code=201,
    summary="Learn from logged episodes",
    responses=declared(404, 409, 413, 422, 503),
)
async def import_trajectories(
    request: Request,
    agent: AgentId,
    body: Trajectories,
    host: TheContainer,
    caller: Annotated[Caller, guard(OPERATE)],
    idempotency_key: IdempotencyKey = None,
) -> TrajectoriesAnswer:
    """All are taken or none, and they are learned from once. Lines of an export fit as they are."""
    hosted = await host.loaded.agent(read_agent_id(agent))
    logged = [_logged(one, i, host) for i, one in enumerate(body.trajectories)]

    async def act(remember: Remember | None) -> TrajectoriesAnswer:
        numbers = await host.logbook.take_in(hosted, logged, remember)
        fields = {"agent": hosted.id, "episodes": len(numbers), "by": caller.key}
        log.info("episodes imported", extra=fields)
        return _taken(hosted, numbers)

    async def again(made: str) -> TrajectoriesAnswer:
        first, end = made.split("-")
        return _taken(hosted, range(int(first), int(end)))

    return await once(request, host, caller, idempotency_key, act, again)


def _logged(one: LoggedTrajectory, place: int, host: Container) -> LoggedEpisode:
    checks.bounded(one.metadata, host.settings.metadata_bytes, f"trajectories.{place}.metadata")
    status = one.status if one.status in ("completed", "abandoned") else None
    verdicts = _verdicts(one)
    if one.label is not None and status is not None:
        raise InvalidValue(f"trajectories.{place}.status", "labelled, where there is a label")
    if one.label is not None and one.label != majority(verdicts):
        raise InvalidValue(f"trajectories.{place}.label", "the majority of its verdicts")
    return LoggedEpisode(
        states=one.states,
        actions=one.actions,
        verdicts=verdicts,
        settled=one.label is not None,
        labels_wanted=one.labels_wanted,
        terminated=one.terminated,
        status=status,
        external_id=one.external_id,
        metadata=dict(one.metadata),
    )


def _verdicts(one: LoggedTrajectory) -> list[Verdict]:
    if one.verdicts:
        return [Verdict(int(said.label), said.labeller, said.comment) for said in one.verdicts]
    return [] if one.label is None else [Verdict(int(one.label), one.labeller)]


def _taken(agent: HostedAgent, numbers: range) -> TrajectoriesAnswer:
    return TrajectoriesAnswer(
        agent=agent.id,
        imported=len(numbers),
        first=episode_id(agent.number, numbers.start),
        last=episode_id(agent.number, numbers.stop - 1),
        learning=agent.learning,
    )


@router.get(
    "/agents/{agent}/export",
    summary="Every episode, one a line",
    response_class=StreamingResponse,
    responses={
        200: {"description": "JSON lines", "content": {LINES: _LINE}},
        **declared(404, 503),
    },
)
async def export_episodes(
    agent: AgentId, host: TheContainer, _: Annotated[Caller, guard(OPERATE)]
) -> StreamingResponse:
    """JSON lines of every episode that is over, oldest first; `trajectories` takes them back."""
    hosted = await host.loaded.agent(read_agent_id(agent))

    async def lines() -> AsyncIterator[str]:
        async for line in host.logbook.lines(hosted):
            yield json.dumps(line) + "\n"

    return StreamingResponse(lines(), media_type=LINES)
