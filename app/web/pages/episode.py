"""The page of an episode: its steps, its labels, and what each step adds to the prediction."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from app.api.http.auth import JUDGE, READ, READ_EPISODES
from app.api.http.dependencies import EpisodeDetailViews
from app.errors import InvalidValue
from app.service.access.keys import ANYONE, Caller
from app.service.views.episode_details import EpisodeDetails, PlayedStep, Visit
from app.service.views.episodes import Prediction
from app.web.pages.sign_in import PageRoute, page_guard
from app.web.render.templates import render
from app.web.render.wording import ACTORS, Names, words
from app.wire.base import JsonObject

router = APIRouter(include_in_schema=False, route_class=PageRoute)

_STEPS = 200  # listed at once
_STRONGEST = 3  # moments that are named first
_JUDGED = ("awaiting_label", "labelled", "completed")  # statuses that take a label
_MOST_DRAWN = 2000  # steps of a path on a grid


@dataclass(frozen=True)
class Moment:
    """A step in words, and its share of the prediction. The end has no step."""

    step: int | None
    state: str
    action: str
    share: float | None
    note: str = ""  # who acted, if it was not the policy


@router.get("/episodes/{episode}")
async def episode_page(
    request: Request,
    episode: str,
    views: EpisodeDetailViews,
    caller: Annotated[Caller, page_guard(READ_EPISODES)],
    first: Annotated[str, Query(alias="from", max_length=20)] = "0",
) -> Response:
    """An episode. Labellers see no prediction and no labels of others before it is labelled."""
    if not (first.isascii() and first.isdigit()):
        raise InvalidValue("?from", "the number of a step")
    details = await views.read(episode, sees_everything=caller.may(READ))
    names = Names(details.agent)
    moments = _moments(details, names)
    final = None if details.final is None else _state_words(details.final, names)
    start = min(int(first), max(0, len(moments) - 1))
    return render(
        request,
        "episode.html",
        details=details,
        episode=details.episode,
        agent=details.agent,
        prediction=details.prediction,
        largest=_largest(details.prediction),
        shown=moments[start : start + _STEPS],
        start=start,
        at_once=_STEPS,
        length=len(moments),
        assisted=sum(bool(moment.note) for moment in moments),
        strongest=_strongest(moments, details.prediction, final or ""),
        final=final,
        path_points=_path_points(details),
        metadata=json.dumps(details.episode.metadata, indent=2, ensure_ascii=False),
        stage=_stage(details),
        can_judge=caller.may(JUDGE) and details.episode.status in _JUDGED,
        named=caller is not ANYONE,
        **words(),
    )


@router.get("/episodes/{episode}/compare")
async def compare_page(
    request: Request,
    episode: str,
    views: EpisodeDetailViews,
    caller: Annotated[Caller, page_guard(READ_EPISODES)],
    number: Annotated[str, Query(max_length=20)] = "0",
) -> Response:
    """Two episodes of an agent side by side."""
    if not (number.isascii() and number.isdigit()):
        raise InvalidValue("?number", "the number of an episode")
    sees_everything = caller.may(READ)
    first = await views.read(episode, sees_everything)
    other = f"{episode.rpartition('_')[0]}_{int(number)}"
    second = await views.read(other, sees_everything)
    return render(
        request,
        "compare.html",
        agent=first.agent,
        both=[(one, _stage(one)) for one in (first, second)],
        **words(),
    )


def _stage(details: EpisodeDetails) -> JsonObject:
    """The data of the player: the episode, and what each moment adds to the prediction."""
    prediction = details.prediction
    shares = None if prediction is None else [*prediction.shares, prediction.after_end]
    return {"episode": details.drawn.model_dump(mode="json"), "shares": shares}


def _moments(details: EpisodeDetails, names: Names) -> list[Moment]:
    prediction = details.prediction
    shares = [None] * len(details.steps) if prediction is None else prediction.shares
    return [
        Moment(
            step.step,
            _state_words(step, names),
            names.action(step.action),
            share,
            _note(step, names),
        )
        for step, share in zip(details.steps, shares, strict=True)
    ]


def _note(step: PlayedStep, names: Names) -> str:
    """Who acted in a step, and what the policy had chosen; empty where the policy acted."""
    if step.actor is None:
        return ""
    words = ACTORS[step.actor]
    if step.answered == step.action:
        return words
    return f"{words}; the policy chose {names.action(step.answered)}"


def _state_words(visit: Visit, names: Names) -> str:
    if visit.observation is not None:
        return names.observation(visit.observation)
    return names.state(visit.state)


def _largest(prediction: Prediction | None) -> float:
    """The largest absolute share, for the scale of the bars."""
    if prediction is None:
        return 0.0
    return max([abs(prediction.after_end), *map(abs, prediction.shares)])


def _strongest(moments: list[Moment], prediction: Prediction | None, final: str) -> list[Moment]:
    """The moments that moved the prediction most; the end counts as one."""
    if prediction is None:
        return []
    every = [*moments, Moment(None, final, "", prediction.after_end)]
    moved = [moment for moment in every if abs(moment.share or 0.0) >= 0.005]
    return sorted(moved, key=lambda moment: -abs(moment.share or 0.0))[:_STRONGEST]


def _path_points(details: EpisodeDetails) -> list[tuple[float, float]]:
    """The centres of the squares that the episode visited; empty where there is no grid."""
    display = details.agent.display
    if display is None or display.kind != "grid" or len(details.steps) > _MOST_DRAWN:
        return []
    states = [step.state for step in details.steps]
    if details.final is not None:
        states.append(details.final.state)
    places = [display.places[state] for state in states] if display.places else states
    return [(place % display.cols + 0.5, place // display.cols + 0.5) for place in places]
