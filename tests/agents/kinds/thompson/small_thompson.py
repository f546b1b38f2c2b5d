"""A `thompson` small enough to be worked out, with a history that does not change."""

import numpy as np

from app.agents import AgentSpec, make_agent
from app.learning.trajectory import UNREPORTED, Trajectory
from app.wire.validation import parse

S, A, H = 3, 2, 4
FULL = {"kind": "one_hot", "over": ["step", "state", "action"]}
STATES = {"kind": "one_hot", "over": ["state"]}


def history(seed=2, count=20):
    """Episodes that end early now and then; good if they were often in state 2."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        ended = rng.random() < 0.3
        length = int(rng.integers(1, H)) if ended else H
        states, actions = rng.integers(S, size=length), rng.integers(A, size=length)
        final = int(rng.integers(S)) if ended else UNREPORTED
        good = np.count_nonzero(states == 2) >= 2 or rng.random() < 0.15
        yield number, Trajectory(states, actions, final, bool(ended)), int(good)


def agent_of(features=FULL, count=20, seed=5, spec=None, **options):
    data = {
        "states": S,
        "actions": A,
        "horizon": H,
        "features": features,
        "algorithm": {"kind": "thompson"} | options,
        "seed": seed,
    }
    agent = make_agent(parse(AgentSpec, data | (spec or {})))
    for number, trajectory, label in history(count=count):
        agent.finish(number, trajectory)
        agent.label(number, label)
    return agent


def same(first, second):
    """Whether two plans are one: the policy to the last bit, and the bounds."""
    ours, theirs = first.policy.arrays(), second.policy.arrays()
    equal = all(np.array_equal(array, theirs[key]) for key, array in ours.items())
    return equal and (first.upper, first.lower) == (second.upper, second.lower)
