"""The page of an episode: what happened, and which moment made it good in the model's eyes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from app.agents.tabular_insight import Insight
from app.api.http.auth import READ, READ_EPISODES, TheContainer
from app.errors import InvalidValue, NotFound
from app.learning.trajectory import UNREPORTED, Trajectory
from app.service.access.keys import Caller
from app.service.agents.hosted_agent import HostedAgent
from app.service.labelling.verdicts import in_force
from app.storage.queries import labelling, reading
from app.web.pages.sign_in import PageRoute, page_guard
from app.web.render.templates import render
from app.web.render.wording import Names, words

router = APIRouter(include_in_schema=False, route_class=PageRoute)

_STEPS = 200  # listed at once
_MOMENTS = 3  # that are named first
_MOST_DRAWN = 2000  # places of a path


@dataclass(frozen=True)
class Seen:
    """What the database says."""

    agent: Any
    row: Any
    steps: Sequence[Any]
    labels: Sequence[Any]
    version: Any
    recording: Any


@dataclass(frozen=True)
class Moment:
    """A step, and what it added to the log-odds of a good verdict; None where nobody knows.

    The end has no step.
    """

    step: int | None
    state: str
    action: str
    share: float | None


@dataclass(frozen=True)
class Explained:
    """The model's view of the episode."""

    predicted: float
    offset: float
    rest: float
    shares: list[float]

    @property
    def largest(self) -> float:
        """The largest share, for the scale of the bars."""
        return max([abs(self.rest), *map(abs, self.shares)])


@router.get("/episodes/{episode}")
async def episode_page(
    request: Request,
    episode: str,
    host: TheContainer,
    caller: Annotated[Caller, page_guard(READ_EPISODES)],
    first: Annotated[str, Query(alias="from", max_length=20)] = "0",
) -> Response:
    """An episode; who only labels is not told what the model or others say before it is judged."""
    if not (first.isascii() and first.isdigit()):
        raise InvalidValue("?from", "the number of a step")
    loaded = await host.loaded.episode(episode)
    hosted = loaded.agent
    seen = await host.database.read(_read, hosted.number, loaded.number)
    if seen.row is None or seen.agent is None:
        raise NotFound("episode", episode)
    hidden = seen.row.status == "awaiting_label" and not caller.may(READ)
    secret = hidden and seen.row.labels_wanted > 1
    insight = None if hidden else await host.loaded.insight(hosted)
    explained = await asyncio.to_thread(_explain, seen, insight)
    names = Names(hosted.specification, seen.agent.display)
    moments = _moments(seen, explained, names)
    final = _final(hosted, seen.row, names)
    start = min(int(first), max(0, len(moments) - 1))
    return render(
        request,
        "episode.html",
        id=loaded.id,
        agent=hosted,
        agent_name=seen.agent.name,
        row=seen.row,
        labels=[] if secret else seen.labels,
        verdicts=[] if secret else in_force(seen.labels).values(),
        secret=secret,
        version=seen.version,
        recording=seen.recording,
        hidden=hidden,
        explained=explained,
        shown=moments[start : start + _STEPS],
        start=start,
        at_once=_STEPS,
        length=len(moments),
        strongest=_strongest(moments, explained, final or ""),
        final=final,
        way=_path(seen),
        display=seen.agent.display,
        metadata=json.dumps(seen.row.metadata, indent=2, ensure_ascii=False),
        **words(),
    )


def _read(connection: Connection, agent: int, number: int) -> Seen:
    row = reading.episode_row(connection, agent, number)
    version = None if row is None else reading.version_row(connection, agent, row.policy_version)
    return Seen(
        reading.agent_row(connection, agent),
        row,
        reading.step_rows(connection, agent, number),
        labelling.label_rows(connection, agent, number),
        version,
        reading.recording_row(connection, agent, number),
    )


def _explain(seen: Seen, insight: Insight | None) -> Explained | None:
    if insight is None or seen.row.status == "running":
        return None
    trajectory = Trajectory(
        np.array([step.state for step in seen.steps], dtype=np.int64),
        np.array([step.action for step in seen.steps], dtype=np.int64),
        UNREPORTED if seen.row.final is None else seen.row.final,
        seen.row.ended,
    )
    shares, rest = insight.shares(trajectory)
    return Explained(insight.predict(trajectory), insight.offset, rest, shares.tolist())


def _moments(seen: Seen, explained: Explained | None, names: Names) -> list[Moment]:
    shares = [None] * len(seen.steps) if explained is None else explained.shares
    return [
        Moment(
            step.step,
            names.state(step.state)
            if step.observation is None
            else names.observation(step.observation),
            names.action(step.action),
            share,
        )
        for step, share in zip(seen.steps, shares, strict=True)
    ]


def _strongest(moments: list[Moment], explained: Explained | None, final: str) -> list[Moment]:
    """The moments that moved the prediction most, the end among them."""
    if explained is None:
        return []
    every = [*moments, Moment(None, final, "", explained.rest)]
    moved = [one for one in every if one.share is not None and abs(one.share) >= 0.005]
    return sorted(moved, key=lambda one: -abs(one.share or 0.0))[:_MOMENTS]


def _final(agent: HostedAgent, row: Any, names: Names) -> str | None:
    if row.final is None:
        return None
    if agent.observes or row.final_observation is not None:
        return names.observation(row.final_observation or [])
    return names.state(row.final)


def _path(seen: Seen) -> list[tuple[float, float]]:
    """The middles of the squares that it went through, where there is a grid."""
    display = seen.agent.display
    if not display or display["kind"] != "grid" or len(seen.steps) > _MOST_DRAWN:
        return []
    places = [step.state for step in seen.steps]
    if seen.row.final is not None:
        places.append(seen.row.final)
    return [(place % display["cols"] + 0.5, place // display["cols"] + 0.5) for place in places]
