"""Labels: give, replace, withdraw, at any time and in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app.errors import Conflict
from app.metrics import Metrics
from app.service.episodes.endings import decide_abandon
from app.service.episodes.hosted_episode import EpisodeUpdate, HostedEpisode
from app.service.labelling.label_updates import (
    set_cannot_tell,
    set_label,
    settle,
    withdraw_cannot_tell,
    withdraw_label,
)
from app.service.labelling.slots import TIMEOUT, CannotTell, GivenLabel, free_slot
from app.service.runtime.commit import Commits
from app.service.training.trainer import Trainer
from app.storage.database import now_milliseconds
from app.storage.rows import EpisodeStatus

Decide = Callable[[HostedEpisode], EpisodeUpdate | None]


class Labels:
    """Takes labels, and has the agent learn from them."""

    def __init__(self, commits: Commits, trainer: Trainer, metrics: Metrics) -> None:
        self._commits = commits
        self._trainer = trainer
        self._metrics = metrics

    async def give(self, episode_id: str, given: GivenLabel) -> HostedEpisode:
        """Label an episode; the same label again is harmless, another is refused."""
        return await self._change_labels(
            episode_id, lambda episode: decide_label(episode, given), given
        )

    async def replace(self, episode_id: str, given: GivenLabel) -> HostedEpisode:
        """Set a label, replacing an earlier one as if it had never been given."""

        def decide(episode: HostedEpisode) -> EpisodeUpdate | None:
            check_can_be_labelled(episode)
            slot = episode.slot_of(given.labeller)
            if slot is None:
                slot = free_slot(episode.labels, episode.labels_wanted)
            elif episode.labels[slot].label == given.label:
                return None
            return _set(episode, slot, given)

        return await self._change_labels(episode_id, decide, given)

    async def cannot_tell(
        self, episode_id: str, given: CannotTell, replaces: bool = False
    ) -> HostedEpisode:
        """Take an answer of "cannot tell"; the same labeller's label stands unless it replaces."""
        return await self._change_labels(
            episode_id, lambda episode: _decide_cannot_tell(episode, given, replaces)
        )

    async def withdraw(self, episode_id: str, labeller: str | None = None) -> HostedEpisode:
        """Withdraw a labeller's label, or answer, as if it had never been given."""

        def decide(episode: HostedEpisode) -> EpisodeUpdate:
            check_can_be_labelled(episode)
            slot, answered = episode.slot_of(labeller), episode.answer_slot(labeller)
            is_own = slot is not None and episode.labels[slot].labeller == labeller
            if answered is not None and not is_own:
                return withdraw_cannot_tell(episode, answered, labeller, now_milliseconds())
            if slot is None:
                by = "" if episode.labels_wanted == 1 else " of this labeller"
                raise Conflict("not_labelled", f"The episode has no label{by} to withdraw.")
            return withdraw_label(episode, slot, labeller, now_milliseconds())

        return await self._change_labels(episode_id, decide)

    async def expire(self, episode_id: str) -> None:
        """Apply the timeout of an overdue episode.

        Labels that are there decide. Without any the default label is given; without a default
        the episode is abandoned.
        """
        episode = await self._commits.settled(episode_id)
        if episode.status is not EpisodeStatus.awaiting_label:
            return
        default = episode.agent.specification.default_label
        if not episode.labels and default is not None:
            given = GivenLabel(default, TIMEOUT)
            await self._change_labels(
                episode_id, lambda episode: _default_label(episode, given), given
            )
        else:
            await self._commits.change(episode_id, _settle_or_abandon)

    async def _change_labels(
        self, episode_id: str, decide: Decide, given: GivenLabel | None = None
    ) -> HostedEpisode:
        """Change the labels of an episode, and have its agent learn from that."""
        changed = teaches = False

        def noted(episode: HostedEpisode) -> EpisodeUpdate | None:
            nonlocal changed, teaches
            update = decide(episode)
            changed = update is not None
            teaches = update is not None and update.teaches
            return update

        episode = await self._commits.change(episode_id, noted)
        if changed:
            if given is not None:
                self._metrics.labels.labels(str(given.label)).inc()
            if teaches:
                self._trainer.request(episode.agent)
        return episode


def decide_label(episode: HostedEpisode, given: GivenLabel) -> EpisodeUpdate | None:
    """Decide a label; None if the episode has it already, a conflict if it has another one."""
    check_can_be_labelled(episode)
    slot = episode.slot_of(given.labeller)
    if slot is None:
        return _set(episode, free_slot(episode.labels, episode.labels_wanted), given)
    known = episode.labels[slot].label
    if known == given.label:
        return None
    by = "" if episode.labels_wanted == 1 else " by this labeller"
    raise Conflict(
        "already_labelled",
        f"The episode is labelled {known}{by}. Use PUT to replace the label.",
    )


def _decide_cannot_tell(
    episode: HostedEpisode, given: CannotTell, replaces: bool
) -> EpisodeUpdate | None:
    """Decide an answer of "cannot tell"; None if the labeller has given it before."""
    check_can_be_labelled(episode)
    slot, answered = episode.slot_of(given.labeller), episode.answer_slot(given.labeller)
    if slot is not None and not replaces:
        raise Conflict(
            "already_labelled",
            f"The episode is labelled {episode.labels[slot].label}. Use PUT to replace the label.",
        )
    if slot is None and not episode.has_room():
        free_slot(episode.labels, episode.labels_wanted)  # says that it has all its labels
    if answered is not None:
        known = episode.cannot_tell[answered]
        if not replaces or known.reason == given.reason:
            return None
    return set_cannot_tell(episode, slot, replace(given, at=now_milliseconds()))


def check_can_be_labelled(episode: HostedEpisode) -> None:
    """Refuse labels of an episode that still runs or was abandoned."""
    if episode.status is EpisodeStatus.running:
        raise Conflict(
            "episode_running", "The episode is still running. Finish it before labelling it."
        )
    if episode.status is EpisodeStatus.abandoned:
        raise Conflict("episode_abandoned", "The episode was abandoned and takes no label.")


def _set(episode: HostedEpisode, slot: int, given: GivenLabel) -> EpisodeUpdate:
    return set_label(episode, slot, replace(given, at=now_milliseconds()))


def _default_label(episode: HostedEpisode, given: GivenLabel) -> EpisodeUpdate | None:
    if episode.status is not EpisodeStatus.awaiting_label or episode.labels:
        return None
    return set_label(episode, 0, replace(given, at=now_milliseconds()), settled=True)


def _settle_or_abandon(episode: HostedEpisode) -> EpisodeUpdate | None:
    if episode.status is not EpisodeStatus.awaiting_label:
        return None
    if episode.labels:
        return settle(episode, now_milliseconds())
    return decide_abandon(episode, now_milliseconds())
