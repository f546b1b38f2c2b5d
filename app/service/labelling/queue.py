"""The labelling desk: the next episode for each person, and their verdicts."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence

from app.errors import Conflict, NotFound, PlauditError
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.labelling import slots
from app.service.labelling.impact import Effects
from app.service.labelling.labels import MOST_AGENTS, MOST_RANKED, Judgement
from app.service.labelling.leases import Leases
from app.service.labelling.verdicts import Verdict
from app.service.runtime.cache import Loaded
from app.service.runtime.ids import episode_id, read_episode_id
from app.service.training.scheduler import Learning
from app.storage.database import Database
from app.storage.queries import labelling, reading

_PATIENCE_SECONDS = 1.0  # to wait for an order; then one by age has to do
_STALE_SECONDS = 1.0  # an order as old as this is worked out anew, behind the back of whoever asks
_MOST_REMEMBERED = 2000  # people who skipped something
_AT_ONCE = 100  # episodes looked at together


class Desk:
    """Hands out episodes, the most informative first, each to one holder at a time."""

    def __init__(
        self, database: Database, loaded: Loaded, judgement: Judgement, learning: Learning
    ) -> None:
        self._database = database
        self._loaded = loaded
        self._judgement = judgement
        self.leases = Leases()
        self.effects = Effects(database, loaded, learning)
        self._orders: dict[int | None, tuple[float, list[str]]] = {}
        self._ranking: dict[int | None, asyncio.Task[None]] = {}
        self._skipped: OrderedDict[str, set[str]] = OrderedDict()

    async def left(self, agent: int | None, labeller: str | None) -> int:
        """How many episodes somebody can still judge, at one agent or at all."""
        return await self._database.read(labelling.count_left, agent, labeller)

    def skips(self, skipper: str) -> int:
        """How many episodes somebody has skipped."""
        return len(self._skipped.get(skipper, ()))

    async def next(
        self, holder: str, skipper: str, agent: int | None, labeller: str | None
    ) -> HostedEpisode | None:
        """The episode to judge next, leased to the holder; None when there is none for them.

        What the labeller has judged does not come again, however many verdicts it still wants;
        who has not said a name yet is shown everything.
        """
        skipped = self._skipped.get(skipper, set())
        for fresh in (False, True):
            order = await self._order(agent, fresh)
            episode = await self._first(order, holder, skipped, labeller)
            if episode is not None:
                return episode
        # What they have judged may be all that was ranked.
        left = await self._database.read(labelling.oldest_left, agent, labeller, MOST_RANKED)
        return await self._first([episode_id(*one) for one in left], holder, skipped, labeller)

    async def _first(
        self, order: Sequence[str], holder: str, skipped: set[str], labeller: str | None
    ) -> HostedEpisode | None:
        """The first of some episodes that is for somebody, leased to the holder."""
        free = [id_ for id_ in order if id_ not in skipped and self.leases.is_free(id_, holder)]
        for start in range(0, len(free), _AT_ONCE):
            some = {id_: read_episode_id(id_) for id_ in free[start : start + _AT_ONCE]}
            judged = await self._database.read(labelling.judged_by, labeller, some.values())
            for id_ in (id_ for id_, one in some.items() if one not in judged):
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

    def start_over(self, skipper: str) -> None:
        """Forget what somebody skipped."""
        self._skipped.pop(skipper, None)

    async def judge(self, holder: str, episode: str, verdict: Verdict) -> HostedEpisode:
        """Take the verdict of whoever has an episode before them."""
        if not self.leases.take(episode, holder):
            raise Conflict("leased", "somebody else has this episode before them now")
        try:
            hosted = await self._loaded.episode(episode)
            _must_be_for(hosted, verdict.labeller)
            before = await self.effects.look(hosted)
            hosted = await self._judgement.give(episode, verdict)
        finally:  # a verdict that was refused keeps nobody else away
            self.leases.release(episode, holder)
        self.effects.remember(hosted, verdict.labeller, before)
        return hosted

    async def undo(self, holder: str, episode: str, labeller: str | None) -> HostedEpisode | None:
        """Withdraw a verdict, and have the episode before one again.

        Where several judge, somebody else may have it by now: then it is theirs, and None is left.
        """
        hosted = await self._loaded.episode(episode)
        held = self.leases.take(episode, holder)
        if not held and hosted.labels_wanted == 1:
            raise Conflict("leased", "somebody else has this episode before them now")
        try:
            hosted = await self._judgement.withdraw(episode, labeller)
        except PlauditError:
            self.leases.release(episode, holder)
            raise
        self.effects.forget(episode, labeller)
        return hosted if held else None

    async def renew(self, holder: str, episode: str, labeller: str | None) -> bool:
        """Keep an episode for as long as it is looked at and can be judged; whether it is kept.

        It can when it was settled meanwhile with fewer verdicts than it wants.
        """
        hosted = await self._loaded.episode(episode)
        over = hosted.status in ("awaiting_label", "labelled")
        return over and _is_for(hosted, labeller) and self.leases.take(episode, holder)

    async def _waiting(self, id_: str, labeller: str | None) -> HostedEpisode | None:
        try:
            episode = await self._loaded.episode(id_)
        except NotFound:
            return None
        waits = episode.status == "awaiting_label" and _is_for(episode, labeller)
        return episode if waits else None

    async def _order(self, agent: int | None, fresh: bool) -> list[str]:
        """What waits, the most informative first; as it was a moment ago unless it must be fresh.

        To rank takes its turn among learning jobs, and who has just given a verdict should not
        wait for what it teaches; nor should who comes to a server that has just started.
        """
        known = self._orders.get(agent)
        if known is None or fresh or time.monotonic() - known[0] > _STALE_SECONDS:
            ranking = self._ranking.get(agent)
            if ranking is None:
                ranking = asyncio.create_task(self._rank(agent))
                self._ranking[agent] = ranking
                ranking.add_done_callback(lambda _: self._ranking.pop(agent, None))
                ranking.add_done_callback(_look)
            if known is None or fresh:
                done, _ = await asyncio.wait([ranking], timeout=_PATIENCE_SECONDS)
                if not done or ranking.exception() is not None:
                    return await self._by_age(agent)
        known = self._orders.get(agent)
        return [] if known is None else known[1]

    async def _by_age(self, agent: int | None) -> list[str]:
        """What waits at each agent, the oldest first: for while learning keeps ranking waiting."""
        return [
            episode_id(owner, number)
            for owner in await self._judgement.agents_waiting(agent)
            for number in reversed(
                await self._database.read(reading.waiting_numbers, owner, MOST_RANKED)
            )
        ]

    async def _rank(self, agent: int | None) -> None:
        queue = await self._judgement.queue(agent)
        order = [episode_id(owner, number) for _, owner, number in queue]
        if len(self._orders) > MOST_AGENTS:
            self._orders.clear()
        self._orders[agent] = time.monotonic(), order


def _is_for(episode: HostedEpisode, labeller: str | None) -> bool:
    """Whether somebody, who may not have said a name yet, can give an episode a verdict."""
    judged = labeller is not None and episode.voice_of(labeller) is not None
    return not judged and slots.has_room(episode)


def _must_be_for(episode: HostedEpisode, labeller: str | None) -> None:
    """Refuse who has judged an episode before, or whom others have left no room."""
    if episode.labels_wanted > 1 and episode.voice_of(labeller) is not None:
        raise Conflict("already_labelled", "you have judged this episode before")
    if not slots.has_room(episode):
        raise Conflict("already_labelled", "somebody else has judged this episode")


def _look(ranking: asyncio.Task[None]) -> None:
    """Look at how it went: who asks next finds out, and asks again."""
    if not ranking.cancelled():
        ranking.exception()
