"""The labelling desk: the next episode for each labeller, and their labels."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence

from app.errors import Conflict, NotFound, PlauditError
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.labelling.impact import Impacts
from app.service.labelling.labels import Labels
from app.service.labelling.leases import Leases
from app.service.labelling.ranking import MOST_AGENTS, MOST_RANKED, Ranking
from app.service.labelling.slots import CannotTell, GivenLabel
from app.service.runtime.cache import Cache
from app.service.runtime.ids import episode_id, read_episode_id
from app.storage.database import Database
from app.storage.queries import agents as agent_queries
from app.storage.queries import labels as label_queries
from app.storage.queries.agents import AgentSet
from app.storage.rows import EpisodeStatus

_STALE_SECONDS = 1.0  # a ranking older than this is refreshed in the background
_MOST_REMEMBERED = 2000  # browser tabs that skipped episodes
_AT_ONCE = 100  # episodes checked with one query


class LabelQueue:
    """Hands out episodes, the most informative first, each to one holder at a time."""

    def __init__(
        self,
        database: Database,
        cache: Cache,
        labels: Labels,
        ranking: Ranking,
        impacts: Impacts,
    ) -> None:
        self._database = database
        self._cache = cache
        self._labels = labels
        self._ranking = ranking
        self._impacts = impacts
        self.leases = Leases()
        self._orders: dict[AgentSet, tuple[float, list[str]]] = {}
        self._refreshing: dict[AgentSet, asyncio.Task[None]] = {}
        self._skipped: OrderedDict[str, set[str]] = OrderedDict()

    async def left(self, chosen: AgentSet, labeller: str | None) -> int:
        """How many episodes a labeller can still judge, at some agents or at all."""
        return await self._database.read(label_queries.count_left, chosen, labeller)

    def skips(self, skipper: str) -> int:
        """How many episodes a tab has skipped."""
        return len(self._skipped.get(skipper, ()))

    async def next(
        self,
        holder: str,
        skipper: str,
        chosen: AgentSet,
        labeller: str | None,
        current: int | None = None,
    ) -> HostedEpisode | None:
        """The episode to judge next, leased to the holder; None when there is no more.

        Episodes of the ``current`` agent come first, so that people who judge several agents finish
        one before the next.

        An episode that the labeller has judged does not come again, however many labels it still
        wants. A labeller without a name is shown everything.
        """
        skipped = self._skipped.get(skipper, set())
        for fresh in (False, True):
            order = _current_first(await self._order(chosen, fresh), current)
            episode = await self._first(order, holder, skipped, labeller)
            if episode is not None:
                return episode
        # The labeller may have judged everything that was ranked.
        left = await self._database.read(label_queries.oldest_left, chosen, labeller, MOST_RANKED)
        return await self._first([episode_id(*pair) for pair in left], holder, skipped, labeller)

    async def _first(
        self, order: Sequence[str], holder: str, skipped: set[str], labeller: str | None
    ) -> HostedEpisode | None:
        """The first of some episodes that the labeller can judge, leased to the holder."""
        free = [id_ for id_ in order if id_ not in skipped and self.leases.is_free(id_, holder)]
        for start in range(0, len(free), _AT_ONCE):
            batch = {id_: read_episode_id(id_) for id_ in free[start : start + _AT_ONCE]}
            judged = await self._database.read(label_queries.judged_by, labeller, batch.values())
            for id_ in (id_ for id_, pair in batch.items() if pair not in judged):
                episode = await self._waiting(id_, labeller)
                if episode is not None and self.leases.take(id_, holder):
                    return episode
        return None

    def skip(self, skipper: str, episode: str) -> None:
        """Leave an episode to others."""
        self._skipped.setdefault(skipper, set()).add(episode)
        self._skipped.move_to_end(skipper)
        if len(self._skipped) > _MOST_REMEMBERED:
            self._skipped.popitem(last=False)

    async def unskip(
        self, skipper: str, holder: str, episode: str, labeller: str | None
    ) -> HostedEpisode | None:
        """Take back a skip, and lease the episode again if it can still be judged."""
        self._skipped.get(skipper, set()).discard(episode)
        hosted = await self._waiting(episode, labeller)
        return hosted if hosted is not None and self.leases.take(episode, holder) else None

    def start_over(self, skipper: str) -> None:
        """Forget the episodes that a tab skipped."""
        self._skipped.pop(skipper, None)

    async def judge(
        self, holder: str, episode: str, given: GivenLabel | CannotTell
    ) -> HostedEpisode:
        """Take the label, or the answer "cannot tell", of the holder of an episode."""
        self._take(episode, holder)
        try:
            hosted = await self._cache.episode(episode)
            _check_can_judge(hosted, given.labeller)
            if isinstance(given, CannotTell):
                return await self._labels.cannot_tell(episode, given)
            before = await self._impacts.look(hosted)
            hosted = await self._labels.give(episode, given)
        finally:  # a refused label must not block others
            self.leases.release(episode, holder)
        self._impacts.remember(hosted, given.labeller, before)
        return hosted

    async def reopen(self, holder: str, episode: str, labeller: str | None) -> HostedEpisode:
        """Lease an episode that a labeller has labelled, so that they can label it again."""
        hosted = await self._cache.episode(episode)
        _check_has_label_of(hosted, labeller)
        self._take(episode, holder)
        return hosted

    async def example(self, episode: str) -> HostedEpisode:
        """An episode that its agent shows as an example."""
        hosted = await self._cache.episode(episode)
        row = await self._database.read(agent_queries.agent_row, hosted.agent.number)
        shown = {} if row is None else row.examples or {}
        if episode not in [*shown.get("good", ()), *shown.get("bad", ())]:
            raise NotFound("example", episode[:80])
        return hosted

    async def correct(
        self, holder: str, episode: str, given: GivenLabel | CannotTell
    ) -> HostedEpisode:
        """Replace the labeller's label on an episode that was reopened."""
        hosted = await self._cache.episode(episode)
        _check_has_label_of(hosted, given.labeller)
        self._take(episode, holder)
        try:
            before = await self._impacts.look(hosted)
            if isinstance(given, CannotTell):
                return await self._labels.cannot_tell(episode, given, replaces=True)
            hosted = await self._labels.replace(episode, given)
        finally:
            self.leases.release(episode, holder)
        self._impacts.remember(hosted, given.labeller, before)
        return hosted

    def _take(self, episode: str, holder: str) -> None:
        if not self.leases.take(episode, holder):
            raise Conflict("leased", "Somebody else is judging this episode now.")

    async def undo(self, holder: str, episode: str, labeller: str | None) -> HostedEpisode | None:
        """Withdraw a label, and lease the episode again.

        If the episode wants several labels, another person may hold it. Then the result is None.
        """
        hosted = await self._cache.episode(episode)
        held = self.leases.take(episode, holder)
        if not held and hosted.labels_wanted == 1:
            raise Conflict("leased", "Somebody else is judging this episode now.")
        try:
            hosted = await self._labels.withdraw(episode, labeller)
        except PlauditError:
            self.leases.release(episode, holder)
            raise
        self._impacts.forget(episode, labeller)
        return hosted if held else None

    async def renew(self, holder: str, episode: str, labeller: str | None) -> bool:
        """Renew a lease while the episode can be judged; returns whether it is held.

        An episode that was settled with fewer labels than it wants can still be judged.
        """
        hosted = await self._cache.episode(episode)
        over = hosted.status in (EpisodeStatus.awaiting_label, EpisodeStatus.labelled)
        return over and _can_judge(hosted, labeller) and self.leases.take(episode, holder)

    async def _waiting(self, id_: str, labeller: str | None) -> HostedEpisode | None:
        try:
            episode = await self._cache.episode(id_)
        except NotFound:
            return None
        waits = episode.status is EpisodeStatus.awaiting_label and _can_judge(episode, labeller)
        return episode if waits else None

    async def _order(self, chosen: AgentSet, fresh: bool) -> list[str]:
        """Episodes that wait, the most informative first; up to a second old unless ``fresh``.

        Ranking waits for a learning process. A labeller does not wait for it for long: after a
        second the oldest episodes come first.
        """
        known = self._orders.get(chosen)
        if known is None or fresh or time.monotonic() - known[0] > _STALE_SECONDS:
            refreshing = self._refresh_soon(chosen)
            if known is None or fresh:
                await asyncio.shield(refreshing)  # ranking has a bound of its own
        known = self._orders.get(chosen)
        return [] if known is None else known[1]

    def _refresh_soon(self, chosen: AgentSet) -> asyncio.Task[None]:
        refreshing = self._refreshing.get(chosen)
        if refreshing is None:
            refreshing = asyncio.create_task(self._refresh(chosen))
            self._refreshing[chosen] = refreshing
            refreshing.add_done_callback(lambda _: self._refreshing.pop(chosen, None))
            refreshing.add_done_callback(_retrieve)
        return refreshing

    async def _refresh(self, chosen: AgentSet) -> None:
        ranked = await self._ranking.all(chosen)
        order = [episode_id(owner, number) for _, owner, number in ranked]
        if len(self._orders) > MOST_AGENTS:
            self._orders.clear()
        self._orders[chosen] = time.monotonic(), order


def _current_first(order: list[str], current: int | None) -> list[str]:
    """The same order with the episodes of one agent first."""
    if current is None:
        return order
    return sorted(order, key=lambda id_: read_episode_id(id_)[0] != current)


def _can_judge(episode: HostedEpisode, labeller: str | None) -> bool:
    """Whether a labeller, who may not have given a name yet, can label an episode."""
    return not (labeller is not None and _has_judged(episode, labeller)) and episode.has_room()


def _has_judged(episode: HostedEpisode, labeller: str | None) -> bool:
    return episode.slot_of(labeller) is not None or episode.answer_slot(labeller) is not None


def _check_can_judge(episode: HostedEpisode, labeller: str | None) -> None:
    """Refuse a labeller who has judged the episode, or an episode with all its labels."""
    if episode.labels_wanted > 1 and _has_judged(episode, labeller):
        raise Conflict("already_labelled", "You have already judged this episode.")
    if not episode.has_room():
        raise Conflict("already_labelled", "Somebody else has judged this episode.")


def _check_has_label_of(episode: HostedEpisode, labeller: str | None) -> None:
    """Refuse a correction if the labeller has no label on the episode."""
    if episode.answer_slot(labeller) is not None:
        return
    slot = episode.slot_of(labeller)
    if slot is None or episode.labels[slot].labeller != labeller:
        raise Conflict("not_labelled", "The episode has no label of yours any more.")


def _retrieve(task: asyncio.Task[None]) -> None:
    """Retrieve a task's error, so that asyncio does not log it; the next request tries again."""
    if not task.cancelled():
        task.exception()
