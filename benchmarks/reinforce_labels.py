"""What late and corrected labels do to `reinforce`, on the paper's grid.

    python -m benchmarks.reinforce_labels [--runs 12] [--steps 400]

Late: the labels of a batch come only when some more batches have been played. Corrected: one label
of the 50th batch, or 20 labels anywhere, turn out to have been wrong once all is learned. For
comparison the same correction in two replays that take every gradient at the policy that the replay
has come to: as if it had played all the episodes, and with each episode weighed by how much more
probable it is under that policy than under the one that played it, at most 10 times.
"""

from __future__ import annotations

import argparse
from collections import deque

import numpy as np
from rich.console import Console

from app.agents.kinds.reinforce.agent import Reinforce
from app.agents.spec import AgentSpec
from app.learning.arrays import Floats
from app.learning.network.policy_gradient import LabelledEpisode
from app.learning.randomness import generator
from app.planning.policies.network import NetworkPolicy
from app.wire.validation import parse
from benchmarks.goal_grid import GoalGrid
from benchmarks.paper.figure import BATCH, FIRST_SEED

EARLY, MANY = 50, 20  # the batch whose label is corrected; how many corrected labels are many
CAP = 10.0  # on the weights of the replay that weighs
_CHOICE = 104  # address of the generator of corrected episodes

GRID = GoalGrid()
console = Console()


def new_agent(seed: int) -> Reinforce:
    """An agent for the grid."""
    return Reinforce(parse(AgentSpec, GRID.spec({"kind": "reinforce"}, seed)))


def trained(seed: int, steps: int, lag: int = 0) -> Reinforce:
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


def replayed(agent: Reinforce, cap: float | None) -> float:
    """The success after gradients at the replay's own parameters; weighed if there is a cap."""
    state = agent.chain.states[0]
    for index in range(agent.chain.length):
        examples = [agent.example(pair, state) for pair in agent.chain.members(index)]
        weights = np.ones(BATCH) if cap is None else importance(agent, examples, state.theta, cap)
        labels = np.array([example.label for example in examples], dtype=np.float64)
        centred = labels - weights @ labels / weights.sum()
        shares = weights * centred / (np.sqrt(weights @ centred**2 / weights.sum()) + 1e-8) / BATCH
        seen = agent.scaling(np.concatenate([example.observations for example in examples]))
        actions = np.concatenate([example.actions for example in examples])
        factors = np.repeat(shares, [len(example.actions) for example in examples])
        gradient = agent.network.gradient(state.theta, seen, actions, factors)
        state = state.climb(gradient, agent.options.step_size)
    return GRID.success(NetworkPolicy(agent.network, state.theta, agent.scaling))


def importance(
    agent: Reinforce, examples: list[LabelledEpisode], theta: Floats, cap: float
) -> Floats:
    """min(cap, pi(tau) / beta(tau)), beta the policy that played."""

    def log_likelihood(lesson: LabelledEpisode, at: Floats) -> float:
        logs = agent.network.log_probabilities(at, agent.scaling(lesson.observations))
        return float(logs[np.arange(len(lesson.actions)), lesson.actions].sum())

    ratios = [
        log_likelihood(example, theta) - log_likelihood(example, example.theta)
        for example in examples
    ]
    return np.exp(np.minimum(ratios, np.log(cap)))


def policy_of(agent: Reinforce, number: int) -> NetworkPolicy:
    """The policy in force."""
    policy = agent.plan(number).policy
    assert isinstance(policy, NetworkPolicy)
    return policy


def success(agent: Reinforce) -> float:
    """The exact success probability of the policy in force."""
    return GRID.success(policy_of(agent, 10**9))


def correct(agent: Reinforce, episodes: list[int]) -> None:
    """Turn the labels of some episodes around."""
    for number in episodes:
        agent.label(number, 1 - agent.experience.labels[number, 0])


def run(seed: int, steps: int) -> dict[str, float]:
    """Every measurement of one seed."""
    agent, example = trained(seed, steps), [EARLY * BATCH]
    many = generator(seed, _CHOICE).choice(steps * BATCH, size=MANY, replace=False).tolist()
    found = {"as played": success(agent)}
    correct(agent, example)
    found["one label corrected"] = success(agent)
    found["one corrected, replayed as if played by the replay"] = replayed(agent, None)
    found["one corrected, replayed with weights"] = replayed(agent, CAP)
    correct(agent, example)
    correct(agent, many)
    found[f"{MANY} labels corrected"] = success(agent)
    for lag in (2, 8):
        found[f"labels {lag} batches late"] = success(trained(seed, steps, lag))
    return found


def main() -> None:
    """Print mean and standard deviation over the seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--steps", type=int, default=400, help="gradient steps, more than 50")
    chosen = parser.parse_args()
    runs = [run(FIRST_SEED + index, chosen.steps) for index in range(chosen.runs)]
    for name in runs[0]:
        values = np.array([example[name] for example in runs])
        spread = values.std(ddof=1) if len(values) > 1 else 0.0
        console.print(f"{name}: {values.mean():.3f} +- {spread:.3f}, least {values.min():.3f}")


if __name__ == "__main__":
    main()
