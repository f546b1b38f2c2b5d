"""Episodes: start, finish, abandon, read; the labelling queue."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy import Connection

from app.api.http import checks
from app.api.http.auth import ACT, READ_EPISODES, TheContainer, guard
from app.api.http.created import created, location
from app.api.http.idempotency import IdempotencyKey, once
from app.api.http.parameters import AgentId, Cursor, EpisodeId, Limit
from app.api.http.problems import declared
from app.errors import InvalidValue, NotFound
from app.service.access.idempotency import Remember
from app.service.access.keys import Caller
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.runtime.container import Container
from app.service.runtime.ids import episode_id, read_agent_id
from app.service.views import wire_views
from app.storage.queries import labelling, reading
from app.wire.base import Status
from app.wire.episodes import EpisodePage, EpisodeSummary, EpisodeView, Finish, NewEpisode

router = APIRouter(prefix="/v1", tags=["episodes"])


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
    host: TheContainer,
    caller: Annotated[Caller, guard(ACT)],
    body: NewEpisode | None = None,
    idempotency_key: IdempotencyKey = None,
) -> EpisodeSummary:
    """Start an episode. Its policy is pinned now: learning during it never changes it."""
    body = body or NewEpisode()
    checks.bounded(body.metadata, host.settings.metadata_bytes)
    hosted = await host.loaded.agent(read_agent_id(agent))

    async def act(remember: Remember | None) -> EpisodeSummary:
        episode = await host.play.start(
            hosted,
            body.mode,
            body.wait,
            body.external_id,
            dict(body.metadata),
            body.labels_wanted,
            remember,
        )
        return await summary(host, episode)

    async def again(made: str) -> EpisodeSummary:
        return await summary(host, await host.loaded.episode(made))

    view = await once(request, host, caller, idempotency_key, act, again)
    response.headers["Location"] = location(request, f"/v1/episodes/{view.id}")
    return view


@router.post(
    "/episodes/{episode}/finish",
    summary="End an episode before the horizon",
    responses=declared(404, 409, 413, 422, 503),
)
async def finish_episode(
    episode: EpisodeId,
    host: TheContainer,
    _: Annotated[Caller, guard(ACT)],
    body: Finish | None = None,
) -> EpisodeSummary:
    """End it where the environment did; or, once after the last step, say where that led."""
    body = body or Finish()
    return await summary(host, await host.play.finish(episode, body.state, body.terminated))


@router.post(
    "/episodes/{episode}/abandon",
    summary="Give an episode up",
    responses=declared(404, 409, 503),
)
async def abandon_episode(
    episode: EpisodeId, host: TheContainer, _: Annotated[Caller, guard(ACT)]
) -> EpisodeSummary:
    """No label will come; its transitions still count."""
    return await summary(host, await host.play.abandon(episode))


@router.get("/episodes/{episode}", summary="Read an episode", responses=declared(404, 503))
async def read_episode(
    episode: EpisodeId, host: TheContainer, _: Annotated[Caller, guard(READ_EPISODES)]
) -> EpisodeView:
    """Its steps and labels, and which step made the model expect what."""
    loaded = await host.loaded.episode(episode)
    hosted, agent, number = loaded.agent, loaded.agent.number, loaded.number
    row, steps, labels = await host.database.read(_read, agent, number)
    if row is None:
        raise NotFound("episode", episode)
    return wire_views.episode_view(hosted, row, steps, labels, await host.loaded.insight(hosted))


def _read(connection: Connection, agent: int, number: int) -> tuple[Any, Any, Any]:
    """An episode, its steps and its labels as they are at one moment."""
    return (
        reading.episode_row(connection, agent, number),
        reading.step_rows(connection, agent, number),
        labelling.label_rows(connection, agent, number),
    )


@router.get(
    "/episodes", summary="List episodes: the labelling queue", responses=declared(404, 422, 503)
)
async def list_episodes(
    host: TheContainer,
    _: Annotated[Caller, guard(READ_EPISODES)],
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
    number = None if agent is None else (await host.loaded.agent(read_agent_id(agent))).number
    if order == "informative":
        if status not in (None, "awaiting_label") or external_id is not None:
            raise InvalidValue("?order", "oldest or newest, unless it is what awaits a label")
        return await _informative(host, number, limit, cursor)
    after = None if cursor is None else checks.cursor(cursor, 3)
    rows = await host.database.read(
        reading.episode_page,
        number,
        status,
        external_id,
        order == "newest",
        None if after is None else (after[0], after[1], after[2]),
        limit + 1,
    )
    items = [await _listed(host, row) for row in rows[:limit]]
    last = rows[limit - 1] if len(rows) > limit else None
    following = None if last is None else f"{last.created_at}-{last.agent}-{last.number}"
    return EpisodePage(items=items, next=following)


async def _informative(
    host: Container, agent: int | None, limit: int, cursor: str | None
) -> EpisodePage:
    skip = 0 if cursor is None else checks.cursor(cursor, 1)[0]
    queue = await host.judgement.queue(agent)
    items: list[EpisodeSummary] = []
    for score, owner, number in queue[skip : skip + limit]:
        row = await host.database.read(reading.episode_row, owner, number)
        if row is not None and row.status == "awaiting_label":
            view = await _listed(host, row)
            items.append(view.model_copy(update={"information": score}))
    following = str(skip + limit) if len(queue) > skip + limit else None
    return EpisodePage(items=items, next=following)


async def _listed(host: Container, row: Any) -> EpisodeSummary:
    agent = await host.loaded.agent(row.agent)
    episode = host.loaded.episodes.get(episode_id(row.agent, row.number))
    length = row.length if row.length is not None else (episode.length if episode else None)
    if length is None:
        steps = await host.database.read(reading.step_rows, row.agent, row.number)
        length = len(steps)
    return EpisodeSummary(**wire_views.episode_fields(row, agent.horizon, length))


async def summary(host: Container, episode: HostedEpisode) -> EpisodeSummary:
    """An episode as it is stored now."""
    row = await host.database.read(reading.episode_row, episode.agent.number, episode.number)
    if row is None:
        raise NotFound("episode", episode.id)
    return EpisodeSummary(**wire_views.episode_fields(row, episode.agent.horizon, episode.length))
