"""The predicted cost of learning jobs against what they take, and how fast this machine is.

    python -m benchmarks.cost [STATES HORIZON ACTIONS]

Each job has three labelled episodes of random steps. It runs in a process of its own, so that its
peak of memory is its own. Processor seconds are compared, in multiples of this machine's slowness.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from multiprocessing.connection import Connection

import numpy as np
from rich.console import Console
from rich.table import Table

from app.agents import AgentSpec, make_agent
from app.agents.cost import slowness
from app.learning.trajectory import Trajectory
from app.planning.policies.registry import pack_policy
from app.planning.problem import PlanBudget
from app.planning.warm_up import warm_up_first
from app.wire.validation import parse

SHAPES = ((16, 20, 4), (100, 1000, 200), (10_000, 1000, 2), (1000, 10_000, 2))
KINDS = ("thompson", "ucbvi")
EPISODES = 3
LAST = {"kind": "one_hot", "over": ["state"], "steps": "last"}
BUDGET = PlanBudget(cells=5e7, bytes=2e9)  # as in the settings


def run_job(shape: tuple[int, int, int], kind: str, result: Connection) -> None:
    """Send predicted seconds and bytes, and those that one job took."""
    warm_up_first(lambda _done, _total: None)
    states, horizon, actions = shape
    data = {
        "states": states,
        "horizon": horizon,
        "actions": actions,
        "features": LAST,
        "algorithm": {"kind": kind},
        "seed": 1,
    }
    agent = make_agent(parse(AgentSpec, data), BUDGET)
    rng = np.random.default_rng(0)
    for episode in range(EPISODES):
        played, taken = (rng.integers(size, size=horizon) for size in (states, actions))
        agent.finish(episode, Trajectory(played, taken))
        agent.label(episode, episode % 2)
    before, began = _peak(), time.process_time()
    agent.refit()
    plans = [agent.plan(EPISODES), agent.plan(-2, "exploit")]
    agent.packed_insight()
    agent.snapshot()
    for plan in plans:
        pack_policy(plan.policy)
    seconds, cost = time.process_time() - began, agent.job_cost()
    result.send((cost.seconds * slowness(), seconds, cost.bytes, _peak() - before))


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1e3


def main() -> None:
    """Print a table."""
    given = tuple(map(int, sys.argv[1:4]))
    shapes = (given,) if len(given) == 3 else SHAPES
    print(f"this machine takes {slowness():.2f} times as long as the one of the constants")
    table = Table("states x horizon x actions", "kind", "predicted s", "s", "predicted MB", "MB")
    context = multiprocessing.get_context("spawn")
    for shape in shapes:
        for kind in KINDS:
            receiving, sending = context.Pipe(duplex=False)
            process = context.Process(target=run_job, args=(shape, kind, sending))
            process.start()
            predicted, seconds, size, held = receiving.recv()
            process.join()
            cells = [f"{predicted:.2f}", f"{seconds:.2f}", f"{size / 1e6:.0f}", f"{held / 1e6:.0f}"]
            table.add_row(" x ".join(map(str, shape)), kind, *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
