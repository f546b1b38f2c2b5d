"""Training: play episodes of an environment with an agent, and label them."""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from plaudit.answers.values import Wait
from plaudit.endpoints.episodes import abandon_episode
from plaudit.episode import Episode
from plaudit.errors import InvalidArgument, PlauditError
from plaudit.gym.adapter import Adapter, adapt_to
from plaudit.gym.labelling import Labeller, check_labeller, judge
from plaudit.gym.progress import Progress
from plaudit.gym.record import recorder_of
from plaudit.gym.rollout import Rollout
from plaudit.problems import APIError

if TYPE_CHECKING:
    from plaudit.agent import Agent

_LOOK_BACK = 5000  # episodes that are searched for those of a run


@dataclass(frozen=True)
class Training:
    """What a call of `train` did."""

    episodes: int
    """Episodes that this call played."""
    before: int
    """Episodes of the run that earlier calls had played."""
    labelled: int
    """Episodes of this call that have a label."""
    good: int
    """Those of them whose label is good."""

    @property
    def success(self) -> float | None:
        """The share of good labels in this call."""
        return self.good / self.labelled if self.labelled else None

    def __str__(self) -> str:
        text = f"{self.episodes} episodes played"
        if self.before:
            text += f" after {self.before} before"
        if self.success is not None:
            text += f", success {self.success:.2f} of {self.labelled} labels"
        return text


@dataclass(frozen=True)
class Run:
    """What the training of one run needs to know."""

    agent: Agent
    adapter: Adapter
    label: Labeller
    name: str
    seed: int | None
    wait: Wait | None

    def external_id(self, index: int) -> str:
        """The name of an episode of the run, by which a later call finds where it stopped."""
        return f"{self.name}/{index}"

    def reset_seed(self, index: int) -> int | None:
        """The seed of the environment in an episode: the same however often the run stopped."""
        return None if self.seed is None else self.seed + index

    def judged(self, episode: Episode, rollout: Rollout, progress: Progress) -> bool | None:
        """Label an episode that is over, or wait for people to do it; its label."""
        if self.label is None:
            return None
        if self.label == "human":
            progress.note(f"label at {desk_url(self.agent)}")
            given = episode.wait_for_label()
            return None if given is None else bool(given)
        label = judge(self.label, rollout)
        if label is not None:
            episode.label(label)
        return label


def train(
    agent: Agent,
    env: Any,
    episodes: int,
    label: Labeller,
    *,
    run: str,
    seed: int | None,
    wait: Wait | None,
    progress: bool,
) -> Training:
    """Play a run to a number of episodes, after those that earlier calls played of it."""
    if "/" in run or not run:
        raise InvalidArgument(f"run is {run!r}. Give a name without a slash.")
    plan = Run(agent, adapt_to(agent.view, env), check_labeller(label), run, seed, wait)
    left = left_to_play(agent, run, episodes)
    before = episodes - len(left)
    bar = Progress(agent.name, episodes, before, on=progress)
    try:
        labels = _played(plan, env, left, bar)
    finally:
        bar.close()
    given = [label for label in labels if label is not None]
    return Training(len(labels), before, len(given), sum(given))


def _played(plan: Run, env: Any, indices: list[int], bar: Progress) -> list[bool | None]:
    """The labels of the episodes that are played, one by one or side by side."""
    if hasattr(env, "single_observation_space"):
        from plaudit.gym.vector import SideBySide

        return SideBySide(plan, env, indices, bar).play()
    labels = []
    for index in indices:
        labels.append(_play(plan, env, index, bar))
        bar.episode(labels[-1])
    return labels


def _play(plan: Run, env: Any, index: int, bar: Progress) -> bool | None:
    """Play and label one episode; leaving it early abandons it."""
    rollout, recorder = Rollout(), recorder_of(env)
    with plan.agent.episode(external_id=plan.external_id(index), wait=plan.wait) as episode:
        rollout.id = episode.id
        try:
            _roll(plan, env, episode, rollout, index)
        except BaseException:
            give_up(plan, episode)
            raise
        if recorder is not None:
            _upload(episode, recorder.picture())
        return plan.judged(episode, rollout, bar)


def _roll(plan: Run, env: Any, episode: Episode, rollout: Rollout, index: int) -> None:
    """Play one episode to its end."""
    rollout.begin(*env.reset(seed=plan.reset_seed(index)))
    while not (episode.over or rollout.over):
        action = plan.adapter.action(episode.act(plan.adapter.state(rollout.observations[-1])))
        rollout.add(action, *env.step(action))
    end(plan, episode, rollout)


def give_up(plan: Run, episode: Episode) -> None:
    """Abandon an episode after an error, because it cannot be judged.

    Errors of this call are ignored: the first error says more.
    """
    with suppress(PlauditError):
        episode.learn(plan.agent._session.impatient().run(abandon_episode(episode.id)))


def end(plan: Run, episode: Episode, rollout: Rollout) -> None:
    """Tell the server where an episode ended, and whether the environment ended it there."""
    rollout.truncated |= not rollout.terminated
    final = plan.adapter.state(rollout.observations[-1])
    episode.finish(final, terminated=rollout.terminated)


def _upload(episode: Episode, picture: bytes) -> None:
    """Attach a picture; an episode without one can still be judged."""
    try:
        episode.record(picture)
    except APIError as error:
        warnings.warn(f"The recording of {episode.id} was refused: {error}", stacklevel=2)


def left_to_play(agent: Agent, run: str, episodes: int) -> list[int]:
    """The episodes of a run, by number, that no earlier call has played to the end."""
    pattern = re.compile(re.escape(run) + r"/([0-9]+)")
    played: set[int] = set()
    newest = islice(agent.episodes(order="newest", page_size=500), _LOOK_BACK)
    for episode in newest:
        match = pattern.fullmatch(episode.external_id or "")
        if match and episode.status not in ("running", "abandoned"):
            played.add(int(match[1]))
            if match[1] == "0":
                break
    oldest = min(played, default=0)  # in a long run, what is older was played too
    return [index for index in range(oldest, episodes) if index not in played]


def desk_url(agent: Agent) -> str:
    """Where people label the episodes of an agent."""
    return f"{agent.url}/label?agent={agent.id}"
