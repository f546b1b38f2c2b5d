"""Evaluation: play the policy without exploration, here, and count.

The policy is read once and played in this process. So all episodes are played by one policy,
nothing is learned from them, and none of them waits for a label on the server.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from plaudit.gym.adapter import Adapter, adapt_to
from plaudit.gym.labelling import LabelFunction, judge
from plaudit.gym.rollout import Rollout
from plaudit.offline.player import Player, Playing

if TYPE_CHECKING:
    from plaudit.agent import Agent


@dataclass(frozen=True)
class Evaluation:
    """How a policy did; ``low`` and ``high`` are the 95 % interval of its success."""

    episodes: int
    policy_version: int
    success: float | None
    low: float | None
    high: float | None
    mean_reward: float
    mean_length: float

    def __str__(self) -> str:
        said = f"{self.episodes} episodes"
        if self.success is not None:
            said += f": success {self.success:.2f} (95 %: {self.low:.2f} to {self.high:.2f})"
        return f"{said}, mean reward {self.mean_reward:.3g}, mean length {self.mean_length:.3g}"


def evaluate(
    agent: Agent, env: Any, episodes: int, label: LabelFunction | None, seed: int | None
) -> Evaluation:
    """Play episodes of the policy in force without exploration, and count."""
    agent.wait_until_learned()
    adapter = adapt_to(agent.view, env)
    player = Player(agent.policy("exploit"))
    first = player.view.episode_number
    rollouts = [
        _play(player.play(first + i), adapter, env, None if seed is None else seed + i)
        for i in range(episodes)
    ]
    labels = [] if label is None else [judge(label, rollout) for rollout in rollouts]
    return _counted(rollouts, [bool(good) for good in labels if good is not None], player)


def _play(playing: Playing, adapter: Adapter, env: Any, seed: int | None) -> Rollout:
    rollout = Rollout()
    rollout.begin(*env.reset(seed=seed))
    while not (playing.over or rollout.over):
        action = adapter.action(playing.act(adapter.state(rollout.observations[-1])))
        rollout.add(action, *env.step(action))
    rollout.truncated |= not rollout.terminated
    return rollout


def _counted(rollouts: list[Rollout], labels: list[bool], player: Player) -> Evaluation:
    count = len(rollouts)
    success, low, high = wilson(sum(labels), len(labels))
    return Evaluation(
        episodes=count,
        policy_version=player.view.policy_version,
        success=success,
        low=low,
        high=high,
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
