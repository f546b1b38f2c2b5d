"""Starts of episodes: one, or many in one call; with the first step where a state is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from app.api.http.auth import Actor
from app.api.http.dependencies import EpisodeViews, Lifecycle, MetadataBytes, Registry, Stepping
from app.api.http.entries import attempt, entry_of
from app.api.http.idempotency import Once, OnceOnly
from app.api.http.json_body import JsonRoute
from app.api.http.parameters import AgentId, check_metadata
from app.api.http.problems import request_id_of
from app.api.openapi.responses import created, declared, location
from app.errors import Conflict, PlauditError
from app.service.access.idempotency import Remember
from app.service.access.keys import Caller
from app.service.agents.hosted_agent import HostedAgent
from app.service.episodes.lifecycle import EpisodeMode, EpisodeRequest
from app.service.episodes.stepping import told_by
from app.wire.base import Wait
from app.wire.bulk import AgentStart, ManyStarts, ManyStartsAnswer
from app.wire.episodes import NewEpisode, StartedEpisode
from app.wire.steps import Step, StepAnswer

router = APIRouter(prefix="/v1", route_class=JsonRoute)


class Starter:
    """Starts episodes for the two routes of this module."""

    def __init__(
        self,
        registry: Registry,
        lifecycle: Lifecycle,
        stepping: Stepping,
        views: EpisodeViews,
        metadata_bytes: MetadataBytes,
        caller: Actor,
        once: Once,
    ) -> None:
        self._registry = registry
        self._lifecycle = lifecycle
        self._stepping = stepping
        self._views = views
        self._metadata_bytes = metadata_bytes
        self._caller: Caller = caller
        self._once: OnceOnly = once

    async def start(self, agent: str, new: NewEpisode) -> StartedEpisode:
        """Start one episode; with a state, take its first step too."""
        check_metadata(new.metadata, self._metadata_bytes)
        return await self._start(await self._registry.find(agent), new, new.wait)

    async def start_group(
        self, agent: str, entries: Sequence[tuple[int, AgentStart]]
    ) -> list[StartedEpisode | PlauditError]:
        """Start episodes of one agent in their order, waiting once for learning under way."""
        try:
            self._caller.sees.check_agent(agent)
            hosted = await self._registry.find(agent)
            await self._wait(hosted, [new for _, new in entries])
        except PlauditError as error:
            return [error] * len(entries)
        starts = [attempt(self._start_entry(hosted, i, new)) for i, new in entries]
        if self._once.has_key:  # looking up the keys would change the order
            return [await start for start in starts]
        return await asyncio.gather(*starts)

    async def _wait(self, agent: HostedAgent, entries: Sequence[AgentStart]) -> None:
        """Wait once for all entries that wait."""
        default = agent.specification.wait
        waits = [(default if new.wait is None else new.wait, new.mode) for new in entries]
        modes = {mode for wait, mode in waits if wait}
        if modes:
            mode = "learn" if "learn" in modes else modes.pop()
            wait: Wait = True if any(wait is True for wait, _ in waits) else "adaptive"
            await self._lifecycle.catch_up(agent, EpisodeMode(mode), wait)

    async def _start_entry(self, agent: HostedAgent, i: int, new: AgentStart) -> StartedEpisode:
        check_metadata(new.metadata, self._metadata_bytes)
        return await self._start(agent, new, False, f" {i}")

    async def _start(
        self, agent: HostedAgent, new: NewEpisode, wait: Wait | None, part: str = ""
    ) -> StartedEpisode:
        first = _first_of(new)
        if first is not None:  # a bad step starts nothing
            index, _ = agent.encode_state(first.state, "state")
            told_by(agent, first, index)

        async def start(remember: Remember | None) -> StartedEpisode:
            mode, metadata = EpisodeMode(new.mode), dict(new.metadata)
            requested = EpisodeRequest(
                mode,
                wait,
                new.external_id,
                metadata,
                new.labels_wanted,
                self._caller.key,
                new.learn_transitions,
            )
            episode = await self._lifecycle.start(agent, requested, remember)
            return await self._view(episode.id, first)

        return await self._once.run(
            self._caller, start, lambda episode: self._view(episode, first), part
        )

    async def _view(self, episode: str, first: Step | None) -> StartedEpisode:
        answer = None if first is None else await self._first_step(episode, first)
        summary = await self._views.read_summary(episode)
        return StartedEpisode(**summary.model_dump(), first_step=answer)

    async def _first_step(self, episode: str, first: Step) -> StepAnswer:
        """Take the first step, or read it if this is a retry of the start."""
        try:
            taken = await self._stepping.step(episode, first)
        except Conflict:
            found = await self._views.read(episode, sees_everything=False)
            if not found.steps:
                raise
            last = found.horizon == 1
            return StepAnswer(step=0, action=found.steps[0].action, last=last)
        action = taken.episode.agent.actions.decode(taken.action)
        return StepAnswer(step=0, action=action, last=taken.last)


def _first_of(new: NewEpisode) -> Step | None:
    """The first step that a start carries, if it carries one."""
    if new.state is None:
        return None
    return Step(state=new.state, step=0, action=new.action, allowed=new.allowed)


Starts = Annotated[Starter, Depends(Starter)]


@router.post(
    "/agents/{agent}/episodes",
    tags=["episodes"],
    status_code=201,
    summary="Start an episode",
    responses=created(404, 409, 413, 422, 503),
)
async def start_episode(
    request: Request,
    response: Response,
    agent: AgentId,
    starts: Starts,
    _: Actor,
    body: NewEpisode | None = None,
) -> StartedEpisode:
    """Start an episode. Its policy is fixed now and does not change while the episode runs.

    With `state`, the first step is taken too and `first_step` answers it.
    """
    view = await starts.start(agent, body or NewEpisode())
    response.headers["Location"] = location(request, f"/v1/episodes/{view.id}")
    return view


@router.post(
    "/episodes",
    tags=["fleets"],
    summary="Start many episodes in one call",
    response_model_exclude_unset=True,
    responses=declared(409, 413, 422, 503),
)
async def start_many(
    request: Request, body: ManyStarts, starts: Starts, _: Actor
) -> ManyStartsAnswer:
    """Each entry answers with its own episode or its own problem.

    The episodes of an agent are numbered in the order of the entries. Entries that wait for
    learning wait once for each agent.
    """
    groups: dict[str, list[tuple[int, AgentStart]]] = {}
    for i, new in enumerate(body.episodes):
        groups.setdefault(new.agent, []).append((i, new))
    outcomes: dict[int, StartedEpisode | PlauditError] = {}
    found = await asyncio.gather(*(starts.start_group(*group) for group in groups.items()))
    for group, results in zip(groups.values(), found, strict=True):
        outcomes |= {i: outcome for (i, _), outcome in zip(group, results, strict=True)}
    request_id = request_id_of(request)
    entries = [
        {"agent": new.agent, **entry_of(outcomes[i], request_id)}
        for i, new in enumerate(body.episodes)
    ]
    return ManyStartsAnswer.model_validate({"results": entries})
