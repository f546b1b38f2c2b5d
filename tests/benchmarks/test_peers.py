"""The peers: their updates by hand and by finite differences, their play, their accounts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from app.errors import InvalidValue
from app.simulation.tables import tables
from app.simulation.tasks import load_task
from app.simulation.tasks.river_swim import river_swim
from benchmarks import peer_kernels as kernels
from benchmarks.peers import PEERS, PeerRun, greedy_policy, run_peer, spread
from tests.simulation.rollouts import judged, rollouts

STATES, ACTIONS = np.array([0, 1, 0]), np.array([1, 0, 1])


class TestValueUpdates:
    def test_q_learning_by_hand(self):
        table, visits = np.zeros((1, 2, 2)), np.zeros((1, 2, 2), dtype=np.int64)
        table[0, 0] = 0.2, 0.4
        kernels.learn_q(table, visits, STATES, ACTIONS, 1.0, 0.5, 1.0, 0.9)
        # Backwards: (0,1) <- 1 (first visit, step 1); (1,0) <- 0.9 * max(0.2, 1);
        # (0,1) <- 1 + 0.5 * (0.9 * 0.9 - 1), the second visit's step size being 1/2.
        np.testing.assert_allclose(table[0], [[0.2, 0.905], [0.9, 0.0]])
        assert visits[0].tolist() == [[0, 2], [1, 0]]

    def test_monte_carlo_by_hand(self):
        table, visits = np.zeros((1, 2, 2)), np.zeros((1, 2, 2), dtype=np.int64)
        kernels.learn_returns(table, visits, STATES, ACTIONS, 1.0, 0.1, 1.0, 0.9)
        np.testing.assert_allclose(table[0], [[0.0, (1.0 + 0.81) / 2], [0.9, 0.0]])

    def test_stepwise_tables_keep_steps_apart(self):
        table, visits = np.zeros((3, 2, 2)), np.zeros((3, 2, 2), dtype=np.int64)
        kernels.learn_q(table, visits, STATES, ACTIONS, 1.0, 0.5, 0.0, 1.0)
        assert np.argwhere(table).tolist() == [[0, 0, 1], [1, 1, 0], [2, 0, 1]]


class TestGradient:
    def test_it_is_the_gradient_of_the_log_likelihood(self):
        rng = np.random.default_rng(0)
        table = rng.normal(size=(1, 2, 3))

        def likelihood(logits: np.ndarray) -> float:
            return float(log_softmax(logits[0, STATES], axis=1)[np.arange(3), ACTIONS].sum())

        nudges = 1e-6 * np.eye(6).reshape(6, 1, 2, 3)
        slopes = [(likelihood(table + n) - likelihood(table - n)) / 2e-6 for n in nudges]
        moved = table.copy()
        kernels.learn_gradient(moved, np.full((1, 2), 0.25), STATES, ACTIONS, 1.0, 0.1, 0.0)
        expected = 0.1 * 0.75 * np.array(slopes).reshape(1, 2, 3)
        np.testing.assert_allclose(moved - table, expected, atol=1e-8)

    def test_baseline_follows_the_labels(self):
        baseline = np.zeros((1, 2))
        kernels.learn_gradient(np.zeros((1, 2, 2)), baseline, STATES, ACTIONS, 1.0, 0.1, 0.5)
        np.testing.assert_allclose(baseline, [[0.75, 0.5]])


class TestPlaying:
    def test_epsilon_greedy_shares(self):
        # 30% at random over four actions, the rest split between the two best.
        values = np.array([0.5, 0.1, 0.5, 0.0])
        units = (np.arange(4000) + 0.5) / 4000
        shares = np.bincount([kernels.greedy(values, 0.3, u) for u in units], minlength=4) / 4000
        np.testing.assert_allclose(shares, [0.425, 0.075, 0.425, 0.075], atol=1e-3)

    @pytest.mark.parametrize("name", ["frozenlake-4x4", "random-0"])
    def test_softmax_play_is_the_rollout_of_that_policy(self, name):
        task = load_task(name)
        table = np.random.default_rng(1).normal(size=(task.horizon, task.states, task.actions))
        expected = rollouts(task, softmax(table, axis=2), 50, seed=3)
        success = judged(task, expected)
        states, actions = np.zeros((2, task.horizon), dtype=np.int64)
        for episode in range(50):
            played = kernels.play(tables(task), table, -1.0, 3, episode, states, actions)
            assert played == (expected.lengths[episode], pytest.approx(success[episode]))
            length = played[0]
            assert (states[:length] == expected.states[episode, :length]).all()
            assert (actions[:length] == expected.actions[episode, :length]).all()

    def test_greedy_policy_shares_ties(self):
        table = np.array([[[0.0, 1.0, 1.0], [2.0, 0.0, 0.0]]])
        policy = greedy_policy(table, horizon=2)
        assert policy.tolist() == [[[0, 0.5, 0.5], [1, 0, 0]]] * 2


class TestRuns:
    @pytest.mark.parametrize("kind", PEERS["tuned"])
    @pytest.mark.parametrize("setting", PEERS)
    def test_every_kind_learns_a_small_task_and_can_be_repeated(self, setting, kind):
        task = river_swim(3, 6, per_visit=2.0, bar=3.0)
        runs = [run_peer(setting, kind, task, 600, seed) for seed in range(5)]
        assert all(run.regret.shape == (600,) and run.checkpoints[-1] == 600 for run in runs)
        # Single seeds may lock in on a poor policy; a third of the way to the best, on average, is
        # far more than a policy that learned nothing reaches.
        reached = np.mean([run.values[-1] for run in runs])
        assert reached > task.uniform() + (task.optimum() - task.uniform()) / 3
        assert (run_peer(setting, kind, task, 600, seed=0).regret == runs[0].regret).all()
        assert (runs[1].regret != runs[0].regret).any()

    def test_optimistic_q_learning_solves_riverswim(self):
        runs = [
            run_peer("tuned", "q-optimistic/state", load_task("riverswim-6"), 300, s)
            for s in range(5)
        ]
        assert all(run.episodes_to_90 is not None for run in runs)

    @pytest.mark.slow
    def test_regret_of_random_play(self):
        # Before the first good label a greedy tie is uniform play: its regret per episode is
        # optimum - uniform on average.
        task = load_task("grid")
        first = [
            run_peer("tuned", "q-greedy/state", task, 1, seed).regret[0] for seed in range(2000)
        ]
        # Bernoulli of mean 1/120: outside +-0.012 with probability below 1e-6 in 2000 draws.
        assert np.mean(first) == pytest.approx(task.optimum() - task.uniform(), abs=0.012)

    def test_unknown_kind(self):
        with pytest.raises(InvalidValue, match="q-greedy/state"):
            run_peer("tuned", "sarsa", load_task("grid"), 10, 0)

    def test_unknown_setting(self):
        with pytest.raises(InvalidValue, match="textbook, tuned"):
            run_peer("lucky", "q-greedy/state", load_task("grid"), 10, 0)


class TestEpisodesTo90:
    def test_first_time_or_never(self):
        points = np.array([1, 2, 4])
        run = PeerRun("x", np.zeros(4), points, np.array([0.1, 0.73, 0.3]), optimum=0.8)
        assert run.episodes_to_90 == 2
        assert PeerRun("x", np.zeros(4), points, np.zeros(3), 0.8).episodes_to_90 is None

    def test_checkpoints(self):
        points = np.array(spread(3000))
        assert points[:39].tolist() == list(range(1, 40))
        assert points[-1] == 3000
        assert (np.diff(points) <= np.maximum(1, points[:-1] / 20)).all()
        assert len(points) < 150
