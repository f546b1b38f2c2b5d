"""Labels: give, replace, withdraw."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from app.api.http.auth import Labeller, labeller_of
from app.api.http.dependencies import Labels
from app.api.http.entries import attempt_each, entry_of
from app.api.http.json_body import JsonRoute
from app.api.http.parameters import EpisodeId
from app.api.http.problems import request_id_of
from app.api.http.responses import declared
from app.service.access.keys import Caller
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.labelling.slots import GivenLabel
from app.wire.bulk import EpisodeVerdict, ManyLabels, ManyLabelsAnswer
from app.wire.episodes import Verdict, VerdictAnswer

router = APIRouter(prefix="/v1", route_class=JsonRoute)
_PATH = "/episodes/{episode}/label"

_PROBLEMS = declared(404, 409, 413, 422, 503)


@router.post(_PATH, tags=["labels"], summary="Label an episode", responses=_PROBLEMS)
async def give_label(
    episode: EpisodeId, body: Verdict, labels: Labels, caller: Labeller
) -> VerdictAnswer:
    """Good or bad. The same label again is harmless; another is a conflict.

    Where the episode wants labels of several people, each has one of their own.
    """
    return _answer(await labels.give(episode, _given(body, caller)))


@router.post(
    "/labels",
    tags=["fleets"],
    summary="Label many episodes in one call",
    response_model_exclude_unset=True,
    responses=declared(413, 422, 503),
)
async def label_many(
    request: Request, body: ManyLabels, labels: Labels, caller: Labeller
) -> ManyLabelsAnswer:
    """Each entry answers with its own label or its own problem."""

    async def give(verdict: EpisodeVerdict) -> VerdictAnswer:
        return _answer(await labels.give(verdict.episode, _given(verdict, caller)))

    outcomes = await attempt_each(body.labels, lambda verdict: verdict.episode, give)
    request_id = request_id_of(request)
    results = [
        {"episode": verdict.episode, **entry_of(outcome, request_id)}
        for verdict, outcome in zip(body.labels, outcomes, strict=True)
    ]
    return ManyLabelsAnswer.model_validate({"results": results})


@router.put(_PATH, tags=["labels"], summary="Replace a label", responses=_PROBLEMS)
async def replace_label(
    episode: EpisodeId, body: Verdict, labels: Labels, caller: Labeller
) -> VerdictAnswer:
    """The model is then what it would have been with this label from the start."""
    return _answer(await labels.replace(episode, _given(body, caller)))


@router.delete(
    _PATH, tags=["labels"], summary="Withdraw a label", responses=declared(404, 409, 422, 503)
)
async def withdraw_label(
    episode: EpisodeId,
    labels: Labels,
    caller: Labeller,
    labeller: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=200,
            description="whose, where several judge; by default the name of the key",
        ),
    ] = None,
) -> VerdictAnswer:
    """The model is then what it would have been without it."""
    return _answer(await labels.withdraw(episode, labeller_of(caller, labeller)))


def _given(body: Verdict, caller: Caller) -> GivenLabel:
    return GivenLabel(int(body.label), labeller_of(caller, body.labeller), body.comment)


def _answer(episode: HostedEpisode) -> VerdictAnswer:
    return VerdictAnswer.model_validate(
        {
            "episode": episode.id,
            "label": episode.label,
            "verdicts": len(episode.labels),
            "labels_wanted": episode.labels_wanted,
            "status": episode.status,
            "learning": episode.agent.learning,
            "policy_version": episode.agent.version,
        }
    )
