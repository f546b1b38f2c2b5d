"""The page of an agent: how it has been doing, what it believes, and how long it will take."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from app.agents.baseline import LONGEST, uniform_success
from app.agents.state_summary import Follower, Pair, Places, followers_of, least_known, places_of
from app.agents.tabular_insight import Insight
from app.api.http.auth import READ, TheContainer
from app.errors import InvalidValue, NotFound
from app.learning.statistics.forecast import SHARE, Forecast, forecast
from app.service.access.keys import Caller
from app.service.agents.hosted_agent import HostedAgent
from app.service.runtime.ids import episode_id, read_agent_id
from app.service.views.curves import outcomes, thinned, wilson
from app.storage.queries import browsing, labelling, reading
from app.web.pages.sign_in import PageRoute, page_guard
from app.web.render.charts import CurveChart, heat, learning_chart
from app.web.render.templates import render
from app.web.render.wording import Names, words

router = APIRouter(include_in_schema=False, route_class=PageRoute)

_EPISODES = 15  # listed at once
_VERSIONS = 10
_UNCERTAIN = 8
_FOLLOWERS = 20
_LISTED = 20  # states, where they are not drawn
_MOST_CELLS = 400  # that are a table with numbers
_MOST_SQUARES = 10_000  # that are drawn at all
_MOST_OPTIONS = 400  # states in a list to choose from


@dataclass(frozen=True)
class Seen:
    """What the database says."""

    row: Any
    labels: Sequence[Any]
    versions: Sequence[Any]
    episodes: Sequence[Any]


@dataclass(frozen=True)
class Cell:
    """A state as it is drawn."""

    state: int
    name: str
    weight: float
    visits: int
    bonus: float
    heat: str


@dataclass(frozen=True)
class Beliefs:
    """What the agent believes, ready to be drawn."""

    features: str
    offset: float
    rows: list[list[Cell]]  # a grid; empty where there is none
    is_table: bool  # with numbers in the cells
    listed: list[Cell]  # the states that matter most
    unvisited: int
    states: int
    uncertain: list[Pair]
    state: int
    action: int
    tried: int
    followers: list[Follower]


@router.get("/agents/{agent}")
async def agent_page(
    request: Request,
    agent: str,
    host: TheContainer,
    _: Annotated[Caller, page_guard(READ)],
    state: Annotated[str | None, Query(max_length=20)] = None,
    action: Annotated[str | None, Query(max_length=20)] = None,
    before: Annotated[str | None, Query(max_length=20)] = None,
) -> Response:
    """The whole page; a script fetches it again when something happens and swaps what changed."""
    hosted = await host.loaded.agent(read_agent_id(agent))
    until = None if before is None else _whole(before, "?before", 2**31)
    seen = await host.database.read(_read, hosted.number, until)
    if seen.row is None:
        raise NotFound("agent", hosted.id)
    insight = await host.loaded.insight(hosted)
    spaces = hosted.specification
    chosen = (
        None if state is None else _whole(state, "?state", spaces.states.size),
        None if action is None else _whole(action, "?action", spaces.actions.size),
    )
    names = Names(spaces, seen.row.display)
    context = await asyncio.to_thread(_context, hosted, seen, insight, chosen, names)
    return render(request, "agent.html", **context, **words(), names=names)


def _whole(text: str, field: str, below: int) -> int:
    if text.isascii() and text.isdigit() and int(text) < below:
        return int(text)
    raise InvalidValue(field, f"a whole number from 0 to {below - 1}")


def _read(connection: Connection, agent: int, before: int | None) -> Seen:
    return Seen(
        reading.agent_row(connection, agent),
        labelling.verdicts_of(connection, agent),
        reading.version_rows(connection, agent),
        browsing.newest_episodes(connection, agent, before, _EPISODES + 1),
    )


def _context(
    agent: HostedAgent,
    seen: Seen,
    insight: Insight | None,
    chosen: tuple[int | None, int | None],
    names: Names,
) -> dict[str, Any]:
    row, versions = seen.row, seen.versions
    labels = [one.label for one in seen.labels]
    promised = versions[-1].predicted if versions else None
    baseline = _baseline(agent, insight) if labels else None
    chart: CurveChart = learning_chart(labels, thinned(versions), baseline)
    coming: Forecast = forecast(
        outcomes(seen.labels),
        len(labels),
        None if promised is None else SHARE * promised,
    )
    return {
        "agent": agent,
        "row": row,
        "kind": agent.specification.algorithm.kind,
        "good": row.good / row.labelled if row.labelled else None,
        "interval": wilson(row.good, row.labelled) if row.labelled else None,
        "promised": promised,
        "baseline": baseline,
        "chart": chart,
        "forecast": coming,
        "share": SHARE,
        "versions": versions[: -_VERSIONS - 1 : -1],
        "version_count": len(versions),
        "learning": agent.learning,
        "episodes": seen.episodes[:_EPISODES],
        "older": seen.episodes[_EPISODES - 1].number if len(seen.episodes) > _EPISODES else None,
        "episode_id": episode_id,
        "beliefs": None if insight is None else _beliefs(insight, row.display, chosen, names),
        "pick_from_list": agent.states.size <= _MOST_OPTIONS,
    }


def _baseline(agent: HostedAgent, insight: Insight | None) -> float | None:
    if insight is None or agent.horizon > LONGEST:
        return None
    return uniform_success(insight, np.random.default_rng(agent.seed))


def _beliefs(
    insight: Insight,
    display: Any,
    chosen: tuple[int | None, int | None],
    names: Names,
) -> Beliefs:
    places = places_of(insight)
    S = len(places.visits)
    largest = float(np.abs(places.weights).max(initial=0.0))

    def cell(state: int) -> Cell:
        return _cell(places, state, largest, names)

    rows: list[list[Cell]] = []
    if display and display["kind"] == "grid":
        high, wide = display["rows"], display["cols"]
        if high * wide <= _MOST_SQUARES:
            rows = [[cell(i) for i in range(r * wide, min(S, (r + 1) * wide))] for r in range(high)]
    order = np.lexsort((-places.visits, -np.abs(places.weights)))[:_LISTED]
    uncertain = least_known(insight, _UNCERTAIN)
    usual = (uncertain[0].state, uncertain[0].action) if uncertain else (0, 0)
    state = usual[0] if chosen[0] is None else chosen[0]
    action = (usual[1] if chosen[0] is None else 0) if chosen[1] is None else chosen[1]
    return Beliefs(
        features=insight.description,
        offset=insight.offset,
        rows=rows,
        is_table=sum(map(len, rows)) <= _MOST_CELLS,
        listed=[cell(int(i)) for i in order],
        unvisited=int((places.visits == 0).sum()),
        states=S,
        uncertain=uncertain,
        state=state,
        action=action,
        tried=int(insight.visits[state, action]),
        followers=followers_of(insight, state, action, _FOLLOWERS),
    )


def _cell(places: Places, state: int, largest: float, names: Names) -> Cell:
    weight = float(places.weights[state])
    return Cell(
        state,
        names.state(state),
        weight,
        int(places.visits[state]),
        float(places.bonuses[state]),
        heat(weight, largest),
    )
