"""Labels: give, replace, withdraw."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from app.api.http.auth import Labeller, OwnLabeller, labeller_of
from app.api.http.dependencies import Labels, Ownership
from app.api.http.entries import attempt_each, entry_of
from app.api.http.json_body import JsonRoute
from app.api.http.parameters import EpisodeId
from app.api.http.problems import request_id_of
from app.api.openapi.responses import declared
from app.service.access.keys import Caller
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.labelling.labels import Labels as LabelsPart
from app.service.labelling.slots import CannotTell, GivenLabel
from app.wire.base import CANNOT_TELL
from app.wire.bulk import EpisodeLabel, ManyLabels, ManyLabelsAnswer
from app.wire.episodes import LabelAnswer, NewLabel

router = APIRouter(prefix="/v1", route_class=JsonRoute)
_PATH = "/episodes/{episode}/label"

_PROBLEMS = declared(404, 409, 413, 422, 503)


@router.post(_PATH, tags=["labels"], summary="Label an episode", responses=_PROBLEMS)
async def give_label(
    episode: EpisodeId, body: NewLabel, labels: Labels, ownership: Ownership, caller: OwnLabeller
) -> LabelAnswer:
    """Label an episode: good or bad. Sending the same label again is safe; another is a conflict.

    If the episode wants several labels, each labeller gives one. `cannot_tell` with a reason
    teaches nothing. Once there are as many such answers as labels wanted, the episode leaves the
    labelling queue.
    """
    await ownership.check_may_label(caller, episode)
    return _answer(await _give(labels, episode, body, caller))


@router.post(
    "/labels",
    tags=["fleets"],
    summary="Label many episodes in one call",
    response_model_exclude_unset=True,
    responses=declared(413, 422, 503),
)
async def label_many(
    request: Request, body: ManyLabels, labels: Labels, ownership: Ownership, caller: OwnLabeller
) -> ManyLabelsAnswer:
    """Each entry answers with its own label or its own problem."""

    async def give(verdict: EpisodeLabel) -> LabelAnswer:
        caller.sees.check_episode(verdict.episode)
        await ownership.check_may_label(caller, verdict.episode)
        return _answer(await _give(labels, verdict.episode, verdict, caller))

    outcomes = await attempt_each(body.labels, lambda verdict: verdict.episode, give)
    request_id = request_id_of(request)
    results = [
        {"episode": verdict.episode, **entry_of(outcome, request_id)}
        for verdict, outcome in zip(body.labels, outcomes, strict=True)
    ]
    return ManyLabelsAnswer.model_validate({"results": results})


@router.put(_PATH, tags=["labels"], summary="Replace a label", responses=_PROBLEMS)
async def replace_label(
    episode: EpisodeId, body: NewLabel, labels: Labels, ownership: Ownership, caller: OwnLabeller
) -> LabelAnswer:
    """Replace a label. The model becomes what it would be with this label from the start."""
    await ownership.check_may_label(caller, episode)
    if body.label == CANNOT_TELL:
        answer = _cannot_tell(body, caller)
        return _answer(await labels.cannot_tell(episode, answer, replaces=True))
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
            description="the labeller, if there are several; by default the name of the key",
        ),
    ] = None,
) -> LabelAnswer:
    """Withdraw a label. The model becomes what it would be without it."""
    return _answer(await labels.withdraw(episode, labeller_of(caller, labeller)))


async def _give(labels: LabelsPart, episode: str, body: NewLabel, caller: Caller) -> HostedEpisode:
    if body.label == CANNOT_TELL:
        return await labels.cannot_tell(episode, _cannot_tell(body, caller))
    return await labels.give(episode, _given(body, caller))


def _cannot_tell(body: NewLabel, caller: Caller) -> CannotTell:
    return CannotTell(labeller_of(caller, body.labeller), body.reason or "")


def _given(body: NewLabel, caller: Caller) -> GivenLabel:
    return GivenLabel(int(body.label), labeller_of(caller, body.labeller), body.comment)


def _answer(episode: HostedEpisode) -> LabelAnswer:
    return LabelAnswer.model_validate(
        {
            "episode": episode.id,
            "label": episode.label,
            "labels_given": len(episode.labels),
            "verdicts": len(episode.labels),
            "labels_wanted": episode.labels_wanted,
            "cannot_tell": len(episode.cannot_tell),
            "status": episode.status,
            "learning": episode.agent.learning,
            "policy_version": episode.agent.version,
        }
    )
