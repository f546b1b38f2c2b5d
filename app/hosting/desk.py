"""The labelling desk: the next episode for each person, and what a verdict changed."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from app.errors import Conflict, NotFound, PlauditError
from app.hosting.agent import HostedAgent, HostedPlan
from app.hosting.database import Database
from app.hosting.episode import HostedEpisode
from app.hosting.ids import episode_id
from app.hosting.judgement import MOST_RANKED, Judgement
from app.hosting.learner import EXPLOIT
from app.hosting.learning import Learning
from app.hosting.leases import Leases
from app.hosting.loaded import Loaded
from app.hosting.verdicts import Verdict
from app.learning.trajectory import UNREPORTED, Trajectory
from app.storage import labelling, reading

_MOST_AGENTS = 200  # whose waiting episodes are compared with one another
_PATIENCE_SECONDS = 1.0  # to wait for an order; then one by age has to do
_STALE_SECONDS = 1.0  # an order as old as this is worked out anew, behind the back of whoever asks
_MOST_REMEMBERED = 2000  # verdicts, and people who skipped something
_MOST_COMPARED = 4000  # decisions of a policy
# Policies that can be asked what they do at a step and a state with nothing before it.
_COMPARABLE = ("grid", "markov", "reward", "tracked")


@dataclass(frozen=True)
class Change:
    """What a verdict changed; None where it is not known."""

    learned: bool  # whether the policy in force knows the verdict
    before: float | None  # the predicted success of the episode
    after: float | None
    changed: int | None  # decisions of the policy
    compared: int | None


@dataclass(frozen=True)
class _Before:
    """How things stood when a verdict was given."""

    event: int  # the verdict's number in the log
    predicted: float | None
    plan: HostedPlan | None


class Desk:
    """Hands out episodes, the most informative first, each to one holder at a time."""

    def __init__(
        self, database: Database, loaded: Loaded, judgement: Judgement, learning: Learning
    ) -> None:
        self._database = database
        self._loaded = loaded
        self._judgement = judgement
        self._learning = learning
        self.leases = Leases()
        self._orders: dict[int | None, tuple[float, list[str]]] = {}
        self._ranking: dict[int | None, asyncio.Task[None]] = {}
        self._skipped: OrderedDict[str, set[str]] = OrderedDict()
        self._before: OrderedDict[str, _Before] = OrderedDict()

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
        judged = await self._database.read(labelling.judged_by, agent, labeller)
        left_out = {episode_id(*one) for one in judged} | self._skipped.get(skipper, set())
        for fresh in (False, True):
            for id_ in await self._order(agent, fresh):
                if id_ in left_out or not self.leases.is_free(id_, holder):
                    continue
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
        hosted = await self._loaded.episode(episode)
        if hosted.status == "labelled":
            raise Conflict("already_labelled", "somebody else has judged this episode")
        if hosted.voice_of(verdict.labeller) is not None:
            raise Conflict("already_labelled", "you have judged this episode before")
        predicted, plan = await self._predict(hosted), _shown(hosted.agent)
        await self._judgement.give(episode, verdict)
        self._before[episode] = _Before(hosted.agent.last_lesson, predicted, plan)
        self._before.move_to_end(episode)
        if len(self._before) > _MOST_REMEMBERED:
            self._before.popitem(last=False)
        self.leases.release(episode, holder)
        return hosted

    async def undo(self, holder: str, episode: str, labeller: str | None) -> HostedEpisode:
        """Withdraw a verdict, and have the episode before one again."""
        if not self.leases.take(episode, holder):
            raise Conflict("leased", "somebody else has this episode before them now")
        try:
            hosted = await self._judgement.withdraw(episode, labeller)
        except PlauditError:
            self.leases.release(episode, holder)
            raise
        self._before.pop(episode, None)
        return hosted

    async def change(self, episode: str, seconds: float) -> Change:
        """What a verdict changed, once it is learned; waits for that, but not for ever."""
        before = self._before.get(episode)
        if before is None:
            raise NotFound("verdict of this desk on", episode[:80])
        hosted = await self._loaded.episode(episode)
        agent, deadline = hosted.agent, time.monotonic() + seconds
        while agent.learned < before.event and self._learning.is_under_way(agent):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            await self._learning.wait(agent, left)
        if agent.learned < before.event:
            return Change(False, before.predicted, None, None, None)
        after, plan = await self._predict(hosted), _shown(agent)
        changed, compared = await asyncio.to_thread(_compare, agent, before.plan, plan)
        return Change(True, before.predicted, after, changed, compared)

    async def _waiting(self, id_: str, labeller: str | None) -> HostedEpisode | None:
        try:
            episode = await self._loaded.episode(id_)
        except NotFound:
            return None
        judged = labeller is not None and episode.voice_of(labeller) is not None
        return episode if episode.status == "awaiting_label" and not judged else None

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
            for owner in await self._agents(agent)
            for number in reversed(
                await self._database.read(reading.waiting_numbers, owner, MOST_RANKED)
            )
        ]

    async def _agents(self, agent: int | None) -> list[int]:
        if agent is not None:
            return [agent]
        return await self._database.read(reading.agents_waiting, _MOST_AGENTS)

    async def _rank(self, agent: int | None) -> None:
        queue = await self._judgement.queue(await self._agents(agent))
        order = [episode_id(owner, number) for _, owner, number in queue]
        if len(self._orders) > _MOST_AGENTS:
            self._orders.clear()
        self._orders[agent] = time.monotonic(), order

    async def _predict(self, hosted: HostedEpisode) -> float | None:
        """What the model in force makes of an episode."""
        insight = await self._loaded.insight(hosted.agent)
        row = await self._database.read(reading.episode_row, hosted.agent.number, hosted.number)
        if insight is None or row is None:
            return None
        steps = await self._database.read(reading.step_rows, hosted.agent.number, hosted.number)
        trajectory = Trajectory(
            np.array([step.state for step in steps], dtype=np.int64),
            np.array([step.action for step in steps], dtype=np.int64),
            UNREPORTED if row.final is None else row.final,
            row.ended,
        )
        return insight.predict(trajectory)


def _look(ranking: asyncio.Task[None]) -> None:
    """Look at how it went: who asks next finds out, and asks again."""
    if not ranking.cancelled():
        ranking.exception()


def _shown(agent: HostedAgent) -> HostedPlan | None:
    """The plan that stands for what an agent would do: without luck, if there is one."""
    return agent.plans.get(EXPLOIT) or agent.newest_plan()


def _compare(
    agent: HostedAgent, before: HostedPlan | None, after: HostedPlan | None
) -> tuple[int | None, int | None]:
    """How many decisions differ between two plans, of how many that were looked at."""
    if before is None or after is None:
        return None, None
    if not {before.policy.kind, after.policy.kind} <= set(_COMPARABLE):
        return None, None
    S = agent.specification.states.size
    places = agent.horizon * S
    chosen = np.unique(np.linspace(0, places - 1, min(places, _MOST_COMPARED)).astype(int))
    changed = 0
    for place in chosen.tolist():
        step, state = divmod(place, S)
        one, other = (plan.policy.act(step, state, (), 0.5)[0] for plan in (before, after))
        changed += one != other
    return changed, len(chosen)
