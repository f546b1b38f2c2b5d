"""What late and corrected labels do to `reinforce`, on the paper's grid.

    python -m benchmarks.reinforce_labels [--runs 12] [--steps 600]

Late: the labels of a batch come only when some more batches have been played. Corrected: one label
of the 50th batch, or 20 labels anywhere, turn out to have been wrong once all is learned. For
comparison the same correction in an agent that is not told who played its episodes, and so learns
all of them as if played by the policy that its replay has come to.
"""

from __future__ import annotations

import argparse
from collections import deque
from typing import Any

import numpy as np
from rich.console import Console

from app.agents import Agent, AgentSpec, make_agent
from app.agents.spec import parse
from app.learning.planning.network_policy import NetworkPolicy
from app.learning.randomness import generator
from app.simulation.goal_grid import GoalGrid
from benchmarks.paper_figure import BATCH, FIRST_SEED

EARLY, MANY = 50, 20  # the batch whose label is corrected; how many corrected labels are many
_CHOICE = 104  # address of the generator of corrected episodes

GRID = GoalGrid()
console = Console()


def new_agent(seed: int) -> Agent[Any]:
    """An agent for the grid."""
    return make_agent(parse(AgentSpec, GRID.spec({"kind": "reinforce"}, seed)))


def trained(seed: int, steps: int, lag: int = 0) -> Agent[Any]:
    """Plays all batches; the labels of each come when ``lag`` more have been played."""
    agent, late = new_agent(seed), deque[tuple[int, int]]()
    for first in range(0, steps * BATCH, BATCH):
        policy, numbers = policy_of(agent, first), range(first, first + BATCH)
        for number, played in zip(numbers, GRID.play(policy, seed, numbers), strict=True):
            agent.plays(number, first)
            agent.finish(number, played.trajectory)
            late.append((number, played.label))
        while len(late) > lag * BATCH:
            agent.label(*late.popleft())
    return agent


def untold(agent: Agent[Any]) -> Agent[Any]:
    """An agent with the same episodes and labels that does not know who played them."""
    other = new_agent(agent.spec.seed)
    for number, trajectory in agent.experience.episodes.items():
        other.finish(number, trajectory)
        other.label(number, agent.experience.labels[number])
    return other


def policy_of(agent: Agent[Any], number: int) -> NetworkPolicy:
    """The policy in force."""
    policy = agent.plan(number).policy
    assert isinstance(policy, NetworkPolicy)
    return policy


def success(agent: Agent[Any]) -> float:
    """The exact success probability of the policy in force."""
    return GRID.success(policy_of(agent, 10**9))


def correct(agent: Agent[Any], episodes: list[int]) -> None:
    """Turn the labels of some episodes around."""
    for number in episodes:
        agent.label(number, 1 - agent.experience.labels[number])


def run(seed: int, steps: int) -> dict[str, float]:
    """Every measurement of one seed."""
    agent, one = trained(seed, steps), [EARLY * BATCH]
    many = generator(seed, _CHOICE).choice(steps * BATCH, size=MANY, replace=False).tolist()
    found = {"as played": success(agent)}
    correct(agent, one)
    found["one label corrected"] = success(agent)
    found["one corrected, not told who played"] = success(untold(agent))
    correct(agent, one)
    correct(agent, many)
    found[f"{MANY} labels corrected"] = success(agent)
    for lag in (2, 8):
        found[f"labels {lag} batches late"] = success(trained(seed, steps, lag))
    return found


def main() -> None:
    """Print mean and standard deviation over the seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--steps", type=int, default=600, help="gradient steps, more than 50")
    chosen = parser.parse_args()
    runs = [run(FIRST_SEED + index, chosen.steps) for index in range(chosen.runs)]
    for name in runs[0]:
        values = np.array([one[name] for one in runs])
        spread = values.std(ddof=1) if len(values) > 1 else 0.0
        console.print(f"{name}: {values.mean():.3f} +- {spread:.3f}, least {values.min():.3f}")


if __name__ == "__main__":
    main()
