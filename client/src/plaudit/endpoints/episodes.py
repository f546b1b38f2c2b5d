"""Episodes: start, step, finish, abandon, read, list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from plaudit._core.flow import Flow, Reply, Request, json_request
from plaudit._core.parsing import parse
from plaudit._core.session import Page, Pager
from plaudit.answers.episodes import EpisodeSummary, EpisodeView, StartedEpisode
from plaudit.answers.steps import StepAnswer
from plaudit.answers.values import PlayMode, Status, Wait
from plaudit.endpoints.body import given, idempotent, path
from plaudit.endpoints.paging import page_request, read_page
from plaudit.problems import AlreadyFinished, EpisodeOver

Order = Literal["informative", "oldest", "newest"]


def start_episode(
    agent: str,
    *,
    mode: PlayMode = "learn",
    learn_transitions: bool = True,
    external_id: str | None = None,
    metadata: Mapping[str, object] | None = None,
    labels_wanted: int | None = None,
    wait: Wait | None = None,
    state: object = None,
    action: object = None,
    allowed: object = None,
    idempotency_key: str | None = None,
) -> Flow[StartedEpisode]:
    """Start an episode; its policy is pinned now.

    ``wait=True`` waits for learning that is under way, ``wait=False`` starts at once, for fleets,
    and ``wait="adaptive"`` waits only while learning is quicker than an episode; by default the
    agent's specification says, which waits unless it says otherwise. ``mode="exploit"`` plays
    without exploration, and ``mode="evaluate"`` also wants no label;
    ``learn_transitions=False`` then learns nothing from it. With a first ``state`` the answer has
    the ``first_step``; with an ``action`` the client does that one itself.
    """
    body = given(
        mode=mode,
        learn_transitions=None if learn_transitions else False,
        external_id=external_id,
        metadata=metadata,
        labels_wanted=labels_wanted,
        wait=wait,
        state=state,
        action=action,
        allowed=allowed,
    )
    where = path("agents", agent, "episodes")
    reply = yield json_request("POST", where, body, idempotent(idempotency_key))
    return parse(StartedEpisode, reply.json())


def take_step(
    episode: str,
    state: object,
    step: int | None = None,
    *,
    explain: bool = False,
    action: object = None,
    executed: object = None,
    allowed: object = None,
) -> Flow[StepAnswer]:
    """Send a state, get an action.

    With ``step``, which counts from 0, a lost answer is asked for again; without it the call is
    not repeated, because the server could not tell a retry from the next step.

    With ``action`` the caller acts itself, as in a demonstration, and the server records it.
    ``executed`` is what was done in the step before, where it was not the answer: a safety layer
    or a person stepped in. ``allowed`` are the actions that are possible now.
    """
    body = given(
        state=state,
        step=step,
        explain=explain or None,
        action=action,
        executed=executed,
        allowed=allowed,
    )
    where = path("episodes", episode, "steps")
    reply = yield json_request("POST", where, body, safe=step is not None)
    return parse(StepAnswer, reply.json())


def finish_episode(
    episode: str,
    state: object = None,
    *,
    terminated: bool | None = None,
    label: object = None,
    comment: str | None = None,
    labeller: str | None = None,
    executed: object = None,
) -> Flow[EpisodeSummary]:
    """End an episode before its horizon, in a state; or report where its last step led.

    ``terminated=False`` says that it was cut off there, not ended by the environment. A ``label``
    is stored together with the end. ``executed`` is what was done in the last step, where it was
    not the answer.
    """
    where = path("episodes", episode, "finish")
    body = given(
        state=state,
        terminated=terminated,
        label=label,
        comment=comment,
        labeller=labeller,
        executed=executed,
    )
    reply = yield json_request("POST", where, body)
    return (yield from _ended(episode, reply, ("awaiting_label", "completed", "labelled")))


def abandon_episode(episode: str) -> Flow[EpisodeSummary]:
    """Give an episode up: no label will come; its transitions still count."""
    reply = yield Request("POST", path("episodes", episode, "abandon"))
    return (yield from _ended(episode, reply, ("abandoned",)))


def _ended(episode: str, reply: Reply, wanted: tuple[Status, ...]) -> Flow[EpisodeSummary]:
    """The episode; where a try before ended it already, as it is now."""
    try:
        return parse(EpisodeSummary, reply.json())
    except (AlreadyFinished, EpisodeOver):
        if not reply.retried:
            raise
        found = yield from read_episode(episode)
        if found.status not in wanted:
            raise
        return found


def read_episode(episode: str) -> Flow[EpisodeView]:
    """Read an episode: its steps, its labels, and what the model predicts of it."""
    return (yield from read_episode_after(0.0, episode))


def read_episode_after(seconds: float, episode: str) -> Flow[EpisodeView]:
    """Read an episode after a pause."""
    reply = yield Request("GET", path("episodes", episode), delay=seconds)
    return parse(EpisodeView, reply.json())


def list_episodes(
    agent: str | None = None,
    *,
    status: Status | None = None,
    external_id: str | None = None,
    order: Order = "oldest",
    page_size: int = 100,
) -> Pager[EpisodeSummary]:
    """Iterate over episodes; `order="informative"` is the labelling queue."""
    query = {
        name: str(value)
        for name, value in given(
            agent=agent, status=status, external_id=external_id, order=order
        ).items()
    }

    def page(cursor: str | None) -> Flow[Page[EpisodeSummary]]:
        reply = yield page_request(path("episodes"), page_size, cursor, query)
        return read_page(EpisodeSummary, reply.json())

    return Pager(page)
