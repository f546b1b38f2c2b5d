"""How the verdicts on an episode change: whose place is whose, what to write, and the event."""

from __future__ import annotations

from dataclasses import asdict

from app.service.agents.hosted_agent import Event
from app.service.episodes import endings
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.labelling.verdicts import TIMEOUT, Verdict, majority
from app.storage import commands
from app.storage.sqlite.writer import Write


def has_room(episode: HostedEpisode) -> bool:
    """Whether somebody who has not judged an episode can."""
    return _stand_in(episode) is not None or len(episode.verdicts) < episode.labels_wanted


def voice_for(episode: HostedEpisode) -> int:
    """The place of one more verdict; where several judge, a default label makes way for people."""
    voice = _stand_in(episode)
    return episode.free_voice() if voice is None else voice


def _stand_in(episode: HostedEpisode) -> int | None:
    return None if episode.labels_wanted == 1 else episode.voice_of(TIMEOUT)


def give(
    episode: HostedEpisode, voice: int, verdict: Verdict, settled: bool = False
) -> tuple[Event, list[Write]]:
    """A voice says good or bad, whatever it said before; ``settled`` waits for no others."""
    every = dict(sorted({**episode.verdicts, voice: verdict}.items()))
    # What was settled with fewer than it wants stays so.
    enough = settled or episode.label is not None or len(every) >= episode.labels_wanted
    event, stored = _hold(
        episode, every, enough, kind="labelled", value=verdict.label, voice=voice, now=verdict.at
    )
    said = history(episode.agent.number, episode.number, voice, **asdict(verdict))
    return event, [said, *stored]


def withdraw(
    episode: HostedEpisode, voice: int, labeller: str | None, now: int
) -> tuple[Event, list[Write]]:
    """A voice takes back what it said, in the name of ``labeller``; the timeout begins anew."""
    rest = {one: verdict for one, verdict in episode.verdicts.items() if one != voice}
    due = endings.label_due(episode, now)
    event, stored = _hold(
        episode, rest, False, kind="withdrawn", value=None, voice=voice, now=now, due=due
    )
    said = history(
        episode.agent.number, episode.number, voice, label=None, labeller=labeller, at=now
    )
    return event, [said, *stored]


def settle(episode: HostedEpisode, now: int) -> tuple[Event, list[Write]]:
    """No more verdicts are waited for: those that are there decide."""
    label = majority(episode.verdicts.values())
    return _hold(episode, episode.verdicts, True, kind="settled", value=label, voice=None, now=now)


def history(
    agent: int,
    episode: int,
    voice: int,
    *,
    label: int | None,
    labeller: str | None,
    comment: str | None = None,
    at: int,
) -> Write:
    """The write that adds to the history of an episode's labels; no label is a withdrawal."""
    row = {"agent": agent, "episode": episode, "voice": voice}
    said = {"label": label, "labeller": labeller, "comment": comment, "at": at}
    return Write(commands.ADD_LABEL, row | said)


def _hold(
    episode: HostedEpisode,
    verdicts: dict[int, Verdict],
    enough: bool,
    *,
    kind: str,
    value: int | None,
    voice: int | None,
    now: int,
    due: int | None = None,
) -> tuple[Event, list[Write]]:
    """These verdicts hold from now on, and are ``enough`` for a label or not.

    The event has a kind, a value and a voice; ``due`` is when a label falls due if that changes.
    """
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
        "new_label_due": due,
    }
    return event, [Write(commands.LABEL_EPISODE, row), *stored]
