"""Playing tasks: the environment's frequencies are the model's, and every way of playing agrees."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from app.errors import InvalidValue
from app.learning.features.events import PathEvent, PathEvents
from app.learning.randomness import uniform
from app.learning.spaces import Spaces
from app.learning.world.model import TransitionModel
from app.planning.fast.planner import plan_fast
from app.planning.policies.markov import MarkovPolicy
from app.planning.problem import PlanningProblem
from app.planning.tracked import plan_on_plain_states
from app.simulation.environment import Environment, evaluate
from app.simulation.tables import random_unit
from app.simulation.tasks import Task, load_task
from app.simulation.tasks.frozen_lake import frozen_lake
from app.simulation.tasks.river_swim import river_swim
from tests.simulation.rollouts import Trajectories, judged, rollouts


class Remembering:
    """A randomised policy that uses everything it is given: step, state, memory, luck."""

    def __init__(self, actions: int) -> None:
        self.actions = actions

    def act(self, step, state, memory, uniform):
        seen = memory[0] if memory else 0
        action = (seen + step + int(uniform * self.actions)) % self.actions
        return action, (seen + state,)

    def arrays(self):
        return {}


class Markov:
    """P(action | step, state) as a policy that acts."""

    def __init__(self, table: np.ndarray) -> None:
        self.cumulative = np.cumsum(table, axis=2)

    def act(self, step, state, memory, uniform):
        return int(np.searchsorted(self.cumulative[step, state], uniform, side="right")), ()

    def arrays(self):
        return {"cumulative": self.cumulative}


def some_policy(task: Task, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(task.actions), size=(task.horizon, task.states))


def optimistic_plan(task: Task, seed: int):
    """A plan on the true model for arbitrary weights: what matters is only that it acts."""
    S, A, H = task.states, task.actions, task.horizon
    rng = np.random.default_rng(seed)
    model = TransitionModel.from_dense(task.transitions.reshape(S * A, -1), S, A)
    weights = rng.normal(scale=0.4, size=(H, S, A))
    ended = np.zeros((H + 1, S + 1))
    return plan_fast(PlanningProblem(task.start, model, weights, np.zeros((H, S, A)), ended), 0.05)


def tracked_plan(task: Task, seed: int):
    """The same on states joined with the memory of two events."""
    S, A, H = task.states, task.actions, task.horizon
    rng = np.random.default_rng(seed)
    events = PathEvents(Spaces(S, A, H), (PathEvent("visited", (1,)), PathEvent("then", (2, 0))))
    tracker = events.tables.tracker
    model = TransitionModel.from_dense(task.transitions.reshape(S * A, -1), S, A)
    shape = (H, tracker.size, A)
    problem = PlanningProblem(
        start=tracker.start(task.start),
        transitions=tracker.transitions(model),
        weights=rng.normal(scale=0.4, size=shape),
        bonuses=np.zeros(shape),
        ended_weights=np.zeros((H + 1, tracker.size + 1)),
    )
    return plan_on_plain_states(tracker, plan_fast(problem, 0.05))


def play(env: Environment, rng: np.random.Generator) -> Trajectories:
    """One episode of uniform actions, written down."""
    task = env.task
    states, actions = np.zeros((1, task.horizon), int), np.full((1, task.horizon), -1)
    state, ended, step = env.reset(rng), False, 0
    while not env.done:
        states[0, step] = state
        actions[0, step] = int(rng.integers(task.actions))
        state, ended = env.step(int(actions[0, step]))
        step += 1
    states[0, step:] = state
    return Trajectories(states, actions, np.array([step]), np.array([state if ended else -1]))


class TestEnvironment:
    @pytest.mark.parametrize("name", ["frozenlake-4x4", "riverswim-6", "random-1"])
    def test_frequencies_are_the_models(self, name):
        # One chi-square test over all rows: rejects a right environment once in a million.
        task, rng = load_task(name), np.random.default_rng(11)
        env = Environment(task)
        counts = np.zeros_like(task.transitions)
        starts = np.zeros(task.states)
        while counts.sum() < 20_000:
            state = env.reset(rng)
            starts[state] += 1
            while not env.done:
                action = int(rng.integers(task.actions))
                successor, ended = env.step(action)
                counts[state, action, successor + task.states * ended] += 1
                state = successor
        assert not counts[task.transitions == 0].any()
        assert not starts[task.start == 0].any()
        totals = np.concatenate([counts.sum(axis=2).ravel(), [starts.sum()]])
        observed = np.vstack(
            [counts.reshape(len(totals) - 1, -1), np.pad(starts, (0, task.states + 1))]
        )
        model = np.vstack(
            [
                task.transitions.reshape(len(totals) - 1, -1),
                np.pad(task.start, (0, task.states + 1)),
            ]
        )
        expected = totals[:, None] * model
        used = expected >= 5  # the test's approximation needs it
        statistic = (((observed - expected) ** 2)[used] / expected[used]).sum()
        assert used.sum() >= 10
        assert statistic < stats.chi2.isf(1e-6, df=used.sum())

    @pytest.mark.parametrize(
        "name", ["frozenlake-4x4", "riverswim-6", "grid", "collect", "random-0"]
    )
    def test_it_judges_as_the_task_does(self, name):
        task, rng = load_task(name), np.random.default_rng(3)
        env = Environment(task)
        for _ in range(50):
            episode = play(env, rng)
            assert env.success_probability == pytest.approx(judged(task, episode)[0])

    def test_the_last_action_may_end_the_episode(self):
        # From the start of a lake of one step nothing ends; of six steps the goal is in reach.
        task = frozen_lake(4, 6)
        played = rollouts(task, some_policy(task), 20_000, seed=0)
        late = (played.lengths == 6) & (played.ended_in == 15)
        assert late.any()
        assert (judged(task, played)[late] == 1).all()

    def test_labels_follow_the_probability(self):
        # Hoeffding's bound: a right environment fails this with probability below 1e-6.
        task, rng = river_swim(3, 4, 1.0, 1.0), np.random.default_rng(8)
        env, excess, n = Environment(task), 0.0, 4000
        for _ in range(n):
            play(env, rng)
            excess += env.label() - env.success_probability
        assert abs(excess) / n < np.sqrt(np.log(2e6) / (2 * n))

    def test_same_generator_same_episode(self):
        env = Environment(load_task("random-3"))
        first = play(env, np.random.default_rng(4))
        second = play(env, np.random.default_rng(4))
        assert (first.states == second.states).all()
        assert (first.actions == second.actions).all()

    def test_refuses_to_go_on(self):
        env = Environment(load_task("random-3"))
        with pytest.raises(RuntimeError, match="reset"):
            env.step(0)
        env.reset(np.random.default_rng(0))
        with pytest.raises(RuntimeError, match="not over"):
            env.label()
        for _ in range(10):
            env.step(0)
        with pytest.raises(RuntimeError, match="reset"):
            env.step(0)


class TestRollouts:
    @pytest.mark.parametrize("name", ["frozenlake-4x4", "grid", "random-0", "riverswim-12"])
    def test_mean_is_the_exact_value(self, name):
        # Bernstein's bound, as for the uniform policy: probability of failure below 1e-6.
        task, n = load_task(name), 20_000
        policy = some_policy(task)
        sample = judged(task, rollouts(task, policy, n, seed=9))
        first, second = np.log(2e6) * np.array([2 * sample.var() / n, 2 / (3 * n)])
        assert abs(sample.mean() - task.value(policy)) < np.sqrt(first) + second

    def test_layout_after_the_end(self):
        played = rollouts(task := load_task("frozenlake-4x4"), some_policy(task), 200, seed=1)
        after = np.arange(task.horizon)[None, :] >= played.lengths[:, None]
        assert after.any()
        assert (played.actions[after] == -1).all()
        assert (played.actions[~after] >= 0).all()
        assert (played.states[after] == np.repeat(played.ended_in, after.sum(axis=1))).all()

    def test_policy_of_another_shape(self):
        with pytest.raises(InvalidValue, match="policy"):
            rollouts(load_task("grid"), np.ones((30, 150)), 10, seed=0)


class TestEvaluate:
    @pytest.mark.parametrize("name", ["frozenlake-4x4", "riverswim-6", "random-0"])
    def test_compiled_and_plain_rollouts_agree_exactly(self, name):
        task = load_task(name)
        policy = some_policy(task)
        compiled = judged(task, rollouts(task, policy, 300, seed=6)).mean()
        assert evaluate(task, Markov(policy), 300, seed=6) == pytest.approx(compiled, abs=1e-12)

    @pytest.mark.parametrize("planned", [optimistic_plan, tracked_plan])
    @pytest.mark.parametrize("name", ["frozenlake-4x4", "riverswim-6", "random-0", "collect"])
    def test_grid_policy_is_played_as_it_acts(self, name, planned):
        class Plain:
            def __init__(self, inner):
                self.act, self.arrays = inner.act, inner.arrays

        task = load_task(name)
        policy = planned(task, seed=2).policy
        plain = evaluate(task, Plain(policy), 300, seed=7)
        assert evaluate(task, policy, 300, seed=7) == pytest.approx(plain, abs=1e-12)

    @pytest.mark.parametrize("name", ["frozenlake-4x4", "random-0"])
    def test_an_action_table_is_exact(self, name):
        """Against the mean of 4000 played episodes; five deviations of it are at most 0.04."""
        task = load_task(name)
        table = np.random.default_rng(3).integers(task.actions, size=(task.horizon, task.states))
        exact = evaluate(task, MarkovPolicy(table), 1)
        assert exact == evaluate(task, MarkovPolicy(table), 1, seed=5)
        played = rollouts(task, np.eye(task.actions)[table], 4000, seed=3)
        assert abs(judged(task, played).mean() - exact) < 0.04

    def test_common_luck(self):
        task = load_task("random-0")
        policy = Remembering(task.actions)
        assert evaluate(task, policy, 50, seed=1) == evaluate(task, policy, 50, seed=1)
        assert evaluate(task, policy, 50, seed=1) != evaluate(task, policy, 50, seed=2)


class TestRandomUnit:
    def test_it_is_the_addressed_uniform(self):
        places = np.random.default_rng(0).integers(2**40, size=(200, 3)).tolist()
        assert [random_unit(*p) for p in places] == [uniform(*p) for p in places]

    def test_seeds_do_not_share_their_episodes(self):
        first, second = ({random_unit(s, e, 0) for e in range(256)} for s in (0, 1))
        assert not first & second

    def test_uniform_along_each_part_of_the_address(self):
        # Three Kolmogorov-Smirnov tests; each rejects a right generator once in a million.
        for place in (lambda i: (i, 0, 0), lambda i: (0, i, 0), lambda i: (0, 0, i)):
            sample = [random_unit(*place(i)) for i in range(5000)]
            assert stats.kstest(sample, "uniform").pvalue > 1e-6
            assert 0.0 <= min(sample) <= max(sample) < 1.0

    def test_neighbouring_addresses_do_not_correlate(self):
        table = np.array([[random_unit(3, e, d) for d in range(20)] for e in range(2000)])
        correlations = np.corrcoef(table.T)[np.triu_indices(20, 1)]
        # 190 coefficients of standard deviation 1/sqrt(2000): 6 deviations, below 1e-6 in all.
        assert np.abs(correlations).max() < 6 / np.sqrt(2000)
