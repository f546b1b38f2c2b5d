"""How much success there is still to gain, and what it scales."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

from app.agents.kinds.thompson import agent as thompson
from app.learning.trajectory import Trajectory
from benchmarks.exact import plan_exact
from tests.agents.kinds.thompson.small_thompson import FULL, STATES, A, agent_of, history, same


class TestRoom:
    """How much success there is still to gain: what spread and bonus are scaled by."""

    def room(self, agent):
        return agent.room(agent.beliefs[0].follow(agent.experience))

    def of_one_step(self, labels, **options):
        """Two states, of which 1 comes first in three of four episodes; pairs in turn."""
        spec = {"states": 2, "horizon": 1, "initial_states": [0.25, 0.75]}
        features = {"kind": "one_hot", "over": ["state", "action"]}
        agent = agent_of(features, count=0, spec=spec, **options)
        for number, label in enumerate(labels):
            pair = np.array([number % 2]), np.array([number // 2 % 2])
            agent.finish(number, Trajectory(*pair))
            agent.label(number, label)
        return agent

    def assert_near(self, agent, value, good):
        """The plan that it looks at is rough, and up to 0.05 too good rather than too bad."""
        trust = good / (good + 5)
        assert 1.0 - (value + 0.05) * trust <= self.room(agent) <= 1.0 - value * trust

    @pytest.mark.parametrize(("value", "trusted"), [(0.0, 0.0), (0.6, 0.6), (1.0, 1.0), (1.1, 1.0)])
    def test_a_value_counts_by_good_labels_against_five(self, monkeypatch, value, trusted):
        for good, share in ((0, 0.0), (1, 1 / 6), (5, 0.5), (15, 0.75)):
            agent = self.of_one_step([1] * good + [0] * 7)
            asked = SimpleNamespace(value=value)
            monkeypatch.setattr(agent, "exploit", lambda *_, plan=asked, **__: plan)
            assert self.room(agent) == pytest.approx(1.0 - trusted * share, rel=1e-12)

    @pytest.mark.parametrize("good", [1, 4, 9])
    def test_of_one_step_the_value_is_that_of_the_best_actions(self, good):
        rng = np.random.default_rng(good)
        labels = rng.permutation([1] * good + [0] * (12 - good))
        agent = self.of_one_step(labels.tolist())
        fit = agent.beliefs[0].follow(agent.experience).fit
        chances = expit(fit.weights.reshape(2, A) + fit.intercept).max(axis=1)
        value = 0.25 * chances[0] + 0.75 * chances[1]
        self.assert_near(agent, value, good)

    @pytest.mark.parametrize("features", [FULL, STATES])
    @pytest.mark.parametrize("count", [5, 20, 40])
    def test_of_more_steps_it_is_what_enumeration_gives(self, features, count):
        agent = agent_of(features, count)
        learned = agent.beliefs[0].follow(agent.experience)
        best = plan_exact(agent.problem(learned, learned.fit.weights, learned.fit.intercept)).value
        good = sum(label for _, _, label in history(count=count))
        assert 0 < good < count
        self.assert_near(agent, best, good)

    def test_without_a_good_label_it_is_one(self):
        assert self.room(agent_of(count=0)) == 1.0
        assert self.room(self.of_one_step([0] * 9)) == 1.0
        withdrawn = self.of_one_step([0, 1, 0])
        assert self.room(withdrawn) < 1.0
        withdrawn.remove_label(1)
        assert self.room(withdrawn) == 1.0

    def test_some_is_left_however_sure_the_model_is(self):
        """With a prior this wide, forty good labels leave no doubt of success."""
        agent = self.of_one_step([1] * 40, prior_deviation=100.0)
        assert self.room(agent) == pytest.approx(5 / 45, abs=1e-3)
        assert self.room(agent) >= 5 / 45

    def planned(self, monkeypatch, room):
        """The weights and the bonuses that are planned for where there is this much room."""
        agent = agent_of(spread=0.5, visit_bonus=0.4, draws=3)
        monkeypatch.setattr(agent, "room", lambda _: room)
        monkeypatch.setattr(agent, "shares", lambda: np.eye(3)[0])
        asked = []

        def noted(problem, *rest, **options):
            asked.append(problem)
            return plan_fast(problem, *rest, **options)

        plan_fast = thompson.plan_fast
        with monkeypatch.context() as patched:
            patched.setattr(thompson, "plan_fast", noted)
            agent.plan(20, certify=False)
        fit = agent.beliefs[0].follow(agent.experience).fit
        mean = agent.beliefs[0].features.spread(fit.weights)
        return [(one.weights - mean, one.offset - fit.intercept, one.bonuses) for one in asked]

    def test_variances_and_the_bonus_are_in_proportion_to_it(self, monkeypatch):
        full, quarter = (self.planned(monkeypatch, room) for room in (0.8, 0.2))
        assert len(full) == len(quarter) == 3
        for (weights, offset, bonus), small in zip(full, quarter, strict=True):
            assert np.abs(weights).max() > 0.1
            np.testing.assert_allclose(small[0], 0.5 * weights, atol=1e-12)
            assert small[1] == pytest.approx(0.5 * offset)
            assert bonus.max() > 0.05
            np.testing.assert_allclose(small[2], 0.25 * bonus)

    def test_where_nothing_is_left_to_gain_plans_exploit(self, monkeypatch):
        agent = agent_of(spread=3.0, visit_bonus=3.0)
        before, exploiting = agent.plan(20), agent.plan(20, "exploit")
        assert not same(before, exploiting)
        monkeypatch.setattr(agent, "room", lambda _: 0.0)
        after = agent.plan(20)
        np.testing.assert_allclose(after.policy.weights, exploiting.policy.weights, rtol=1e-12)
        assert after.upper == pytest.approx(exploiting.upper, abs=1e-9)
