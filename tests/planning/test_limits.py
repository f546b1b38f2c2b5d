"""Impossible actions: no planner chooses one, and the best of the others is found."""

from dataclasses import replace

import numpy as np
import pytest

from app.planning.fast.planner import plan_fast
from app.planning.limits import limit
from app.planning.policies.registry import pack_policy, unpack_policy
from app.planning.reference.exact import plan_histories
from app.planning.reference.paper import plan_paper
from app.planning.reward.planner import plan_reward
from benchmarks.exact import plan_exact
from tests.planning.instances import random_problem

EPSILON = 0.01


def some_allowed(problem, seed):
    """A random mask with at least one action in each state."""
    rng = np.random.default_rng([seed, 7])
    allowed = rng.random((problem.states, problem.actions)) < 0.5
    allowed[np.arange(problem.states), rng.integers(problem.actions, size=problem.states)] = True
    return allowed


def best_value(problem, allowed):
    """The truth by enumeration: an impossible action costs more than anything is worth."""
    cost = np.where(allowed, problem.bonuses, -1e6)
    space = "logit" if problem.widths is None else "reward"
    return plan_exact(replace(problem, bonuses=cost), space).value


def choices(policy, problem, episodes=200):
    """Pairs of states and actions that a policy takes anywhere, in whatever state it is put."""
    rng, taken = np.random.default_rng(3), set()
    for _ in range(episodes):
        memory = ()
        for step in range(problem.horizon):
            state = int(rng.integers(problem.states))
            action, memory = policy.act(step, state, memory, float(rng.random()))
            taken |= {(state, action)} | {
                (state, a) for _, a, _ in policy.branches(step, state, memory if step else ())
            }
    return taken


def assert_possible(policy, problem, allowed):
    again = unpack_policy(pack_policy(policy))
    for played in (policy, again):
        assert all(allowed[state, action] for state, action in choices(played, problem))


@pytest.mark.parametrize("seed", range(60))
def test_the_fast_planner_finds_the_best_possible_policy(seed):
    problem = random_problem(seed)
    allowed = some_allowed(problem, seed)
    plan = plan_fast(limit(problem, allowed), EPSILON)
    assert_possible(plan.policy, problem, allowed)
    best = best_value(problem, allowed)
    assert plan.lower - 1e-5 <= best <= plan.upper + 1e-5


@pytest.mark.parametrize("seed", range(25))
def test_the_reward_planner_finds_the_best_possible_policy(seed):
    problem = random_problem(seed, widths=True)
    allowed = some_allowed(problem, seed)
    plan = plan_reward(limit(problem, allowed), 0.05)
    assert_possible(plan.policy, problem, allowed)
    best = best_value(problem, allowed)
    assert plan.lower - 1e-5 <= best <= plan.upper + 1e-5


@pytest.mark.parametrize("seed", range(8))
def test_the_papers_planner_finds_the_best_possible_policy(seed):
    problem = random_problem(seed, widths=True, max_horizon=2, logits="plain")
    allowed = some_allowed(problem, seed)
    plan = plan_paper(limit(problem, allowed), epsilon=20.0)
    assert_possible(plan.policy, problem, allowed)
    best = best_value(problem, allowed)
    assert plan.lower - 1e-5 <= best <= plan.upper + 1e-5


@pytest.mark.parametrize("seed", range(25))
def test_the_exact_planner_finds_the_best_possible_policy(seed):
    problem = random_problem(seed, max_horizon=3)
    allowed = some_allowed(problem, seed)

    def worth(states, actions, ended):
        steps = np.arange(states.shape[1])
        logits = problem.offset + problem.weights[steps, states, actions].sum(axis=1)
        over = ended >= 0
        logits[over] += problem.ended_weights[states.shape[1], ended[over]]
        return 1 / (1 + np.exp(-logits)) + problem.bonuses[steps, states, actions].sum(axis=1)

    plan = plan_histories(
        problem.start, problem.transitions, problem.horizon, worth, allowed=allowed
    )
    assert_possible(plan.policy, problem, allowed)
    assert plan.value == pytest.approx(best_value(problem, allowed), abs=1e-9)


def test_limiting_again_changes_nothing_and_no_limit_is_no_copy():
    problem = random_problem(5)
    allowed = some_allowed(problem, 5)
    once = limit(problem, allowed)
    twice = limit(once, allowed)
    for name in ("weights", "bonuses"):
        assert (getattr(once, name) == getattr(twice, name)).all()
    assert limit(problem, np.ones_like(allowed)) is problem
