"""The paper's grid: its exact success against closed forms, the tabular task and play itself."""

import numpy as np
import pytest

from app.learning.randomness import uniform
from app.simulation.tasks.base import Task
from app.simulation.tasks.grid import COLUMNS, HORIZON, MOVES, ROWS, moves
from app.simulation.tasks.judge import Judge
from benchmarks.goal_grid import ACTIONS, CELLS, GoalGrid, near_goal, uniforms


class Fixed:
    """Always the same action."""

    def __init__(self, action):
        self.action = action

    def probabilities(self, observations):
        return np.tile(np.eye(ACTIONS)[self.action], (len(observations), 1))


class Homing:
    """Goes to the goal, and from there to a neighbour and back."""

    def probabilities(self, observations):
        down, right = (observations[:, 2:4] - observations[:, :2]).T
        action = np.where(down > 0, 1, np.where(down < 0, 3, np.where(right > 0, 2, 0)))
        return np.eye(ACTIONS)[action]


class Noisy:
    """Probabilities that differ from place to place."""

    def probabilities(self, observations):
        logits = np.sin(observations[:, :4] @ np.random.default_rng(1).normal(size=(4, ACTIONS)))
        away = observations[:, 2:4] - observations[:, :2]
        logits += 3.0 * np.stack([away @ (right_down[::-1]) for right_down in STEPS], axis=1) / 8
        chances = np.exp(logits)
        return chances / chances.sum(axis=1, keepdims=True)


STEPS = np.array([(right, down) for down, right in MOVES], dtype=float)


def one_goal(goal, policy):
    """The success for one goal, by the tabular task's own dynamic programming."""
    transitions = np.zeros((CELLS, ACTIONS, 2 * CELLS + 1))
    np.put_along_axis(transitions, moves(ROWS, COLUMNS)[:, :, None], 1.0, axis=2)
    start = np.full(CELLS, 1.0 / CELLS)
    judge = Judge.of_streak(near_goal()[:, goal], 3, ACTIONS)
    task = Task("one goal", HORIZON, start, transitions, judge, {})
    cells = np.arange(CELLS)
    table = policy.probabilities(GoalGrid().see(cells, np.full(CELLS, goal)))
    return task.value(np.broadcast_to(table, (HORIZON, CELLS, ACTIONS)))


def test_acting_uniformly():
    """0.0094, as worked out by others."""
    assert GoalGrid().uniform() == pytest.approx(0.0094, abs=5e-5)


@pytest.mark.parametrize("action", range(ACTIONS))
def test_a_constant_action_ends_at_a_wall(action):
    """At a wall of n cells: 2 goals ahead of it, and 2 (n - 1) / n beside it, of 150."""
    along = ROWS if MOVES[action][0] == 0 else COLUMNS
    wanted = (2 + 2 * (along - 1) / along) / CELLS
    assert GoalGrid().success(Fixed(action)) == pytest.approx(wanted, rel=1e-12)


def test_walking_to_the_goal_always_succeeds():
    assert GoalGrid().success(Homing()) == pytest.approx(1.0, abs=1e-12)
    assert GoalGrid(hints=True).success(Homing()) == pytest.approx(1.0, abs=1e-12)


def test_a_horizon_too_short_to_arrive():
    """With three steps only starts at the goal or beside it succeed."""
    wanted = near_goal().sum() / CELLS**2
    assert GoalGrid(horizon=3).success(Homing()) == pytest.approx(wanted, rel=1e-12)


def test_success_is_the_mean_over_goals_of_the_tabular_task():
    """The values of three goals, from a policy that stands still for every other."""

    class Only:
        def __init__(self, goal):
            self.goal = goal

        def probabilities(self, observations):
            mine = observations[:, 2] * COLUMNS + observations[:, 3] == self.goal
            away = Fixed(0).probabilities(observations)
            return np.where(mine[:, None], Noisy().probabilities(observations), away)

    base = GoalGrid().success(Fixed(0))
    for goal in (0, 52, 149):
        found = GoalGrid().success(Only(goal)) - base
        wanted = (one_goal(goal, Noisy()) - one_goal(goal, Fixed(0))) / CELLS
        assert found == pytest.approx(wanted, abs=1e-12)


def test_play_succeeds_as_often_as_it_should():
    """Within 5 standard errors of 3000 episodes (p < 1e-6)."""
    wanted = GoalGrid().success(Noisy())
    assert 0.1 < wanted < 0.9
    labels = [one.label for one in GoalGrid().play(Noisy(), 3, range(3000))]
    assert abs(np.mean(labels) - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / 3000)


def test_an_episode_is_what_it_says():
    grid, near = GoalGrid(hints=True), near_goal()
    for one in grid.play(Noisy(), 4, range(30)):
        seen, path = one.trajectory.observations, one.path
        assert one.trajectory.actions.shape == path.shape == (HORIZON,)
        assert seen.shape == (HORIZON, 6)
        np.testing.assert_array_equal(seen[:, 0] * COLUMNS + seen[:, 1], path)
        assert (seen[:, 2] * COLUMNS + seen[:, 3] == one.goal).all()
        np.testing.assert_array_equal(seen[:, 4:], np.clip(seen[:, 2:4] - seen[:, :2], -3, 3))
        np.testing.assert_array_equal(moves(ROWS, COLUMNS)[path[:-1], one.trajectory.actions[:-1]], path[1:])  # fmt: skip # noqa: E501
        assert one.label == all(near[cell, one.goal] for cell in path[-3:])


def test_an_episode_belongs_to_its_seed_and_number():
    first = GoalGrid().play(Noisy(), 4, [7, 8])
    again = GoalGrid().play(Noisy(), 4, [8])
    other = GoalGrid().play(Noisy(), 5, [8])
    np.testing.assert_array_equal(first[1].path, again[0].path)
    assert first[1].goal == again[0].goal
    assert (other[0].path[0], other[0].goal) != (again[0].path[0], again[0].goal)


def test_starts_and_goals_are_uniform_and_independent():
    """Rows and columns of 2000 draws, by correlation and mean within 5 standard errors."""
    played = GoalGrid(horizon=1).play(Fixed(0), 6, range(2000))
    start, goal = np.array([(one.path[0], one.goal) for one in played]).T
    for cells in (start, goal):
        error = np.sqrt((CELLS**2 - 1) / 12 / 2000)
        assert abs(cells.mean() - (CELLS - 1) / 2) < 5 * error
    assert abs(np.corrcoef(start, goal)[0, 1]) < 5 / np.sqrt(2000)


def test_many_numbers_at_once_are_the_same_numbers():
    episodes = [0, 1, 7, 10**9, 2**40]
    for seed in (0, 3, 2**63 - 1):
        found = uniforms(seed, episodes, 5)
        assert found.tolist() == [[uniform(seed, n, h) for h in range(5)] for n in episodes]
    assert uniforms(1, [], 5).shape == (0, 5)
