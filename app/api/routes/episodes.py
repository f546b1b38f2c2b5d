"""Episodes: finish, abandon, read; the labelling queue."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from app.api.http.auth import JUDGE_OWN, READ, Actor, EpisodeReader, labeller_of
from app.api.http.dependencies import EpisodeViews, Lifecycle, Ownership
from app.api.http.entries import attempt_each, entry_of
from app.api.http.json_body import JsonRoute
from app.api.http.json_stream import json_response
from app.api.http.parameters import Cursor, EpisodeId, Limit, read_cursor
from app.api.http.problems import request_id_of
from app.api.openapi.responses import declared
from app.errors import InvalidValue
from app.service.access.keys import Caller, check
from app.service.access.ownership import Ownership as OwnershipPart
from app.service.episodes.lifecycle import Lifecycle as LifecyclePart
from app.service.labelling.slots import GivenLabel
from app.service.views.episodes import EpisodeViews as ViewsPart
from app.wire.base import Status
from app.wire.bulk import ManyFinishes, ManyFinishesAnswer
from app.wire.episodes import EpisodePage, EpisodeSummary, EpisodeView, Finish

router = APIRouter(prefix="/v1", route_class=JsonRoute)


@router.post(
    "/episodes/{episode}/finish",
    tags=["episodes"],
    summary="End an episode before the horizon",
    responses=declared(404, 409, 413, 422, 503),
)
async def finish_episode(
    episode: EpisodeId,
    lifecycle: Lifecycle,
    views: EpisodeViews,
    ownership: Ownership,
    caller: Actor,
    body: Finish | None = None,
) -> EpisodeSummary:
    """End an episode early, or report the state that its last step led to.

    A `label` is stored together with the end: both, or neither.
    """
    return await _finish(episode, body or Finish(), lifecycle, views, ownership, caller)


@router.post(
    "/finishes",
    tags=["fleets"],
    summary="Finish many episodes in one call",
    response_model_exclude_unset=True,
    responses=declared(413, 422, 503),
)
async def finish_many(
    request: Request,
    body: ManyFinishes,
    lifecycle: Lifecycle,
    views: EpisodeViews,
    ownership: Ownership,
    caller: Actor,
) -> ManyFinishesAnswer:
    """Each entry answers with its own episode or its own problem."""
    outcomes = await attempt_each(
        body.finishes,
        lambda end: end.episode,
        lambda end: _finish(end.episode, end, lifecycle, views, ownership, caller),
    )
    request_id = request_id_of(request)
    results = [
        {"episode": end.episode, **entry_of(outcome, request_id)}
        for end, outcome in zip(body.finishes, outcomes, strict=True)
    ]
    return ManyFinishesAnswer.model_validate({"results": results})


async def _finish(
    episode: str,
    end: Finish,
    lifecycle: LifecyclePart,
    views: ViewsPart,
    ownership: OwnershipPart,
    caller: Caller,
) -> EpisodeSummary:
    caller.sees.check_episode(episode)
    given = None
    if end.label is not None:
        check(caller, JUDGE_OWN)
        await ownership.check_may_label(caller, episode)
        labeller = labeller_of(caller, end.labeller)
        given = GivenLabel(int(end.label), labeller, end.comment)
    finished = await lifecycle.finish(episode, end.state, end.terminated, given, end.executed)
    return await views.summary(finished)


@router.post(
    "/episodes/{episode}/abandon",
    tags=["episodes"],
    summary="Abandon an episode",
    responses=declared(404, 409, 503),
)
async def abandon_episode(
    episode: EpisodeId, lifecycle: Lifecycle, views: EpisodeViews, _: Actor
) -> EpisodeSummary:
    """Abandon an episode: it gets no label. The agent still learns its transitions."""
    return await views.summary(await lifecycle.abandon(episode))


@router.get(
    "/episodes/{episode}",
    tags=["episodes"],
    summary="Read an episode",
    response_model=EpisodeView,
    responses=declared(404, 503),
)
async def read_episode(episode: EpisodeId, views: EpisodeViews, caller: EpisodeReader) -> Response:
    """Its steps and labels, and what each step adds to the model's prediction.

    A labeller sees the prediction, and the labels of others, once the episode is judged.
    """
    view = await views.read(episode, sees_everything=caller.may(READ))
    return await json_response(dict(view))


@router.get(
    "/episodes",
    tags=["episodes"],
    summary="List episodes: the labelling queue",
    responses=declared(404, 422, 503),
)
async def list_episodes(
    views: EpisodeViews,
    caller: EpisodeReader,
    agent: Annotated[str | None, Query(description="of one agent")] = None,
    status: Annotated[Status | None, Query(description="with one status")] = None,
    external_id: Annotated[
        str | None, Query(max_length=200, description="with this name of yours")
    ] = None,
    order: Annotated[
        Literal["informative", "oldest", "newest"],
        Query(
            description="`informative` lists first what would teach the most; only for episodes "
            "that wait for a label"
        ),
    ] = "oldest",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> EpisodePage:
    """Episodes in one of three orders."""
    if order == "informative":
        if status not in (None, "awaiting_label") or external_id is not None:
            raise InvalidValue("?order", "oldest or newest, unless it is what awaits a label")
        skip = 0 if cursor is None else read_cursor(cursor, 1)[0]
        return await views.most_informative(caller.sees, agent, skip, limit)
    after = None if cursor is None else read_cursor(cursor, 3)
    return await views.page(
        caller.sees,
        agent,
        status,
        external_id,
        order == "newest",
        None if after is None else (after[0], after[1], after[2]),
        limit,
    )
