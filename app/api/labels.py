"""Labels: give, replace, withdraw."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter

from app.api import schemas
from app.api.guard import JUDGE, TheHost, guard
from app.api.parameters import EpisodeId
from app.api.problems import declared
from app.hosting.episode import HostedEpisode
from app.hosting.judgement import Verdict
from app.hosting.keys import ANYONE, Caller

router = APIRouter(prefix="/v1/episodes/{episode}/label", tags=["labels"])

_PROBLEMS = declared(404, 409, 413, 422, 503)


@router.post("", summary="Label an episode", responses=_PROBLEMS)
async def give_label(
    episode: EpisodeId,
    body: schemas.Verdict,
    host: TheHost,
    caller: Annotated[Caller, guard(JUDGE)],
) -> schemas.VerdictAnswer:
    """Good or bad. The same label again is harmless; another is a conflict."""
    return _answer(await host.judgement.give(episode, _verdict(body, caller)))


@router.put("", summary="Replace a label", responses=_PROBLEMS)
async def replace_label(
    episode: EpisodeId,
    body: schemas.Verdict,
    host: TheHost,
    caller: Annotated[Caller, guard(JUDGE)],
) -> schemas.VerdictAnswer:
    """The model is then what it would have been with this label from the start."""
    return _answer(await host.judgement.replace(episode, _verdict(body, caller)))


@router.delete("", summary="Withdraw a label", responses=declared(404, 409, 503))
async def withdraw_label(
    episode: EpisodeId, host: TheHost, caller: Annotated[Caller, guard(JUDGE)]
) -> schemas.VerdictAnswer:
    """The model is then what it would have been without it."""
    return _answer(await host.judgement.withdraw(episode, _name(caller)))


def _verdict(body: schemas.Verdict, caller: Caller) -> Verdict:
    return Verdict(int(body.label), body.labeller or _name(caller), body.comment)


def _name(caller: Caller) -> str | None:
    return None if caller is ANYONE else caller.name


def _answer(episode: HostedEpisode) -> schemas.VerdictAnswer:
    return schemas.VerdictAnswer.model_validate(
        {
            "episode": episode.id,
            "label": episode.label,
            "status": episode.status,
            "learning": episode.agent.learning,
            "policy_version": episode.agent.version,
        }
    )
