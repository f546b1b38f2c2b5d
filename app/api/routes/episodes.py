"""Episodes: start, finish, abandon, read; the labelling queue."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from app.api.http.auth import Actor, EpisodeReader
from app.api.http.dependencies import EpisodeViews, Lifecycle, MetadataBytes, Registry
from app.api.http.idempotency import Once
from app.api.http.json_body import JsonRoute
from app.api.http.parameters import (
    AgentId,
    Cursor,
    EpisodeId,
    Limit,
    check_metadata,
    read_cursor,
)
from app.api.http.responses import created, declared, location
from app.errors import InvalidValue
from app.service.access.idempotency import Remember
from app.service.episodes.lifecycle import EpisodeMode, EpisodeRequest
from app.wire.base import Status
from app.wire.episodes import EpisodePage, EpisodeSummary, EpisodeView, Finish, NewEpisode

router = APIRouter(prefix="/v1", tags=["episodes"], route_class=JsonRoute)


@router.post(
    "/agents/{agent}/episodes",
    status_code=201,
    summary="Start an episode",
    responses=created(404, 409, 413, 422, 503),
)
async def start_episode(
    request: Request,
    response: Response,
    agent: AgentId,
    registry: Registry,
    lifecycle: Lifecycle,
    views: EpisodeViews,
    metadata_bytes: MetadataBytes,
    caller: Actor,
    once: Once,
    body: NewEpisode | None = None,
) -> EpisodeSummary:
    """Start an episode. Its policy is pinned now: learning during it never changes it."""
    new = body or NewEpisode()
    check_metadata(new.metadata, metadata_bytes)
    hosted = await registry.find(agent)

    async def start(remember: Remember | None) -> EpisodeSummary:
        asked = EpisodeRequest(
            EpisodeMode(new.mode),
            new.wait,
            new.external_id,
            dict(new.metadata),
            new.labels_wanted,
        )
        episode = await lifecycle.start(hosted, asked, remember)
        return await views.summary(episode)

    view = await once.run(caller, start, views.read_summary)
    response.headers["Location"] = location(request, f"/v1/episodes/{view.id}")
    return view


@router.post(
    "/episodes/{episode}/finish",
    summary="End an episode before the horizon",
    responses=declared(404, 409, 413, 422, 503),
)
async def finish_episode(
    episode: EpisodeId,
    lifecycle: Lifecycle,
    views: EpisodeViews,
    _: Actor,
    body: Finish | None = None,
) -> EpisodeSummary:
    """End it where the environment did; or, once after the last step, say where that led."""
    end = body or Finish()
    return await views.summary(await lifecycle.finish(episode, end.state, end.terminated))


@router.post(
    "/episodes/{episode}/abandon",
    summary="Give an episode up",
    responses=declared(404, 409, 503),
)
async def abandon_episode(
    episode: EpisodeId, lifecycle: Lifecycle, views: EpisodeViews, _: Actor
) -> EpisodeSummary:
    """No label will come; its transitions still count."""
    return await views.summary(await lifecycle.abandon(episode))


@router.get("/episodes/{episode}", summary="Read an episode", responses=declared(404, 503))
async def read_episode(episode: EpisodeId, views: EpisodeViews, _: EpisodeReader) -> EpisodeView:
    """Its steps and labels, and what each step adds to the model's prediction."""
    return await views.read(episode)


@router.get(
    "/episodes", summary="List episodes: the labelling queue", responses=declared(404, 422, 503)
)
async def list_episodes(
    views: EpisodeViews,
    _: EpisodeReader,
    agent: Annotated[str | None, Query(description="of one agent")] = None,
    status: Annotated[Status | None, Query(description="with one status")] = None,
    external_id: Annotated[
        str | None, Query(max_length=200, description="with this name of yours")
    ] = None,
    order: Annotated[
        Literal["informative", "oldest", "newest"],
        Query(
            description="`informative` puts first what would teach the most; it takes episodes "
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
        return await views.most_informative(agent, skip, limit)
    after = None if cursor is None else read_cursor(cursor, 3)
    return await views.page(
        agent,
        status,
        external_id,
        order == "newest",
        None if after is None else (after[0], after[1], after[2]),
        limit,
    )
