"""The labelling desk: one page, and the few requests that its script makes.

A desk is told apart from others by its key and by names that its tab and its visit to the page made
up, so that two people who share a key, or have none, still never get the same episode.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import Field, StrictStr

from app.api.http.auth import JUDGE, TheContainer, guard
from app.errors import NotFound
from app.service.access.keys import ANYONE, Caller
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.labelling.impact import Change
from app.service.labelling.verdicts import Verdict
from app.service.runtime.container import Container
from app.service.runtime.ids import agent_id, read_agent_id
from app.service.views.wire_views import moment
from app.storage.queries import reading
from app.web.pages.sign_in import PageRoute, page_guard
from app.web.render.templates import render
from app.wire.base import Comment, ShortText, Strict

_LEARNING_SECONDS = 20.0  # longest that the news of what a verdict changed is waited for

pages = APIRouter(prefix="/label", include_in_schema=False, route_class=PageRoute)
router = APIRouter(prefix="/label", include_in_schema=False)

Judge = Annotated[Caller, guard(JUDGE)]
MadeUp = Annotated[StrictStr, Field(pattern=r"^[0-9a-zA-Z]{8,40}$")]


class AtDesk(Strict):
    """Who asks, and of which agent's episodes."""

    tab: MadeUp  # stays when the page is loaded again: so does what was skipped
    visit: MadeUp  # does not: what a visit that ends gives back is not the next one's
    agent: ShortText | None = None
    labeller: ShortText | None = None  # who it is, where no key says so


class OfEpisode(AtDesk):
    """Something about the episode that a desk shows."""

    episode: ShortText


class DeskVerdict(OfEpisode):
    """A verdict."""

    label: Literal[0, 1]
    comment: Comment | None = None


class Undo(OfEpisode):
    """A verdict taken back; ``shown`` is the episode that is put aside for it."""

    shown: ShortText | None = None


@pages.get("")
async def desk_page(
    request: Request,
    host: TheContainer,
    caller: Annotated[Caller, page_guard(JUDGE)],
    agent: Annotated[str | None, Query(max_length=80)] = None,
) -> Response:
    """The desk, of one agent or of all."""
    name = None
    if agent is not None:
        row = await host.database.read(reading.agent_row, read_agent_id(agent))
        if row is None:
            raise NotFound("agent", agent)
        name = row.name
    desk = {"agent": agent, "named": caller is not ANYONE}
    return render(request, "desk.html", desk=desk, agent_name=name)


@router.post("/next")
async def next_episode(body: AtDesk, host: TheContainer, caller: Judge) -> dict[str, Any]:
    """The episode to judge next."""
    return await _show(host, caller, body)


@router.post("/over")
async def start_over(body: AtDesk, host: TheContainer, caller: Judge) -> dict[str, Any]:
    """The same, with what was skipped."""
    host.desk.start_over(_skipper(caller, body))
    return await _show(host, caller, body)


@router.post("/skip")
async def skip(body: OfEpisode, host: TheContainer, caller: Judge) -> dict[str, Any]:
    """Leave an episode to others; the next."""
    host.desk.leases.release(body.episode, _holder(caller, body))
    host.desk.skip(_skipper(caller, body), body.episode)
    return await _show(host, caller, body)


@router.post("/verdict")
async def judge(body: DeskVerdict, host: TheContainer, caller: Judge) -> dict[str, Any]:
    """Label an episode; the next."""
    verdict = Verdict(body.label, _labeller(caller, body.labeller), body.comment or None)
    await host.desk.judge(_holder(caller, body), body.episode, verdict)
    return await _show(host, caller, body)


@router.post("/undo")
async def undo(body: Undo, host: TheContainer, caller: Judge) -> dict[str, Any]:
    """Withdraw a label; the same episode again, or the next where somebody else has it."""
    holder = _holder(caller, body)
    episode = await host.desk.undo(holder, body.episode, _labeller(caller, body.labeller))
    if body.shown is not None and body.shown != body.episode:
        host.desk.leases.release(body.shown, holder)
    if episode is None:
        return await _show(host, caller, body)
    return await _answer(host, caller, body, episode)


@router.post("/renew")
async def renew(body: OfEpisode, host: TheContainer, caller: Judge) -> dict[str, Any]:
    """Keep an episode for as long as it is looked at."""
    labeller = _labeller(caller, body.labeller)
    held = await host.desk.renew(_holder(caller, body), body.episode, labeller)
    return {"held": held, "left": await _left(host, caller, body)}


@router.post("/leave", status_code=204)
async def leave(body: AtDesk, host: TheContainer, caller: Judge) -> None:
    """Give back what the desk had."""
    host.desk.leases.release_all(_holder(caller, body))


@router.get("/change")
async def read_change(
    episode: Annotated[str, Query(max_length=80)],
    host: TheContainer,
    caller: Judge,
    labeller: Annotated[str | None, Query(max_length=200)] = None,
) -> Change:
    """What one's verdict changed, once it is learned."""
    who = _labeller(caller, labeller)
    return await host.desk.effects.change(episode, who, _LEARNING_SECONDS)


def _skipper(caller: Caller, body: AtDesk) -> str:
    return f"{caller.key} {body.tab}"


def _holder(caller: Caller, body: AtDesk) -> str:
    return f"{caller.key} {body.tab} {body.visit}"


def _agent(body: AtDesk) -> int | None:
    return None if body.agent is None else read_agent_id(body.agent)


def _labeller(caller: Caller, name: str | None) -> str | None:
    """Who judges: a key says it, and where there are none the person does."""
    return name if caller is ANYONE else caller.name


async def _left(host: Container, caller: Caller, body: AtDesk) -> int:
    return await host.desk.left(_agent(body), _labeller(caller, body.labeller))


async def _show(host: Container, caller: Caller, body: AtDesk) -> dict[str, Any]:
    holder, skipper = _holder(caller, body), _skipper(caller, body)
    labeller = _labeller(caller, body.labeller)
    episode = await host.desk.next(holder, skipper, _agent(body), labeller)
    return await _answer(host, caller, body, episode)


async def _answer(
    host: Container, caller: Caller, body: AtDesk, episode: HostedEpisode | None
) -> dict[str, Any]:
    return {
        "episode": None if episode is None else await _view(host, episode),
        "left": await _left(host, caller, body),
        "skipped": host.desk.skips(_skipper(caller, body)),
    }


async def _view(host: Container, episode: HostedEpisode) -> dict[str, Any]:
    """What a person needs to judge, and not what the model or others make of it."""
    agent, number = episode.agent, episode.number
    owner = await host.database.read(reading.agent_row, agent.number)
    row = await host.database.read(reading.episode_row, agent.number, number)
    if owner is None or row is None:
        raise NotFound("episode", episode.id)
    steps = await host.database.read(reading.step_rows, agent.number, number)
    recording = await host.recordings.find(episode.id)
    final = None
    if row.final is not None:
        shown = agent.decode_state(row.final, row.final_observation)
        final = {"place": row.final, "state": shown}
    return {
        "id": episode.id,
        "number": number,
        "agent": agent_id(agent.number),
        "agent_name": owner.name,
        "external_id": row.external_id,
        "mode": row.mode,
        "verdicts": row.verdicts,
        "labels_wanted": row.labels_wanted,
        "metadata": row.metadata,
        "finished_at": None if row.finished_at is None else moment(row.finished_at),
        "horizon": agent.horizon,
        "terminated": row.ended,
        "display": owner.display,
        "steps": [
            {
                "place": step.state,
                "state": agent.decode_state(step.state, step.observation),
                "action": agent.actions.decode(step.action),
            }
            for step in steps
        ],
        "final": final,
        "recording": None
        if recording is None
        else {"media_type": recording.media_type, "version": recording.at},
    }
