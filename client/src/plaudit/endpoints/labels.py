"""Labels: give, replace, withdraw."""

from __future__ import annotations

from plaudit._core.flow import Flow, Request, json_request
from plaudit._core.parsing import parse
from plaudit.answers.episodes import LabelAnswer
from plaudit.endpoints.agents import read_agent
from plaudit.endpoints.body import given, path
from plaudit.endpoints.episodes import read_episode
from plaudit.problems import NotLabelled


def give_label(
    episode: str,
    label: object,
    *,
    comment: str | None = None,
    labeller: str | None = None,
    reason: str | None = None,
) -> Flow[LabelAnswer]:
    """Label an episode: 1 or True is good, 0 or False is bad.

    The same label again is harmless; another one raises `AlreadyLabelled`. ``"cannot_tell"`` with
    a ``reason`` is an answer that teaches nothing.
    """
    body = given(label=label, comment=comment, labeller=labeller, reason=reason)
    reply = yield json_request("POST", path("episodes", episode, "label"), body)
    return parse(LabelAnswer, reply.json())


def replace_label(
    episode: str,
    label: object,
    *,
    comment: str | None = None,
    labeller: str | None = None,
    reason: str | None = None,
) -> Flow[LabelAnswer]:
    """Replace a label: the model is then what it would have been with this one from the start."""
    body = given(label=label, comment=comment, labeller=labeller, reason=reason)
    reply = yield json_request("PUT", path("episodes", episode, "label"), body)
    return parse(LabelAnswer, reply.json())


def withdraw_label(episode: str, *, labeller: str | None = None) -> Flow[LabelAnswer]:
    """Withdraw a label: the model is then what it would have been without it."""
    query = {} if labeller is None else {"labeller": labeller}
    reply = yield Request("DELETE", path("episodes", episode, "label"), query=query)
    try:
        return parse(LabelAnswer, reply.json())
    except NotLabelled:
        if not reply.retried:
            raise
    return (yield from _standing(episode))


def _standing(episode: str) -> Flow[LabelAnswer]:
    """The answer to a withdrawal whose own answer was lost."""
    found = yield from read_episode(episode)
    agent = yield from read_agent(found.agent)
    return LabelAnswer(
        episode=found.id,
        label=found.label,
        labels_given=found.labels_given,
        verdicts=found.labels_given,
        labels_wanted=found.labels_wanted,
        cannot_tell=found.cannot_tell,
        status=found.status,
        learning=agent.learning,
        policy_version=agent.policy_version,
    )
