"""The hot path: a state in, an action out; one episode or many in one call."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from app.api.http.auth import Actor
from app.api.http.dependencies import Stepping, container_of
from app.api.http.hot_route import HotRoute
from app.api.http.parameters import EpisodeId
from app.api.http.problems import problem_of, request_id_of
from app.api.openapi.document import operation_name
from app.api.openapi.responses import declared
from app.errors import PlauditError
from app.service.episodes.stepping import StepTaken
from app.wire.steps import EpisodeStep, ExplainedStepAnswer, ManySteps, ManyStepsAnswer, Step

router = APIRouter(prefix="/v1", route_class=HotRoute, generate_unique_id_function=operation_name)


@router.post(
    "/episodes/{episode}/steps",
    tags=["episodes"],
    summary="Send a state, get an action",
    responses=declared(404, 409, 413, 422, 503),
    response_model_exclude_unset=True,
)
async def take_step(
    request: Request, episode: EpisodeId, body: Step, _: Actor, stepping: Stepping
) -> ExplainedStepAnswer:
    """The next step. It is stored before it is answered: it survives a crash at any later moment.

    With `step`, a retry of the last step with the same state gets the same answer.
    """
    taken = await stepping.step(episode, body)
    action = taken.episode.agent.actions.decode(taken.action)
    if not body.explain:
        return ExplainedStepAnswer(step=taken.step, action=action, last=taken.last)
    # Not a dependency, because hardly any step asks for an explanation.
    explanations = container_of(request).views.explanations
    return ExplainedStepAnswer(
        step=taken.step,
        action=action,
        last=taken.last,
        explanation=await explanations.explain(taken.episode),
    )


@router.post(
    "/steps",
    tags=["fleets"],
    summary="Step many episodes in one call",
    response_model=ManyStepsAnswer,
    responses=declared(413, 422, 503),
)
async def step_many(
    request: Request, body: ManySteps, caller: Actor, stepping: Stepping
) -> dict[str, list[dict[str, Any]]]:
    """Each entry answers with its own result or its own problem."""
    outcomes = await stepping.step_many(body.steps, caller.sees)
    request_id = request_id_of(request)
    return {"results": [_entry(step, outcome, request_id) for step, outcome in outcomes]}


def _entry(
    step: EpisodeStep, outcome: StepTaken | PlauditError, request_id: str | None
) -> dict[str, Any]:
    """The result of one step, or its problem."""
    if isinstance(outcome, PlauditError):
        problem = problem_of(outcome, request_id).model_dump(exclude_none=True)
        return {"episode": step.episode, "problem": problem}
    action = outcome.episode.agent.actions.decode(outcome.action)
    return {"episode": step.episode, "step": outcome.step, "action": action, "last": outcome.last}
