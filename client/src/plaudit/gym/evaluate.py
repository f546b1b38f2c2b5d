"""Evaluation: play the policy without exploration, and count.

The episodes are played in the mode "evaluate": none waits for a label on the server, nothing is
learned from them, and their results are kept with the policy version that played them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from plaudit.answers.episodes import EpisodeSummary
from plaudit.gym.adapter import Adapter, adapt_to
from plaudit.gym.labelling import LabelFunction, judge
from plaudit.gym.rollout import Rollout

if TYPE_CHECKING:
    from plaudit.agent import Agent


@dataclass(frozen=True)
class Evaluation:
    """How a policy did; ``low`` and ``high`` are the 95 % interval of its success in this call.

    ``at_least`` is the server's bound on the success of this policy version, from all evaluations
    of it: it holds with 95 % confidence, no matter how often it is read.
    """

    episodes: int
    policy_version: int
    success: float | None
    low: float | None
    high: float | None
    at_least: float | None
    mean_reward: float
    mean_length: float

    def __str__(self) -> str:
        text = f"{self.episodes} episodes"
        if self.success is not None:
            text += f": success {self.success:.2f} (95 %: {self.low:.2f} to {self.high:.2f})"
        return f"{text}, mean reward {self.mean_reward:.3g}, mean length {self.mean_length:.3g}"


def evaluate(
    agent: Agent, env: Any, episodes: int, label: LabelFunction | None, seed: int | None
) -> Evaluation:
    """Play episodes of the policy in force without exploration, and count."""
    agent.wait_until_learned()
    adapter = adapt_to(agent.view, env)
    played = [
        _play(agent, adapter, env, label, None if seed is None else seed + i)
        for i in range(episodes)
    ]
    return _counted(agent, [rollout for rollout, _ in played], [found for _, found in played])


def _play(
    agent: Agent, adapter: Adapter, env: Any, label: LabelFunction | None, seed: int | None
) -> tuple[Rollout, EpisodeSummary]:
    """Play one episode, and hand in its result together with its end."""
    rollout = Rollout()
    with agent.episode(mode="evaluate", learn_transitions=False, wait=False) as episode:
        rollout.id = episode.id
        rollout.begin(*env.reset(seed=seed))
        while not (episode.over or rollout.over):
            action = adapter.action(episode.act(adapter.state(rollout.observations[-1])))
            rollout.add(action, *env.step(action))
        rollout.truncated |= not rollout.terminated
        result = None if label is None else judge(label, rollout)
        final = adapter.state(rollout.observations[-1])
        return rollout, episode.finish(final, terminated=rollout.terminated, label=result)


def _counted(agent: Agent, rollouts: list[Rollout], episodes: list[EpisodeSummary]) -> Evaluation:
    count, version = len(rollouts), episodes[-1].policy_version
    labels = [episode.label for episode in episodes if episode.label is not None]
    success, low, high = wilson(sum(labels), len(labels))
    evaluation = agent.refresh().evaluation
    known = [] if evaluation is None else evaluation.versions
    bounds = [results.at_least for results in known if results.policy_version == version]
    return Evaluation(
        episodes=count,
        policy_version=version,
        success=success,
        low=low,
        high=high,
        at_least=bounds[0] if bounds else None,
        mean_reward=sum(rollout.total_reward for rollout in rollouts) / count,
        mean_length=sum(rollout.length for rollout in rollouts) / count,
    )


def wilson(good: int, count: int) -> tuple[float | None, float | None, float | None]:
    """A share and its 95 % interval (Wilson's); None where nothing was counted."""
    if not count:
        return None, None, None
    z, share = 1.959963984540054, good / count
    spread = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    middle, whole = share + z * z / (2 * count), 1 + z * z / count
    return share, max(0.0, (middle - spread) / whole), min(1.0, (middle + spread) / whole)
