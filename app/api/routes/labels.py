"""Labels: give, replace, withdraw."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from app.api.http.auth import Labeller
from app.api.http.dependencies import Labels
from app.api.http.json_body import JsonRoute
from app.api.http.parameters import EpisodeId
from app.api.http.responses import declared
from app.service.access.keys import ANYONE, Caller
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.labelling.slots import GivenLabel
from app.wire.episodes import Verdict, VerdictAnswer

router = APIRouter(prefix="/v1/episodes/{episode}/label", tags=["labels"], route_class=JsonRoute)

_PROBLEMS = declared(404, 409, 413, 422, 503)


@router.post("", summary="Label an episode", responses=_PROBLEMS)
async def give_label(
    episode: EpisodeId, body: Verdict, labels: Labels, caller: Labeller
) -> VerdictAnswer:
    """Good or bad. The same label again is harmless; another is a conflict.

    Where the episode wants labels of several people, each has one of their own.
    """
    return _answer(await labels.give(episode, _given(body, caller)))


@router.put("", summary="Replace a label", responses=_PROBLEMS)
async def replace_label(
    episode: EpisodeId, body: Verdict, labels: Labels, caller: Labeller
) -> VerdictAnswer:
    """The model is then what it would have been with this label from the start."""
    return _answer(await labels.replace(episode, _given(body, caller)))


@router.delete("", summary="Withdraw a label", responses=declared(404, 409, 422, 503))
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
    return _answer(await labels.withdraw(episode, _labeller(caller, labeller)))


def _given(body: Verdict, caller: Caller) -> GivenLabel:
    return GivenLabel(int(body.label), _labeller(caller, body.labeller), body.comment)


def _labeller(caller: Caller, given: str | None) -> str | None:
    """The labeller: the name that the request gives, else the name of the key."""
    return given or (None if caller is ANYONE else caller.name)


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
