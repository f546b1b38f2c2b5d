"""The mixture policy: one draw an episode, with the law that its branches say."""

import numpy as np
import pytest

from app.learning.world.model import TransitionModel
from app.planning.fast.planner import plan_fast
from app.planning.policies.grid import GridPolicy
from app.planning.policies.mixture import MixturePolicy
from app.planning.policies.registry import pack_policy, unpack_policy
from app.planning.policies.uniform import UniformPolicy
from app.planning.problem import PlanningProblem

TABLES = np.random.default_rng(1).integers(0, 2, (3, 4, 3))


def grid_policy():
    """A plan for random weights over 4 steps, 3 states and 2 actions, nothing known of P."""
    rng = np.random.default_rng(3)
    problem = PlanningProblem(
        start=np.full(3, 1 / 3),
        transitions=TransitionModel(3, 2, np.zeros(7), np.zeros(0), np.zeros(0)),
        weights=rng.normal(size=(4, 3, 2)),
        bonuses=np.zeros((4, 3, 2)),
        ended_weights=np.zeros((5, 4)),
    )
    policy = plan_fast(problem).policy
    assert isinstance(policy, GridPolicy)
    return policy


@pytest.mark.parametrize("tables", [TABLES, TABLES[:0]], ids=["three", "none"])
@pytest.mark.parametrize("chance", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("memory", [(), (0,), (1,), (0, 2)])
def test_acting_has_the_law_of_its_branches(tables, chance, memory):
    """Over an even grid of numbers, up to its spacing."""
    policy = MixturePolicy(chance, 2, tables, grid_policy())
    if memory == () or len(tables) or memory[0] == 0:
        step, count, found = min(len(memory), 1), 6000, {}
        for number in (np.arange(count) + 0.5) / count:
            way = policy.act(step, 1, memory, float(number))
            found[way] = found.get(way, 0.0) + 1.0 / count
        expected = {}
        for probability, action, after in policy.branches(step, 1, memory):
            expected[action, after] = expected.get((action, after), 0.0) + probability
        assert found.keys() == {way for way, share in expected.items() if share > 1.0 / count}
        assert all(abs(found[way] - expected[way]) < 3.0 / count for way in found)


def test_an_episode_keeps_to_its_draw():
    policy = MixturePolicy(0.5, 2, TABLES, UniformPolicy(2))
    for draw in (0.1, 0.2, 0.4, 0.9):
        _, memory = policy.act(0, 0, (), draw)
        for step in range(1, 4):
            action, after = policy.act(step, 2, memory, 0.999)
            assert after[0] == memory[0] == (1 + int(draw / 0.5 * 3) if draw < 0.5 else 0)
            assert action == (TABLES[memory[0] - 1, step, 2] if memory[0] else 1)
            memory = after


def test_it_comes_back():
    policy = MixturePolicy(0.25, 2, TABLES, grid_policy())
    again = unpack_policy(pack_policy(policy))
    assert isinstance(again, MixturePolicy)
    assert again.branches(0, 2, ()) == policy.branches(0, 2, ())
