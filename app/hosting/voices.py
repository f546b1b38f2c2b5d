"""How the verdicts on an episode change: what to write, and the event."""

from __future__ import annotations

from dataclasses import asdict

from app.hosting.agent import Event
from app.hosting.episode import HostedEpisode
from app.hosting.verdicts import Verdict, majority
from app.storage import writes
from app.storage.writer import Write


def give(
    episode: HostedEpisode, voice: int, verdict: Verdict, settled: bool = False
) -> tuple[Event, list[Write]]:
    """A voice says good or bad, whatever it said before; ``settled`` waits for no others."""
    every = dict(sorted({**episode.verdicts, voice: verdict}.items()))
    # What was settled with fewer than it wants stays so.
    enough = settled or episode.label is not None or len(every) >= episode.labels_wanted
    event, stored = _set(episode, "labelled", verdict.label, voice, every, enough, verdict.at)
    row = history_row(episode.agent.number, episode.number, voice, verdict)
    return event, [Write(writes.ADD_LABEL, row), *stored]


def withdraw(
    episode: HostedEpisode, voice: int, labeller: str | None, now: int
) -> tuple[Event, list[Write]]:
    """A voice takes back what it said, in the name of ``labeller``."""
    rest = {one: verdict for one, verdict in episode.verdicts.items() if one != voice}
    event, stored = _set(episode, "withdrawn", None, voice, rest, False, now)
    nothing = Verdict(0, labeller, at=now)
    row = history_row(episode.agent.number, episode.number, voice, nothing) | {"label": None}
    return event, [Write(writes.ADD_LABEL, row), *stored]


def settle(episode: HostedEpisode, now: int) -> tuple[Event, list[Write]]:
    """No more verdicts are waited for: those that are there decide."""
    every = episode.verdicts
    return _set(episode, "settled", majority(every.values()), None, every, True, now)


def history_row(agent: int, episode: int, voice: int, verdict: Verdict) -> dict[str, object]:
    """A verdict in the history of an episode's labels."""
    return {"agent": agent, "episode": episode, "voice": voice, **asdict(verdict)}


def _set(
    episode: HostedEpisode,
    kind: str,
    value: int | None,
    voice: int | None,
    verdicts: dict[int, Verdict],
    enough: bool,
    now: int,
) -> tuple[Event, list[Write]]:
    """These verdicts hold from now on, and are ``enough`` for a label or not."""
    agent, before = episode.agent, episode.label or 0
    status = "labelled" if enough else episode.open_status
    label = majority(verdicts.values()) if enough else None
    moved = {} if episode.status == status else {episode.status: -1, status: 1}
    good = (label or 0) - before
    event, stored = agent.record(kind, episode.number, value, now, voice, good=good, **moved)
    episode.verdicts, episode.label, episode.status = verdicts, label, status
    row = {
        "the_agent": agent.number,
        "the_episode": episode.number,
        "new_status": status,
        "new_verdicts": len(verdicts),
        "new_label": label,
        "new_labelled_at": None if label is None else now,
    }
    return event, [Write(writes.LABEL_EPISODE, row), *stored]
