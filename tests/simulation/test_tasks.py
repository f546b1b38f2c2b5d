"""The tasks against independent truths: other solvers, enumeration, closed forms, paths."""

from __future__ import annotations

from itertools import product

import gymnasium
import numpy as np
import pytest
from scipy.special import expit

from app.agents.spec import AgentSpec
from app.errors import InvalidValue
from app.learning.world.model import TransitionModel
from app.planning.fast.planner import plan_fast
from app.planning.problem import PlanningProblem
from app.simulation.tasks import Task, load_task, task_names
from app.simulation.tasks.collect import collect
from app.simulation.tasks.frozen_lake import frozen_lake
from app.simulation.tasks.grid import grid
from app.simulation.tasks.judge import Judge
from app.simulation.tasks.random_mdp import random_mdp
from app.simulation.tasks.river_swim import river_swim
from app.simulation.tasks.visit_both import visit_both
from app.wire.validation import parse
from tests.simulation.rollouts import judged, rollouts

NAMES = [
    "collect",
    "corridor",
    "frozenlake-4x4",
    "frozenlake-8x8",
    "grid",
    *(f"random-{seed}" for seed in range(6)),
    "riverswim-12",
    "riverswim-6",
    "visit-both",
]


def uniform_policy(task: Task) -> np.ndarray:
    return np.full((task.horizon, task.states, task.actions), 1.0 / task.actions)


def best_by_histories(task: Task, success) -> float:
    """The optimum by brute force: a decision at every history, ``success(states, actions)``."""

    def worth(states: list[int], actions: list[int]) -> float:
        if len(actions) == task.horizon:
            return success(states, actions)
        return max(worth_of_action(states, [*actions, a]) for a in range(task.actions))

    def worth_of_action(states: list[int], actions: list[int]) -> float:
        if len(actions) == task.horizon:
            return success(states, actions)
        row = task.transitions[states[-1], actions[-1]]
        return sum(row[s] * worth([*states, s], actions) for s in np.flatnonzero(row))

    return sum(task.start[s] * worth([s], []) for s in np.flatnonzero(task.start))


class TestRegistry:
    def test_names(self):
        assert task_names() == NAMES

    def test_unknown_name_lists_the_names(self):
        with pytest.raises(InvalidValue) as caught:
            load_task("frozenlake-5x5")
        assert caught.value.field == "task"
        for name in NAMES:
            assert name in caught.value.expected

    def test_a_task_is_made_once(self):
        assert load_task("grid") is load_task("grid")


@pytest.mark.parametrize("name", NAMES)
class TestEveryTask:
    def test_name_and_shapes(self, name):
        task = load_task(name)
        assert task.name == name
        assert task.transitions.shape == (task.states, task.actions, 2 * task.states + 1)

    def test_probabilities(self, name):
        task = load_task(name)
        assert (task.transitions >= 0).all()
        np.testing.assert_allclose(task.transitions.sum(axis=2), 1.0, atol=1e-12)
        np.testing.assert_allclose(task.start.sum(), 1.0, atol=1e-12)

    def test_features_are_what_a_client_would_send(self, name):
        task = load_task(name)
        features = task.features
        if features["kind"] == "events":
            sizes = {"states": task.states, "actions": task.actions, "horizon": task.horizon}
            assert parse(AgentSpec, sizes | {"features": features}).features.kind == "events"
            return
        assert set(features) == {"kind", "over", "steps"}
        assert features["kind"] == "one_hot"
        assert set(features["over"]) <= {"step", "state", "action"}
        assert features["steps"] in ("all", {"last": 3})

    def test_room_to_learn(self, name):
        task = load_task(name)
        assert 0.69 <= task.optimum() <= 1.0 + 1e-12
        low, high = (0.3, 0.6) if name.startswith("random") else (0.001, 0.05)
        if name == "corridor":
            high = 0.2  # so short that luck often does
        assert low <= task.uniform() <= high

    def test_uniform_value_by_monte_carlo(self, name):
        # Bernstein's bound: a correct value fails this with probability below 1e-6.
        task, n = load_task(name), 20_000
        sample = judged(task, rollouts(task, uniform_policy(task), n, seed=5))
        deviation = np.log(2e6) * np.array([2 * sample.var() / n, 2 / (3 * n)])
        assert abs(sample.mean() - task.uniform()) < np.sqrt(deviation[0]) + deviation[1]


class TestFrozenLake:
    @pytest.mark.parametrize("side", [4, 8])
    def test_transitions_are_gymnasiums(self, side):
        env = gymnasium.make("FrozenLake-v1", map_name=f"{side}x{side}", is_slippery=True)
        task = load_task(f"frozenlake-{side}x{side}")
        expected = np.zeros_like(task.transitions)
        for state, rows in env.unwrapped.P.items():
            for action, outcomes in rows.items():
                for probability, successor, _, over in outcomes:
                    expected[state, action, successor + side * side * over] += probability
        assert (task.transitions == expected).all()
        assert (task.start == env.unwrapped.initial_state_distrib).all()
        env.close()

    @pytest.mark.parametrize(("side", "horizon"), [(4, 100), (8, 200)])
    def test_optimum_is_value_iteration_on_gymnasiums_table(self, side, horizon):
        env = gymnasium.make("FrozenLake-v1", map_name=f"{side}x{side}", is_slippery=True)
        table = env.unwrapped.P
        values = np.zeros(side * side)
        for _ in range(horizon):
            values = np.array(
                [
                    max(
                        sum(p * (r + (not over) * values[t]) for p, t, r, over in outcomes)
                        for outcomes in table[s].values()
                    )
                    for s in range(side * side)
                ]
            )
        env.close()
        assert load_task(f"frozenlake-{side}x{side}").optimum() == pytest.approx(
            values[0], abs=1e-12
        )

    def test_label_is_gymnasiums_reward(self):
        task = frozen_lake(4, 100)
        env = gymnasium.make("FrozenLake-v1", map_name="4x4", is_slippery=True)
        rng = np.random.default_rng(0)
        returns = []
        for seed in range(300):
            env.reset(seed=seed)
            total, over = 0.0, False
            while not over:
                state, reward, terminated, truncated, _ = env.step(int(rng.integers(4)))
                total += float(reward)
                over = terminated or truncated
            returns.append(total)
            if terminated:
                assert task.judge.ended[0, state] == total
        env.close()
        # 0.0139 in 300 episodes: more than 20 successes has probability below 1e-8.
        assert sum(returns) <= 20

    def test_holes_and_goal_end_the_episode(self):
        task = frozen_lake(4, 100)
        ends = {int(c) - 16 for c in np.nonzero(task.transitions)[2] if c >= 16}
        assert ends == {5, 7, 11, 12, 15}

    def test_label(self):
        task = load_task("frozenlake-4x4")
        played = rollouts(task, uniform_policy(task), 2000, seed=0)
        assert (judged(task, played) == (played.ended_in == 15)).all()
        assert (played.ended_in == 15).any()


class TestRiverSwim:
    def test_transitions(self):
        model = river_swim(6, 20, 4.0, 3.5).transitions
        assert model[0, 0, 0] == 1
        assert model[3, 0, 2] == 1
        assert model[0, 1, [0, 1]].tolist() == [0.4, 0.6]
        assert model[3, 1, [2, 3, 4]].tolist() == [0.05, 0.6, 0.35]
        assert model[5, 1, [4, 5]].tolist() == [0.4, 0.6]

    def test_optimum_by_brute_force(self):
        task = river_swim(3, 6, per_visit=1.5, bar=2.0)
        best = best_by_histories(task, lambda s, a: float(expit(1.5 * s.count(2) - 2.0)))
        assert task.optimum() == pytest.approx(best, abs=1e-12)

    def test_label(self):
        task = river_swim(4, 12, per_visit=0.7, bar=1.0)
        played = rollouts(task, uniform_policy(task), 500, seed=1)
        direct = expit(0.7 * (played.states == 3).sum(axis=1) - 1.0)
        np.testing.assert_allclose(judged(task, played), direct, atol=1e-12)


class TestGrid:
    def test_every_start_has_time_to_reach_the_goal(self):
        # Moves are deterministic, so the optimum is the share of starts that are near enough:
        # from distance k of the goal's cross, k + 3 steps are needed.
        rows, columns = np.divmod(np.arange(150), 15)
        distance = np.maximum(np.abs(rows - 5) + np.abs(columns - 7) - 1, 0)
        for horizon in (3, 4, 8, 14, 30):
            assert grid(horizon).optimum() == pytest.approx(np.mean(distance + 3 <= horizon))
        assert load_task("grid").optimum() == pytest.approx(1.0)

    def test_uniform_value_in_closed_form(self):
        # The walk is doubly stochastic, so every step is uniform over the 150 cells. Of the five
        # good cells the centre is left for a neighbour always, a neighbour for it in 1 of 4.
        assert load_task("grid").uniform() == pytest.approx((1 * 0.25 + 4 * 0.25 * 1) / 150)

    def test_label(self):
        task = load_task("grid")
        played = rollouts(task, uniform_policy(task), 3000, seed=2)
        rows, columns = np.divmod(played.states[:, -3:], 15)
        direct = (np.abs(rows - 5) + np.abs(columns - 7) <= 1).all(axis=1)
        assert (judged(task, played) == direct).all()
        assert direct.any()


class TestCollect:
    def test_shortest_tour(self):
        # Four moves to the first item, four to the second: held from the ninth step on.
        assert collect(horizon=8).optimum() == 0.0
        assert collect(horizon=9).optimum() == 1.0

    def test_label(self):
        task = load_task("collect")
        played = rollouts(task, uniform_policy(task), 3000, seed=3)
        cells = played.states % 25
        direct = (cells == 4).any(axis=1) & (cells == 24).any(axis=1)
        assert (judged(task, played) == direct).all()
        assert direct.any()

    def test_only_good_episodes_visit_states_that_hold_both(self):
        task = load_task("collect")
        played = rollouts(task, uniform_policy(task), 3000, seed=4)
        good = judged(task, played) == 1
        assert ((played.states >= 75).any(axis=1) == good).all()


class TestVisitBoth:
    def test_shortest_tour(self):
        """Four moves to one corner, eight to the other: there at the thirteenth step."""
        assert visit_both(5, 5, 12, 0, "short").optimum() == 0.0
        assert visit_both(5, 5, 13, 0, "long").optimum() == 1.0

    def test_both_ends_of_a_row(self):
        """One move to the near end, three to the far one."""
        assert visit_both(1, 4, 4, 1, "short").optimum() == 0.0
        assert visit_both(1, 4, 5, 1, "long").optimum() == 1.0

    @pytest.mark.parametrize("start", range(3))
    def test_values_by_brute_force(self, start):
        task = visit_both(1, 3, 5, start, "row")
        assert task.optimum() == best_by_histories(task, lambda s, a: float(0 in s and 2 in s))
        walks = []
        for walk in product((-1, 1), repeat=4):
            path = [start]
            for move in walk:
                path.append(min(max(path[-1] + move, 0), 2))
            walks.append(path)
        assert task.uniform() == pytest.approx(np.mean([0 in path and 2 in path for path in walks]))

    @pytest.mark.parametrize(("name", "places"), [("visit-both", (4, 20)), ("corridor", (0, 3))])
    def test_label(self, name, places):
        task = load_task(name)
        played = rollouts(task, uniform_policy(task), 5000, seed=6)
        direct = np.logical_and(*((played.states == place).any(axis=1) for place in places))
        assert (judged(task, played) == direct).all()
        assert direct.any()


def random_weights(seed: int, states: int, actions: int) -> np.ndarray:
    """The weights as the module's text defines them, drawn again."""
    rng = np.random.default_rng(seed)
    rng.dirichlet(np.full(states, 0.3), size=(states, actions))
    rng.dirichlet(np.ones(states))
    weights = rng.normal(scale=0.25, size=(states, actions))
    return np.round(weights - weights.mean(), 2)


class TestRandomMdp:
    @pytest.mark.parametrize("seed", range(3))
    def test_optimum_by_brute_force(self, seed):
        task, weights = random_mdp(seed, 3, 2, horizon=4), random_weights(seed, 3, 2)
        best = best_by_histories(task, lambda s, a: float(expit(weights[s, a].sum())))
        assert task.optimum() == pytest.approx(best, abs=1e-12)

    @pytest.mark.parametrize("seed", range(6))
    def test_optimum_within_the_planners_certificate(self, seed):
        task = load_task(f"random-{seed}")
        S, A, H = task.states, task.actions, task.horizon
        model = TransitionModel.from_dense(task.transitions.reshape(S * A, -1), S, A)
        weights = np.tile(random_weights(seed, S, A), (H, 1, 1))
        ended = np.zeros((H + 1, S + 1))
        problem = PlanningProblem(task.start, model, weights, np.zeros((H, S, A)), ended)
        plan = plan_fast(problem, 1e-3)
        assert plan.gap <= 1e-3
        assert plan.lower - 1e-9 <= task.optimum() <= plan.upper + 1e-9

    def test_label(self):
        task = load_task("random-2")
        played = rollouts(task, uniform_policy(task), 500, seed=5)
        logits = random_weights(2, 10, 3)[played.states, played.actions].sum(axis=1)
        np.testing.assert_allclose(judged(task, played), expit(logits), atol=1e-12)


class TestRefusals:
    def test_judge(self):
        with pytest.raises(InvalidValue, match="judge"):
            Judge(np.zeros((2, 3, 1), dtype=np.int64), np.zeros(1), np.zeros((2, 3)))
        with pytest.raises(InvalidValue, match="memories"):
            Judge(np.full((1, 3, 1), 1), np.zeros(1), np.zeros((1, 3)))
        with pytest.raises(InvalidValue, match="probabilities"):
            Judge(np.zeros((1, 3, 1), dtype=np.int64), np.full(1, 1.5), np.zeros((1, 3)))
        with pytest.raises(InvalidValue, match="points"):
            Judge.of_points(np.full((2, 2), -1), 3, 1.0, 0.0)

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("horizon", 0),
            ("transitions", np.zeros((2, 1, 4))),
            ("transitions", np.full((2, 1, 5), 0.3)),
            ("transitions", np.eye(5)[[4, 4]][:, None, :]),
            ("start", np.array([0.5, 0.6])),
            ("judge", Judge.of_end(np.array([True, False]), actions=2)),
        ],
    )
    def test_task(self, field, value):
        fields = {
            "name": "tiny",
            "horizon": 1,
            "start": np.array([1.0, 0.0]),
            "transitions": np.eye(5)[[0, 1]][:, None, :],
            "judge": Judge.of_end(np.array([True, False]), actions=1),
            "features": {},
        }
        Task(**fields)
        with pytest.raises(InvalidValue, match=field):
            Task(**(fields | {field: value}))

    def test_value_of_a_policy_of_another_shape(self):
        with pytest.raises(InvalidValue, match="policy"):
            load_task("grid").value(np.ones((30, 150)))
