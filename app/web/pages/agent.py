"""The page of an agent: its learning curve, its policies, its episodes and its beliefs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response

from app.api.http.auth import READ
from app.api.http.dependencies import AgentOverviews, container_of
from app.errors import InvalidValue
from app.service.access.keys import Caller
from app.service.views.beliefs import Beliefs, StateBelief
from app.service.views.events import EVENT_NAMES
from app.web.pages.sign_in import PageRoute, page_guard
from app.web.render.belief_map import draw_map
from app.web.render.charts import heat, learning_chart
from app.web.render.snippets import snippets
from app.web.render.summary import gulf, next_step, summary
from app.web.render.templates import render
from app.web.render.wording import Names, words
from app.wire.agents import AgentView, Specification

router = APIRouter(include_in_schema=False, route_class=PageRoute)

_MOST_CELLS = 400  # of a grid that is a table with numbers; a larger one is a picture
_MOST_OPTIONS = 400  # states in a list to choose from


@dataclass(frozen=True)
class Cell:
    """A state as it is drawn."""

    state: int
    name: str
    weight: float
    visits: int
    bonus: float
    heat: str  # a CSS class


@dataclass(frozen=True)
class StateMap:
    """The states of an agent as they are drawn."""

    rows: list[list[Cell]]  # of a grid; empty where there is none
    is_table: bool  # with numbers in the cells
    listed: list[Cell]  # the states with the largest weights


@router.get("/agents/{agent}")
async def agent_page(
    request: Request,
    agent: str,
    overviews: AgentOverviews,
    _: Annotated[Caller, page_guard(READ)],
    state: Annotated[str | None, Query(max_length=20)] = None,
    action: Annotated[str | None, Query(max_length=20)] = None,
    before: Annotated[str | None, Query(max_length=20)] = None,
    x: Annotated[str | None, Query(max_length=20)] = None,
    y: Annotated[str | None, Query(max_length=20)] = None,
) -> Response:
    """The whole page. Its script fetches it again after every event and swaps what changed."""
    overview = await overviews.read(
        agent,
        _whole(before, "?before"),
        _whole(state, "?state"),
        _whole(action, "?action"),
        (_whole(x, "?x"), _whole(y, "?y")),
    )
    names = Names(overview.agent)
    beliefs = overview.beliefs
    return render(
        request,
        "agent.html",
        overview=overview,
        agent=overview.agent,
        chart=learning_chart(overview.labels, overview.policies, overview.baseline),
        sentences=summary(overview),
        next_step=next_step(overview),
        gulf=gulf(overview),
        map=draw_map(overview.map, overview.agent, names),
        specification=_specification(overview.agent),
        snippets=snippets(overview.agent, _address(request), container_of(request).keys.are_on),
        beliefs=beliefs,
        state_map=None if beliefs is None else _state_map(beliefs, overview.agent, names),
        pick_from_list=overview.agent.states.size <= _MOST_OPTIONS,
        names=names,
        has_choice=state is not None,
        chosen_axes=x is not None or y is not None,
        event_names=EVENT_NAMES,
        **words(),
    )


@router.get("/agents/{agent}/map")
async def earlier_map(
    agent: str,
    overviews: AgentOverviews,
    _: Annotated[Caller, page_guard(READ)],
    version: Annotated[str, Query(max_length=20)] = "0",
) -> Response:
    """What differs in the map of an earlier policy version, square by square."""
    view, found = await overviews.earlier_map(agent, _whole(version, "?version") or 0)
    drawn = draw_map(found, view, Names(view))
    squares = [] if drawn is None else [square.changing for square in drawn.squares]
    return JSONResponse({"squares": squares})


def _address(request: Request) -> str:
    """The address of this server as the browser sees it."""
    return str(request.base_url).rstrip("/")


def _specification(agent: AgentView) -> str:
    """The specification as a client would send it to create the same agent."""
    fields = [*Specification.model_fields, "name", "metadata", "display", "question", "guidelines"]
    sent = agent.model_dump(mode="json", include=set(fields), exclude_none=True)
    return json.dumps(
        {name: sent[name] for name in fields if name in sent}, indent=2, ensure_ascii=False
    )


def _whole(text: str | None, field: str) -> int | None:
    if text is None:
        return None
    if text.isascii() and text.isdigit() and int(text) < 2**31:
        return int(text)
    raise InvalidValue(field, f"a whole number from 0 to {2**31 - 1}")


def _state_map(beliefs: Beliefs, agent: AgentView, names: Names) -> StateMap:
    cells = [_cell(belief, beliefs.largest, names) for belief in beliefs.grid]
    rows: list[list[Cell]] = []
    if cells and agent.display is not None and agent.display.kind == "grid":
        columns = agent.display.cols
        rows = [cells[i : i + columns] for i in range(0, len(cells), columns)]
    return StateMap(
        rows=rows,
        is_table=len(cells) <= _MOST_CELLS,
        listed=[_cell(belief, beliefs.largest, names) for belief in beliefs.listed],
    )


def _cell(belief: StateBelief, largest: float, names: Names) -> Cell:
    return Cell(
        belief.state,
        names.state(belief.state),
        belief.weight,
        belief.visits,
        belief.bonus,
        heat(belief.weight, largest),
    )
