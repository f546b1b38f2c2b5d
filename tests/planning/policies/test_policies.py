"""Policies as stored bytes: what comes back acts the same."""

import numpy as np
import pytest

from app.agents import AGENT_KINDS, AgentSpec, make_agent
from app.errors import SnapshotError
from app.learning.randomness import uniform
from app.learning.trajectory import Trajectory
from app.planning.policies.markov import MarkovPolicy
from app.planning.policies.registry import POLICY_KINDS, pack_policy, unpack_policy
from app.wire.validation import parse


def planned(kind, **options):
    observes = AGENT_KINDS[kind].observes
    states = {"observations": {"low": [0.0], "high": [2.0]}} if observes else {"states": 3}
    spec = states | {"actions": 2, "horizon": 4, "algorithm": {"kind": kind, **options}}
    agent = make_agent(parse(AgentSpec, spec))
    states, actions = np.array([0, 1, 2, 2]), np.array([1, 1, 0, 1])
    seen = states[:, None].astype(np.float64)
    agent.finish(0, Trajectory.observed(seen, actions) if observes else Trajectory(states, actions))
    agent.label(0, 1)
    return agent.plan(1).policy


@pytest.mark.parametrize("kind", sorted(AGENT_KINDS))
def test_a_policy_that_comes_back_acts_the_same(kind):
    policy = planned(kind)
    again = unpack_policy(pack_policy(policy))
    assert type(again) is type(policy)
    for episode in range(50):
        memory, twin = (), ()
        for step in range(4):
            state, luck = int(uniform(1, episode, step) * 3), uniform(2, episode, step)
            action, memory = policy.act(step, state, memory, luck)
            other, twin = again.act(step, state, twin, luck)
            assert (action, memory) == (other, twin)


def test_the_reward_policy_comes_back():
    policy = planned("ucbvi", optimism="reward")
    assert policy.kind == "reward"
    assert unpack_policy(pack_policy(policy)).arrays().keys() == policy.arrays().keys()


def test_a_markov_policy_has_one_way():
    table = np.array([[0, 2], [1, 0]])
    policy = unpack_policy(pack_policy(MarkovPolicy(table)))
    for step, state in np.ndindex(2, 2):
        action = int(table[step, state])
        assert policy.act(step, state, (7,), 0.9) == (action, (7,))
        assert policy.branches(step, state, (7,)) == [(1.0, action, (7,))]
    assert policy.agrees(Trajectory(np.array([1, 0]), np.array([2, 1])))
    assert policy.agrees(Trajectory(np.array([0]), np.array([0])))
    assert not policy.agrees(Trajectory(np.array([1, 0]), np.array([2, 0])))


def test_every_kind_has_its_own_name():
    assert all(cls.kind == name for name, cls in POLICY_KINDS.items())


@pytest.mark.parametrize("packed", [b"", b"PK\x03\x04", b"not an archive"])
def test_what_is_no_policy_is_refused(packed):
    with pytest.raises(SnapshotError):
        unpack_policy(packed)
