"""The ends of an episode: finish it, report its final state, abandon it. All functions are pure."""

from __future__ import annotations

from dataclasses import replace

from app.errors import Conflict
from app.service.agents.hosted_agent import EncodedState
from app.service.episodes.hosted_episode import EpisodeUpdate, HostedEpisode
from app.service.labelling.label_updates import give_up, label_due
from app.storage.commands.episodes import EndEpisode, ReportFinal
from app.storage.commands.log import NewEvent
from app.storage.rows import EpisodeStatus, EventKind


def decide_end(
    episode: HostedEpisode,
    final: EncodedState | None,
    ended: bool,
    now: int,
    length: int | None = None,
    executed: int | None = None,
) -> EpisodeUpdate:
    """Finish the episode, by default after the steps taken so far.

    ``executed`` is what was done in the last step, where it is not what is recorded.
    """
    episode.check_running()
    correction = episode.decide_correction(executed)
    known = final is not None or ended
    event = _event(episode, EventKind.finished, now, final_known=known)
    status = episode.status_without_label
    due = label_due(episode, now)
    end = _end(episode, status, final, ended, due, now, event, length, known)
    return replace(end, correction=correction)


def decide_report(
    episode: HostedEpisode,
    final: EncodedState | None,
    ended: bool,
    now: int,
    executed: int | None = None,
) -> EpisodeUpdate:
    """Report what was done in the last step before the horizon, and the state it led to."""
    correction = episode.decide_correction(executed)
    nothing = final is None and correction is None
    if nothing or episode.status is EpisodeStatus.abandoned:
        raise episode.over()
    if episode.standing.final_known or episode.length < episode.agent.horizon:
        raise Conflict("already_finished", "The state that the episode ended in is known.")
    event = _event(episode, EventKind.reported, now)
    command = ReportFinal(
        episode.agent.number,
        episode.number,
        episode.standing.version,
        ended,
        *_final_columns(final),
        event,
    )
    known = ended or final is not None
    state = replace(episode.standing.next(), final_known=known)
    return EpisodeUpdate(command, state, correction)


def decide_abandon(episode: HostedEpisode, now: int) -> EpisodeUpdate:
    """Abandon the episode: no label will come."""
    if episode.status not in (EpisodeStatus.running, EpisodeStatus.awaiting_label):
        raise episode.over()
    if episode.labels:
        raise Conflict(
            "already_labelled", "The episode has a label. Withdraw it before abandoning."
        )
    if episode.status is EpisodeStatus.running:
        event = _event(episode, EventKind.abandoned, now, final_known=False)
        return _end(episode, EpisodeStatus.abandoned, None, False, None, now, event, None, False)
    return give_up(episode, now)


def _end(
    episode: HostedEpisode,
    status: EpisodeStatus,
    final: EncodedState | None,
    ended: bool,
    due: int | None,
    now: int,
    event: NewEvent,
    length: int | None,
    final_known: bool,
) -> EpisodeUpdate:
    command = EndEpisode(
        episode.agent.number,
        episode.number,
        episode.standing.version,
        status,
        episode.length if length is None else length,
        ended,
        *_final_columns(final),
        due,
        now,
        event,
    )
    return EpisodeUpdate(
        command, replace(episode.standing.next(), status=status, final_known=final_known)
    )


def _event(
    episode: HostedEpisode, kind: EventKind, now: int, final_known: bool | None = None
) -> NewEvent:
    """An event of the end of the episode, which teaches its transitions."""
    teaches = episode.learns_transitions
    return NewEvent(kind, now, episode.number, final_known=final_known, teaches=teaches)


def _final_columns(final: EncodedState | None) -> tuple[int | None, list[float] | None]:
    if final is None:
        return None, None
    index, state = final
    return index, state if isinstance(state, list) else None
