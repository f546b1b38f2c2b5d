"""How few labels `smooth` needs on classic control: measures, and writes docs/numbers.md.

python -m benchmarks.numbers --seeds 5 --tasks CartPole rail
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from app.agents import make_agent
from app.agents.spec import AgentSpec
from app.learning.randomness import generator
from app.learning.trajectory import Trajectory
from app.learning.world.policy import Policy
from app.planning.policies.registry import act_in
from app.wire.validation import parse
from benchmarks.numbers.page import Row, load_record, save_record, update_page
from benchmarks.numbers.tasks import TASKS, Task

FIRST_SEED = 1000  # the constants were settled on smaller ones
GOOD = 0.9
EVALUATED = 30  # episodes of the exploit policy at each checkpoint
EVERY = 10  # labels between checkpoints once it is good
AFTER = 100  # labels that it must stay good for
PATIENCE = 150  # labels within which it must become good


@dataclass
class Run:
    """What one seed showed."""

    labels: int | None = None  # until the exploit policy first reached 90 %
    first_success: int | None = None
    later: list[float] = field(default_factory=list)  # success at the checkpoints after that
    claims: list[float] = field(default_factory=list)  # what the model said there
    seconds: float = 0.0  # of CPU a label


def spec_of(task: Task, seed: int, algorithm: dict[str, Any] | None = None) -> AgentSpec:
    """The specification of an agent for a task."""
    data = {
        "observations": {"low": task.low, "high": task.high},
        "actions": task.actions,
        "horizon": task.horizon,
        "algorithm": algorithm or {"kind": "smooth"},
        "seed": seed,
    }
    return parse(AgentSpec, data)


def play(task: Task, policy: Policy, seed: int, number: int) -> tuple[Trajectory, int]:
    """One episode and its label; the world's luck depends on seed and number alone."""
    world, luck = generator(seed, 1, number), generator(seed, 2, number)
    states, actions, ended = [task.start(world)], [], False
    memory: tuple[int, ...] = ()
    for step in range(task.horizon):
        seen = task.observe(states[-1])
        action, memory = act_in(policy, step, seen, memory, float(luck.random()))
        state, ended = task.step(states[-1], action, world)
        actions.append(action)
        states.append(state)
        if ended:
            break
    rows = np.array([task.observe(state) for state in states])
    played = Trajectory.observed(rows[:-1], np.array(actions), ended, rows[-1])
    return played, int(task.label(states, ended))


def success(task: Task, policy: Policy, seed: int, checkpoint: int) -> float:
    """The share of good episodes among some that nobody learns from."""
    first = 10**6 * (1 + checkpoint)
    return float(np.mean([play(task, policy, seed, first + i)[1] for i in range(EVALUATED)]))


def run(task: Task, seed: int, patience: int = PATIENCE, after: int = AFTER) -> Run:
    """Learn label by label; checkpoints at every label until good, then every ten."""
    agent, found = make_agent(spec_of(task, seed)), Run()
    spent, labels, stop = 0.0, 0, patience
    while labels < stop:
        began = time.process_time()
        plan = agent.plan(labels, certify=False)
        spent += time.process_time() - began
        played, label = play(task, plan.policy, seed, labels)
        agent.finish(labels, played)
        agent.label(labels, label)
        labels += 1
        if label and found.first_success is None:
            found.first_success = labels
        if found.labels is not None and (labels - found.labels) % EVERY:
            continue
        began = time.process_time()
        exploit = agent.plan(10**9 + labels, "exploit", certify=False)
        spent += time.process_time() - began
        observed = success(task, exploit.policy, seed, labels)
        if found.labels is not None:
            found.later.append(observed)
            found.claims.append(exploit.value)
        elif observed >= GOOD:
            found.labels, stop = labels, labels + after
    found.seconds = spent / labels
    return found


def step_microseconds(task: Task) -> float:
    """CPU time of one action of a policy in memory."""
    agent = make_agent(spec_of(task, FIRST_SEED))
    for number in range(12):
        played, label = play(task, agent.plan(number, certify=False).policy, FIRST_SEED, number)
        agent.finish(number, played)
        agent.label(number, label)
    policy = agent.plan(10**9, "exploit", certify=False).policy
    assert played.observations is not None
    seen = [tuple(row) for row in played.observations.tolist()]
    began, count = time.process_time(), 0
    while count < 5000:
        for step, row in enumerate(seen):
            act_in(policy, step, row, (), 0.0)
        count += len(seen)
    return 1e6 * (time.process_time() - began) / count


def row_of(found: Run, seed: int) -> Row:
    """A run as the record keeps it."""
    later, claims = np.array(found.later), np.array(found.claims)
    some = len(later) > 0
    return {
        "seed": seed,
        "labels": found.labels,
        "first_success": found.first_success,
        "mean_after": round(float(later.mean()), 4) if some else None,
        "worst": round(float(later.min()), 3) if some else None,
        "claim": round(float(claims.mean()), 4) if some else None,
        "claim_error": round(float(np.abs(claims - later).mean()), 4) if some else None,
        "seconds": round(found.seconds, 4),
    }


def main() -> None:
    """Measure the chosen tasks, keep the runs and, if asked, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tasks", nargs="*", default=[], help="parts of names; all by default")
    parser.add_argument("--patience", type=int, default=PATIENCE, help="labels to become good in")
    parser.add_argument("--after", type=int, default=AFTER, help="labels watched after that")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--page", action="store_true", help="keep the runs, write docs/numbers.md")
    chosen = parser.parse_args()
    record = load_record()
    for task in TASKS:
        if chosen.tasks and not any(part in task.name for part in chosen.tasks):
            continue
        rows: list[Row] = []
        for seed in range(chosen.first_seed, chosen.first_seed + chosen.seeds):
            rows.append(row_of(run(task, seed, chosen.patience, chosen.after), seed))
            print(task.name, rows[-1], flush=True)
        print(f"{task.name}: {step_microseconds(task):.0f} microseconds a step", flush=True)
        record[task.name] = rows
        if chosen.page:
            save_record(record)
    if chosen.page:
        update_page(record)


if __name__ == "__main__":
    main()
