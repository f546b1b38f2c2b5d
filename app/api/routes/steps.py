"""The hot path: a state in, an action out; one episode or many in one call."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request

from app.api.http.auth import ACT, guard
from app.api.http.hot_route import HotRoute
from app.api.http.openapi import operation_name
from app.api.http.parameters import EpisodeId
from app.api.http.problems import declared, problem_of, request_id_of
from app.errors import PlauditError
from app.service.access.keys import Caller
from app.service.episodes.stepping import StepTaken
from app.service.runtime.container import Container
from app.service.views.explanation import explain
from app.wire.steps import (
    EpisodeStep,
    ExplainedStepAnswer,
    ExplanationView,
    ManySteps,
    ManyStepsAnswer,
    Step,
)

router = APIRouter(prefix="/v1", route_class=HotRoute, generate_unique_id_function=operation_name)


@router.post(
    "/episodes/{episode}/steps",
    tags=["episodes"],
    summary="Send a state, get an action",
    responses=declared(404, 409, 413, 422, 503),
    response_model_exclude_unset=True,
)
async def take_step(
    request: Request, episode: EpisodeId, body: Step, _: Annotated[Caller, guard(ACT)]
) -> ExplainedStepAnswer:
    """The next step. It is stored before it is answered: it survives a crash at any later moment.

    With `step`, a retry of the last step with the same state gets the same answer.
    """
    host: Container = request.app.state.container
    taken = await host.stepping.step(episode, body.step, body.state)
    action = taken.episode.agent.actions.decode(taken.action)
    if not body.explain:
        return ExplainedStepAnswer(step=taken.step, action=action, last=taken.last)
    why = await explain(host.database, host.loaded, taken.episode)
    shown = None if why is None else ExplanationView(**vars(why))
    return ExplainedStepAnswer(step=taken.step, action=action, last=taken.last, explanation=shown)


@router.post(
    "/steps",
    tags=["fleets"],
    summary="Step many episodes in one call",
    response_model=ManyStepsAnswer,
    responses=declared(413, 422, 503),
)
async def step_many(
    request: Request, body: ManySteps, _: Annotated[Caller, guard(ACT)]
) -> dict[str, list[dict[str, Any]]]:
    """Each entry answers with its own result or its own problem."""
    host: Container = request.app.state.container
    outcomes = await host.stepping.step_many(body.steps)
    own = request_id_of(request)
    return {"results": [_entry(one, outcome, own) for one, outcome in outcomes]}


def _entry(
    one: EpisodeStep, outcome: StepTaken | PlauditError, request_id: str | None
) -> dict[str, Any]:
    if isinstance(outcome, PlauditError):
        problem = problem_of(outcome, request_id).model_dump(exclude_none=True)
        return {"episode": one.episode, "problem": problem}
    action = outcome.episode.agent.actions.decode(outcome.action)
    return {"episode": one.episode, "step": outcome.step, "action": action, "last": outcome.last}
