"""How an episode ends: at the horizon, before it, or given up. What to write, and the event."""

from __future__ import annotations

from typing import Any

from app.errors import Conflict
from app.service.agents.hosted_agent import Event
from app.service.agents.specification import timeout_seconds
from app.service.episodes.hosted_episode import HostedEpisode
from app.storage import commands
from app.storage.database import now_milliseconds
from app.storage.sqlite.writer import Write

State = tuple[int, Any]  # its index, and as it is kept


def end(episode: HostedEpisode, final: State | None, ended: bool) -> tuple[Event, list[Write]]:
    """An episode is over: what to write, and the event."""
    agent, now = episode.agent, now_milliseconds()
    status = episode.open_status
    known = final is not None or ended
    event, stored = agent.record(
        "finished", episode.number, int(known), now, running=-1, **{status: 1}
    )
    due = label_due(episode, now)
    episode.status, episode.final_known = status, known
    episode.plan = None
    return event, [_over(episode, final, ended, due, now), *stored]


def label_due(episode: HostedEpisode, now: int) -> int | None:
    """When the label of an episode that waits for it from now on falls due, if ever."""
    timeout = timeout_seconds(episode.agent.specification)
    if timeout is None or not episode.label_required:
        return None
    return now + int(1000 * timeout)


def report(episode: HostedEpisode, final: State | None, ended: bool) -> tuple[Event, list[Write]]:
    """What the last step before the horizon led to."""
    if final is None or episode.status == "abandoned":
        raise Conflict("episode_over", f"the episode is over: it is {episode.status}")
    if episode.final_known or episode.length < episode.agent.horizon:
        raise Conflict("already_finished", "where the episode ended is known already")
    episode.final_known = True
    agent = episode.agent
    event, stored = agent.record("reported", episode.number, None, now_milliseconds())
    row = {
        "the_agent": agent.number,
        "the_episode": episode.number,
        "new_ended": ended,
        **_final_columns(final),
    }
    return event, [Write(commands.REPORT_EPISODE, row), *stored]


def give_up(episode: HostedEpisode) -> tuple[Event, list[Write]]:
    """An episode was given up: no label will come."""
    agent, now, before = episode.agent, now_milliseconds(), episode.status
    if before not in ("running", "awaiting_label"):
        raise Conflict("episode_over", f"the episode is over: it is {before}")
    if episode.verdicts:
        raise Conflict("already_labelled", "somebody has judged the episode; withdraw that first")
    # What a finished episode showed was learned when it finished.
    kind = "abandoned" if before == "running" else "given_up"
    event, stored = agent.record(kind, episode.number, None, now, **{before: -1, "abandoned": 1})
    episode.status, episode.plan = "abandoned", None
    if before == "running":
        return event, [_over(episode, None, False, None, now), *stored]
    row = {
        "the_agent": agent.number,
        "the_episode": episode.number,
        "new_status": "abandoned",
        "new_verdicts": 0,
        "new_label": None,
        "new_labelled_at": None,
        "new_label_due": None,
    }
    return event, [Write(commands.LABEL_EPISODE, row), *stored]


def _over(
    episode: HostedEpisode,
    final: State | None,
    ended: bool,
    due: int | None,
    now: int,
) -> Write:
    return Write(
        commands.FINISH_EPISODE,
        {
            "the_agent": episode.agent.number,
            "the_episode": episode.number,
            "new_status": episode.status,
            "new_length": episode.length,
            "new_ended": ended,
            "new_label_due": due,
            "now": now,
            **_final_columns(final),
        },
    )


def _final_columns(final: State | None) -> dict[str, Any]:
    index, value = final if final is not None else (None, None)
    return {
        "new_final": index,
        "new_final_observation": value if isinstance(value, list) else None,
    }
