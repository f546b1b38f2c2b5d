"""The hot path: a state in, an action out. Each step is on disk before it is answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar

from app.errors import InvalidValue, NotFound, PlauditError, Stale
from app.metrics import Metrics
from app.service.access.visibility import EVERY_AGENT, Visibility
from app.service.agents.hosted_agent import HostedAgent
from app.service.episodes.endings import decide_end
from app.service.episodes.hosted_episode import EpisodeUpdate, HostedEpisode, StepDecision, Told
from app.service.runtime.cache import Cache
from app.service.runtime.commit import Commits
from app.storage.database import now_milliseconds

_ATTEMPTS = 3


class StepTaken(NamedTuple):
    """The answer to a step."""

    episode: HostedEpisode
    step: int
    action: int
    last: bool


StepResult = StepTaken | PlauditError
"""The answer to one step of many, or its error."""


class StepRequest(Protocol):
    """A step, as a client sent it."""

    @property
    def step(self) -> int | None:
        """Its number, where the client gives one."""

    @property
    def state(self) -> object:
        """The state as the client sent it."""

    @property
    def action(self) -> object:
        """The action that the client does by itself, if it does."""

    @property
    def executed(self) -> object:
        """The action that was done in the step before, where it was not the answer."""

    @property
    def allowed(self) -> Sequence[object] | None:
        """The actions that are possible now, if the client says so."""


class EpisodeStepRequest(StepRequest, Protocol):
    """One step of many."""

    @property
    def episode(self) -> str:
        """The id of its episode."""


AnyStep = TypeVar("AnyStep", bound=EpisodeStepRequest)


class _Decided(NamedTuple):
    """A step that is decided and, unless it is a retry, not stored yet."""

    answer: StepTaken
    step: StepDecision | None
    end: EpisodeUpdate | None


class Stepping:
    """Takes the steps of episodes."""

    def __init__(self, cache: Cache, commits: Commits, metrics: Metrics) -> None:
        self._cache = cache
        self._commits = commits
        self._metrics = metrics

    async def step(self, episode_id: str, request: StepRequest) -> StepTaken:
        """Take the next step, or answer a retry of the last one; durable when it returns."""
        attempt = 0
        while True:
            episode = self._cache.episodes.get(episode_id)
            if episode is None or episode.is_changing:
                episode = await self._commits.settled(episode_id)
            decided = _decide(episode, request)
            if decided.step is None:
                return decided.answer
            try:
                await self._commits.store([(episode, decided.step, decided.end)])
            except Stale:  # another process took the step
                attempt += 1
                if attempt == _ATTEMPTS:
                    raise
                continue
            self._count([episode])
            return decided.answer

    async def step_many(
        self, entries: Sequence[AnyStep], sees: Visibility = EVERY_AGENT
    ) -> list[tuple[AnyStep, StepResult]]:
        """Take steps of many episodes with one commit; each gives its own result or error.

        An entry that has to wait, for a commit under way or for an earlier entry of the same
        episode, is taken in another round.
        """
        results: list[StepResult | None] = [None] * len(entries)
        left = list(range(len(entries)))
        if sees.is_bound:
            left = _visible(entries, results, sees)
        while left:
            left = await self._round(entries, left, results)
            for i in left:
                try:
                    await self._commits.settled(entries[i].episode)
                except PlauditError as error:
                    results[i] = error
            left = [i for i in left if results[i] is None]
        taken = [result for result in results if result is not None]
        return list(zip(entries, taken, strict=True))

    async def _round(
        self,
        entries: Sequence[EpisodeStepRequest],
        left: Sequence[int],
        results: list[StepResult | None],
    ) -> list[int]:
        """Take every step that can be taken now; returns those that have to wait."""
        changes: dict[HostedEpisode, _Decided] = {}
        stored: list[int] = []
        waiting: list[int] = []
        for i in left:
            entry = entries[i]
            episode = self._cache.episodes.get(entry.episode)
            if episode is None or episode.is_changing or episode in changes:
                waiting.append(i)
                continue
            try:
                decided = _decide(episode, entry)
            except PlauditError as error:
                results[i] = error
                continue
            results[i] = decided.answer
            if decided.step is not None:
                changes[episode] = decided
                stored.append(i)
        if changes:
            try:
                await self._commits.store(
                    [
                        (episode, decided_step.step, decided_step.end)
                        for episode, decided_step in changes.items()
                    ]
                )
            except Stale:  # another process took some of them: each is decided again
                for i in stored:
                    results[i] = None
                waiting += stored
            except PlauditError as error:  # one commit, so it is the error of each
                for i in stored:
                    results[i] = error
            else:
                self._count(list(changes))
        return waiting

    def _count(self, episodes: Sequence[HostedEpisode]) -> None:
        for episode in episodes:
            episode.touch()
        self._metrics.steps.inc(len(episodes))


def _visible(
    entries: Sequence[EpisodeStepRequest], results: list[StepResult | None], sees: Visibility
) -> list[int]:
    """The entries whose episode the caller sees; the others have an error as their result."""
    visible = []
    for i, entry in enumerate(entries):
        try:
            sees.check_episode(entry.episode)
            visible.append(i)
        except NotFound as error:
            results[i] = error
    return visible


def _decide(episode: HostedEpisode, request: StepRequest) -> _Decided:
    """Decide the next step of an episode, or answer a retry of its last one."""
    agent = episode.agent
    if agent.deleted:
        raise NotFound("episode", episode.id)
    index, value = agent.encode_state(request.state, "state")
    told = None
    if request.action is not None or request.executed is not None or request.allowed is not None:
        told = told_by(agent, request, index)
    if episode.repeats(request.step, value, told):
        last = episode.length == agent.horizon
        return _Decided(StepTaken(episode, episode.length - 1, episode.action, last), None, None)
    episode.check_running()
    decision = episode.decide_step(index, value, told)
    last = episode.length + 1 == agent.horizon
    end = None
    if last:
        end = decide_end(episode, None, False, now_milliseconds(), length=agent.horizon)
    return _Decided(StepTaken(episode, episode.length, decision.action, last), decision, end)


def told_by(agent: HostedAgent, request: StepRequest, state: int) -> Told:
    """What a client says of a step beside its state, which has this index."""
    action = agent.encode_action(request.action, "action")
    executed = agent.encode_action(request.executed, "executed")
    allowed = _allowed(agent, request.allowed, state)
    if action is not None and allowed is not None and action not in allowed:
        raise InvalidValue("action", "one of the actions that are allowed")
    return Told(action, executed, allowed)


def _allowed(
    agent: HostedAgent, given: Sequence[object] | None, state: int
) -> tuple[int, ...] | None:
    """The possible actions of a step, in ascending order: those given, within the agent's own."""
    if given is None:
        return None
    actions = {agent.actions.encode(one, f"allowed.{i}") for i, one in enumerate(given)}
    possible = actions.intersection(agent.allowed.get(state, actions))
    if not possible:
        raise InvalidValue("allowed", "an action that the agent's specification allows here")
    return tuple(sorted(possible))
