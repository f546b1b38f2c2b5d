"""Exploration without labels, measured: the lemmas, EULER's optimism, sizes and learning.

    python -m benchmarks.explore [--sections lemma,optimism,sizes,learning] [--seeds 10]

`lemma` runs Algorithms 2 and 3 in worlds that can be explored, `optimism` counts how often a bound
of EULER fails, `sizes` says what the paper's constants mean, `learning` counts episodes and labels
until 90 % of the best success probability.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console

from app.agents import AgentSpec, make_agent
from app.learning.paper.confidence import kappa
from app.learning.paper.euler import KnownReward, confidence, plan_euler
from app.learning.paper.explorability import condition_bound, loop_bound, mixture_bound
from app.learning.spaces import Spaces
from app.learning.world.transitions import TransitionCounts
from app.simulation.runner import GOOD_ENOUGH, Run, Setting, run
from app.wire.validation import parse
from benchmarks.explore_worlds import Life, World, signed_world

FIRST_SEED = 7000  # seeds that no setting was chosen on
EPISODES = 10**5  # N of the bounds
AFTER = 300  # episodes of Algorithm 3 to follow Sigma_t for
QUICK_TASKS = ("riverswim-6", "random-0", "random-1", "grid")  # for plans in reward space too
TASKS = (*QUICK_TASKS, "frozenlake-4x4", "riverswim-12", "collect")
console = Console(highlight=False)


@dataclass(frozen=True)
class Found:
    """One run of Algorithms 2 and 3."""

    loops: int
    episodes: int
    least: float  # the smallest eigenvalue of E[phi phi^T], in units of the lemma's bound
    condition: float  # the largest condition number of Sigma_t
    psi: float  # and its bound at the end


def lemma(seeds: int) -> None:
    """Loops, the mixture's second moment and Sigma_t against what the paper says of them."""
    for states, pairs, horizon in ((2, 2, 2), (4, 2, 3), (5, 3, 3), (6, 2, 5)):
        rows = [_find(states, pairs, horizon, FIRST_SEED + n) for n in range(seeds)]
        d, omega = horizon * pairs, 1.0 / (horizon * pairs) ** 0.5
        console.print(
            f"lemma: S {states} A {2 * pairs} H {horizon} d {d} omega {omega:.2f}, {seeds} seeds: "
            f"at most {max(row.loops for row in rows)} loops (bound "
            f"{loop_bound(d, EPISODES, omega):.0f}) and {max(row.episodes for row in rows)} "
            f"episodes; eigenvalue at least {min(row.least for row in rows):.1f} of its bound; "
            f"condition at most {max(row.condition for row in rows):.2f} (Psi "
            f"{min(row.psi for row in rows):.0f})"
        )


def _find(states: int, pairs: int, horizon: int, seed: int) -> Found:
    world, omega = signed_world(states, pairs, horizon, seed)
    options: dict[str, Any] = {"omega": omega, "optimism": "logit", "norm_bound": 1.0}
    life = Life(world, seed, episodes=EPISODES, n_euler=60, n_eval=200, **options)
    found, d = life.agent.exploration, horizon * pairs
    while not found.is_done:
        life.live()
    if not found.coverage.is_covered or found.coverage.active is not None:
        raise RuntimeError("a direction of an explorable world was not reached")
    moments = [world.second_moment(policy.actions) / horizon for policy in found.policies]
    least = float(np.linalg.eigvalsh(np.mean(moments, axis=0))[0])
    sigma, worst = float(kappa(1.0)) * np.eye(d), 1.0
    for _ in range(AFTER):
        row = world.row(life.live()) / horizon**0.5
        sigma += np.outer(row, row)
        worst = max(worst, float(np.linalg.cond(sigma)))
    psi = condition_bound(d, EPISODES, omega, life.episodes, found.episodes)
    bound = mixture_bound(d, EPISODES, omega)
    return Found(found.loops, found.episodes, least / bound, worst, psi)


def optimism(seeds: int) -> None:
    """How often a bound of EULER fails in a run of its own, by the formula to the letter."""
    delta, runs, episodes = 0.1, 10 * seeds, 400
    results = [_euler_run(FIRST_SEED + n, delta, episodes) for n in range(runs)]
    broken, gaps, losses = zip(*results, strict=True)
    console.print(
        f"optimism: {sum(broken)} of {runs} runs of {episodes} episodes ever broke V_up >= V* >= "
        f"V_low (delta {delta}); at the end V_up - V_low is {statistics.median(gaps):.2f} of the "
        f"range of returns and the policy loses {statistics.median(losses):.3f} of it (medians)"
    )


def _euler_run(seed: int, delta: float, episodes: int) -> tuple[bool, float, float]:
    rng = np.random.default_rng([41, seed])
    S, A, H = 3, 2, 3
    moves, start = rng.dirichlet(np.full(S, 0.5), size=(S, A)), rng.dirichlet(np.ones(S))
    rewards = rng.normal(size=(H, S, A)) / 4
    best = np.zeros((H + 1, S))
    for h in range(H - 1, -1, -1):
        best[h] = (rewards[h] + moves @ best[h + 1]).max(axis=1)
    world, counts = World(start, moves, rewards[..., None]), TransitionCounts(Spaces(S, A, H))
    reward = KnownReward(rewards, np.zeros((H + 1, S + 1)))
    c, span, broken = confidence(S, A, float(H * episodes), delta), reward.span(), False
    plan = plan_euler(reward, counts.estimate(), counts.successors(), c, span)
    for _ in range(episodes):
        table = plan.actions
        counts.add(world.play(lambda h, s, table=table: int(table[h, s]), rng))  # type: ignore[misc]
        plan = plan_euler(reward, counts.estimate(), counts.successors(), c, span)
        broken |= bool((plan.upper < best[:H] - 1e-9).any() or (plan.lower > best[:H] + 1e-9).any())
    value, here = np.zeros(S), np.arange(S)
    for h in range(H - 1, -1, -1):
        value = rewards[h, here, plan.actions[h]] + moves[here, plan.actions[h]] @ value
    loss = float(start @ (best[0] - value)) / span
    return broken, float((plan.upper - plan.lower).max()) / span, loss


def sizes(_: int) -> None:
    """What the paper's constants mean in episodes, with C1 = C2 = 1."""
    for states, actions, horizon in ((1, 2, 1), (2, 2, 2), (3, 2, 3), (4, 2, 5)):
        spec = {
            "states": states, "actions": actions, "horizon": horizon,
            "algorithm": {"kind": "ucbvi_explore", "constants": "paper"},
        }  # fmt: skip
        size = make_agent(parse(AgentSpec, spec)).progress()
        console.print(
            f"sizes: S {states} A {actions} H {horizon}, direct parametrisation, omega "
            f"{size['omega']:.2f}: N_EUL {size['n_euler']:.2g}, N_EVAL {size['n_eval']:.2g}, at "
            f"most {size['most_exploration_episodes']:.2g} episodes without labels"
        )


def learning(seeds: int) -> None:
    """Episodes and labels until the exploit policy is good enough, beside `ucbvi`."""
    logit, plain = {"kind": "ucbvi_explore", "optimism": "logit"}, {"kind": "ucbvi"}
    for task in TASKS:
        kinds = {"logit space": logit, "ucbvi": plain}
        if task in QUICK_TASKS:
            kinds = {"reward space": {"kind": "ucbvi_explore"}} | kinds
        for name, algorithm in kinds.items():
            began = time.perf_counter()
            setting = Setting(task, 600, algorithm, stop=True)
            runs = [run(setting, FIRST_SEED + n) for n in range(seeds)]
            _say(task, name, runs, (time.perf_counter() - began) / seeds)


def _say(task: str, name: str, runs: list[Run], seconds: float) -> None:
    episodes = statistics.median(run.reached or float("inf") for run in runs)
    labels = statistics.median(run.labels if run.reached else float("inf") for run in runs)
    never = sum(run.reached is None for run in runs)
    console.print(
        f"learning: {task:15} {name:13} to {GOOD_ENOUGH:.0%}: episodes {episodes:g}, labels "
        f"{labels:g} (medians), never {never} of {len(runs)}; {seconds:.0f} s a run"
    )


SECTIONS: dict[str, Callable[[int], None]] = {
    "lemma": lemma,
    "optimism": optimism,
    "sizes": sizes,
    "learning": learning,
}


def main() -> None:
    """Run the sections asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sections", default=",".join(SECTIONS))
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    for section in arguments.sections.split(","):
        SECTIONS[section](arguments.seeds)


if __name__ == "__main__":
    main()
