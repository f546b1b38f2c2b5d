"""The memory of a policy follows what was done, whoever chose it."""

import pytest

from app.learning.randomness import uniform
from app.planning.policies.registry import POLICY_KINDS
from tests.test_docs import ACTIONS, HORIZON, POLICIES, STATES


def seen(kind, episode, step):
    state = int(uniform(1, episode, step) * STATES)
    if kind == "network":
        return (state - 0.7,)
    return (state - 0.7, uniform(3, episode, step)) if kind == "net" else state


def test_every_kind_is_here():
    assert set(POLICIES) == set(POLICY_KINDS)


@pytest.mark.parametrize("kind", sorted(POLICY_KINDS))
def test_following_its_own_action_is_acting(kind):
    policy = POLICIES[kind]()
    for episode in range(100):
        memory = ()
        for step in range(HORIZON):
            state, luck = seen(kind, episode, step), uniform(2, episode, step)
            action, after = policy.act(step, state, memory, luck)
            assert policy.follow(step, state, memory, luck, action) == after
            memory = after


@pytest.mark.parametrize("kind", ["grid", "reward", "paper", "history", "tracked", "mixture"])
def test_another_action_leads_elsewhere(kind):
    policy, differ = POLICIES[kind](), 0
    for episode in range(50):
        memory = ()
        for step in range(HORIZON):
            state, luck = seen(kind, episode, step), uniform(2, episode, step)
            ways = [policy.follow(step, state, memory, luck, a) for a in range(ACTIONS)]
            differ += len(set(ways)) > 1
            memory = ways[episode % ACTIONS]
            if step + 1 < HORIZON:  # any history can be continued
                policy.act(step + 1, seen(kind, episode, step + 1), memory, luck)
    assert differ
