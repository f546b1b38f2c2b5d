"""The labelling desk: its page, and the requests that its script makes.

A desk is identified by its key and by two random names: one of the browser tab, one of the visit
to the page. Two people who share a key, or use none, still never get the same episode.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from app.api.http.auth import JUDGE, Labeller
from app.api.http.dependencies import AgentViews, Desk, DeskViews, Impact, Leases
from app.api.http.json_body import JsonRoute
from app.service.access.keys import ANYONE, Caller
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.labelling.impact import Impact as LabelImpact
from app.service.labelling.slots import Attention, CannotTell, GivenLabel
from app.service.runtime.ids import read_agent_id
from app.web.pages.sign_in import PageRoute, page_guard
from app.web.render.templates import render
from app.wire.base import CANNOT_TELL
from app.wire.desk import (
    DeskAnswer,
    DeskEpisode,
    DeskEpisodeRequest,
    DeskLabel,
    DeskLease,
    DeskProgress,
    DeskRequest,
    DeskReturn,
)

_LEARNING_SECONDS = 20.0  # longest wait for what a label changed

pages = APIRouter(prefix="/label", include_in_schema=False, route_class=PageRoute)
router = APIRouter(prefix="/label", include_in_schema=False, route_class=JsonRoute)


@pages.get("")
async def desk_page(
    request: Request,
    views: AgentViews,
    caller: Annotated[Caller, page_guard(JUDGE)],
    agent: Annotated[str | None, Query(max_length=80)] = None,
) -> Response:
    """The desk, for the episodes of one agent or of all."""
    agent = agent or None  # a form without a choice sends nothing
    name = None if agent is None else await views.name(agent)
    named = caller is not ANYONE
    waiting = await views.waiting(caller.sees)
    desk = {"agent": agent, "named": named, "labeller": caller.name if named else None}
    return render(request, "desk.html", desk=desk, agent=agent, agent_name=name, waiting=waiting)


@router.post("/next")
async def next_episode(
    body: DeskRequest, desk: Desk, views: DeskViews, caller: Labeller
) -> DeskAnswer:
    """The episode to judge next."""
    return await _next(desk, views, caller, body)


@router.post("/over")
async def start_over(
    body: DeskRequest, desk: Desk, views: DeskViews, caller: Labeller
) -> DeskAnswer:
    """Forget what was skipped. Returns the episode to judge next."""
    desk.start_over(_skipper(caller, body))
    return await _next(desk, views, caller, body)


@router.post("/skip")
async def skip(
    body: DeskEpisodeRequest, desk: Desk, leases: Leases, views: DeskViews, caller: Labeller
) -> DeskAnswer:
    """Skip an episode. Returns the episode to judge next."""
    leases.release(body.episode, _holder(caller, body))
    desk.skip(_skipper(caller, body), body.episode)
    return await _next(desk, views, caller, body)


@router.post("/verdict")
async def judge(body: DeskLabel, desk: Desk, views: DeskViews, caller: Labeller) -> DeskAnswer:
    """Label an episode, or replace an earlier label. Returns the episode to judge next."""
    judge_or_correct = desk.correct if body.again else desk.judge
    await judge_or_correct(_holder(caller, body), body.episode, _given(caller, body))
    return await _next(desk, views, caller, body)


@router.post("/undo")
async def undo(
    body: DeskReturn, desk: Desk, leases: Leases, views: DeskViews, caller: Labeller
) -> DeskAnswer:
    """Withdraw a label. Returns the same episode, or the next one if another person holds it."""
    holder = _holder(caller, body)
    episode = await desk.undo(holder, body.episode, _labeller(caller, body.labeller))
    return await _return_to(desk, leases, views, caller, body, episode)


@router.post("/unskip")
async def unskip(
    body: DeskReturn, desk: Desk, leases: Leases, views: DeskViews, caller: Labeller
) -> DeskAnswer:
    """Undo a skip. Returns the skipped episode, or the next one if it needs no label any more."""
    labeller = _labeller(caller, body.labeller)
    skipper, holder = _skipper(caller, body), _holder(caller, body)
    episode = await desk.unskip(skipper, holder, body.episode, labeller)
    return await _return_to(desk, leases, views, caller, body, episode)


@router.post("/reopen")
async def reopen(
    body: DeskReturn, desk: Desk, leases: Leases, views: DeskViews, caller: Labeller
) -> DeskAnswer:
    """Reopen an episode that the caller has labelled. Its label stays until it is replaced."""
    labeller = _labeller(caller, body.labeller)
    episode = await desk.reopen(_holder(caller, body), body.episode, labeller)
    return await _return_to(desk, leases, views, caller, body, episode)


@router.post("/renew")
async def renew(body: DeskEpisodeRequest, desk: Desk, caller: Labeller) -> DeskLease:
    """Renew the lease of the episode on the desk."""
    labeller = _labeller(caller, body.labeller)
    held = await desk.renew(_holder(caller, body), body.episode, labeller)
    return DeskLease(held=held, left=await _left(desk, caller, body))


@router.post("/leave", status_code=204)
async def leave(body: DeskRequest, leases: Leases, caller: Labeller) -> None:
    """Release every lease of the desk."""
    leases.release_all(_holder(caller, body))


@router.get("/example")
async def read_example(
    episode: Annotated[str, Query(max_length=80)], desk: Desk, views: DeskViews, caller: Labeller
) -> DeskEpisode:
    """An episode that the guidelines of its agent show as an example."""
    caller.sees.check_episode(episode)
    return await views.read(await desk.example(episode))


@router.get("/progress")
async def read_progress(
    views: DeskViews,
    caller: Labeller,
    agent: Annotated[str, Query(max_length=80)],
    since: Annotated[int, Query(ge=0, lt=2**53)],
    labeller: Annotated[str | None, Query(max_length=200)] = None,
) -> DeskProgress:
    """How many episodes the caller has judged since a time, and the curve of an agent."""
    caller.sees.choose(agent)
    return await views.progress(agent, _labeller(caller, labeller), since)


@router.get("/change")
async def read_change(
    episode: Annotated[str, Query(max_length=80)],
    impact: Impact,
    caller: Labeller,
    labeller: Annotated[str | None, Query(max_length=200)] = None,
) -> LabelImpact:
    """What the caller's label changed, once it is learned."""
    return await impact.of_label(episode, _labeller(caller, labeller), _LEARNING_SECONDS)


def _given(caller: Caller, body: DeskLabel) -> GivenLabel | CannotTell:
    labeller = _labeller(caller, body.labeller)
    attention = Attention(body.guidelines_version, body.seconds)
    if body.label == CANNOT_TELL:
        return CannotTell(labeller, body.reason or "", attention=attention)
    return GivenLabel(body.label, labeller, body.comment or None, attention=attention)


def _skipper(caller: Caller, body: DeskRequest) -> str:
    """The identity of a browser tab, which keeps its skipped episodes over all visits."""
    return f"{caller.key} {body.tab}"


def _holder(caller: Caller, body: DeskRequest) -> str:
    """The holder of leases: one visit. Refuses an episode that the caller does not see."""
    if isinstance(body, DeskEpisodeRequest):
        caller.sees.check_episode(body.episode)
    return f"{caller.key} {body.tab} {body.visit}"


def _agents(caller: Caller, body: DeskRequest) -> frozenset[int] | None:
    """The agents whose episodes the desk shows."""
    return caller.sees.choose(body.agent)


def _labeller(caller: Caller, name: str | None) -> str | None:
    """The name of the key; where keys are off, the name that the person gave."""
    return name if caller is ANYONE else caller.name


async def _left(desk: Desk, caller: Caller, body: DeskRequest) -> int:
    return await desk.left(_agents(caller, body), _labeller(caller, body.labeller))


async def _return_to(
    desk: Desk,
    leases: Leases,
    views: DeskViews,
    caller: Caller,
    body: DeskReturn,
    episode: HostedEpisode | None,
) -> DeskAnswer:
    """Release the episode on the desk. Returns an earlier episode, or the next one."""
    if body.shown is not None and body.shown != body.episode:
        leases.release(body.shown, _holder(caller, body))
    if episode is None:
        return await _next(desk, views, caller, body)
    return await _answer(desk, views, caller, body, episode)


async def _next(desk: Desk, views: DeskViews, caller: Caller, body: DeskRequest) -> DeskAnswer:
    holder, skipper = _holder(caller, body), _skipper(caller, body)
    labeller = _labeller(caller, body.labeller)
    current = None if body.current is None else read_agent_id(body.current)
    episode = await desk.next(holder, skipper, _agents(caller, body), labeller, current)
    return await _answer(desk, views, caller, body, episode)


async def _answer(
    desk: Desk,
    views: DeskViews,
    caller: Caller,
    body: DeskRequest,
    episode: HostedEpisode | None,
) -> DeskAnswer:
    return DeskAnswer(
        episode=None if episode is None else await views.read(episode),
        left=await _left(desk, caller, body),
        skipped=desk.skips(_skipper(caller, body)),
    )
