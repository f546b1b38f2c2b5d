"""Posterior sampling: what is drawn anew for each episode, and what is not."""

import numpy as np
import pytest
from scipy import stats

from app.learning.trajectory import Trajectory
from tests.agents.kinds.thompson.small_thompson import STATES, A, H, S, agent_of, same


class TestDraws:
    def test_every_episode_has_its_own(self):
        agent = agent_of()
        weights = [agent.plan(n, certify=False).policy.weights for n in range(20, 30)]
        assert len({table.tobytes() for table in weights}) == 10

    def test_an_episode_has_only_one(self):
        """Asked for again, also in between others or by another agent, it is the same."""
        agent = agent_of()
        first = agent.plan(20, certify=False)
        agent.plan(21, certify=False)
        agent.plan(20, "exploit", certify=False)
        assert same(agent.plan(20, certify=False), first)
        assert same(agent_of().plan(20, certify=False), first)

    def test_another_seed_has_others(self):
        first, second = (agent_of(seed=seed).plan(20, certify=False) for seed in (5, 6))
        assert not np.array_equal(first.policy.weights, second.policy.weights)

    def test_a_certificate_is_for_the_same_draw(self):
        agent = agent_of()
        for number in range(20, 25):
            plain, certified = agent.plan(number, certify=False), agent.plan(number)
            np.testing.assert_array_equal(plain.policy.weights, certified.policy.weights)
            assert certified.gap <= agent.options.epsilon
            assert certified.upper <= plain.upper

    def test_the_best_of_more_is_no_worse(self):
        """The first draw of an episode is the same however many there are."""
        agents = [agent_of(draws=draws) for draws in (1, 2, 6)]
        gained = 0
        for number in range(20, 30):
            one, two, six = (agent.plan(number, certify=False).value for agent in agents)
            assert one <= two <= six
            gained += six > one
        assert gained >= 5

    def test_without_spread_the_estimate_itself_is_drawn(self, monkeypatch):
        agent = agent_of(spread=0.0)
        monkeypatch.setattr(agent, "shares", lambda: np.eye(3)[0])
        learned = agent.beliefs[0].follow(agent.experience)
        table = learned.belief.features.spread(learned.fit.weights)
        for number in (20, 21):
            policy = agent.plan(number, certify=False).policy
            np.testing.assert_allclose(policy.weights, table, rtol=1e-12)

    @pytest.mark.parametrize(("reading", "spread"), [(0, 0.5), (1, 1.5)])
    def test_draws_spread_as_the_posterior_does(self, monkeypatch, reading, spread):
        """60 draws of every weight, in posterior deviations: chi-square, two-sided at 1e-6.

        With features of whole (step, state, action) a policy's table is the drawn weights. A
        variance shrinks with the room that there is for success, here about a half. The narrow
        reading is drawn from three times as boldly.
        """
        agent = agent_of(draws=1, spread=0.5, visit_bonus=0.0)
        monkeypatch.setattr(agent, "shares", lambda: np.eye(3)[reading])
        learned = agent.beliefs[reading].follow(agent.experience)
        posterior = learned.posterior
        room = agent.room(learned)
        assert 0.3 < room < 0.7
        covariance = np.array([posterior.solve(unit) for unit in np.eye(posterior.size)])
        mean = learned.fit.weights
        drawn = np.array(
            [agent.plan(n, certify=False).policy.weights.ravel() for n in range(100, 160)]
        )
        root = np.linalg.cholesky(covariance[:-1, :-1])
        whitened = np.linalg.solve(root, (drawn - mean).T) / (spread * np.sqrt(room))
        total = float((whitened**2).sum())
        low, high = stats.chi2.interval(1 - 1e-6, df=whitened.size)
        assert low < total < high

    def test_exploiting_draws_nothing(self):
        agent = agent_of()
        assert same(agent.plan(20, "exploit"), agent.plan(33, "exploit"))
        learned = agent.best().follow(agent.experience)
        table = learned.belief.features.spread(learned.fit.weights)
        np.testing.assert_array_equal(agent.plan(20, "exploit").policy.weights, table)
        assert agent.plan(20, "exploit").upper <= 1.0 + 1e-9


class TestSearch:
    """What was never tried is left to luck until a plan is known to succeed."""

    def promises(self, label):
        """What plans promise that differ in nothing but such luck."""
        agent = agent_of(STATES, count=0, spread=0.0, draws=1, visit_bonus=1.0)
        agent.finish(0, Trajectory(np.array([0, 0, 1, 2]), np.array([0, 1, 0, 1]), 0))
        agent.label(0, label)
        return {agent.plan(number, certify=False).upper for number in range(1, 7)}

    def test_before_the_first_success_plans_differ(self):
        assert len(self.promises(0)) > 1

    def test_after_it_they_do_not(self):
        assert len(self.promises(1)) == 1

    def walled_in(self, label):
        """One state, which every action leads back to, and of which two were never tried."""
        spec = {"states": 1, "actions": 4, "horizon": 20}
        agent = agent_of(STATES, count=0, spec=spec, spread=0.0, draws=1)
        agent.finish(0, Trajectory(np.zeros(20, dtype=np.int64), np.arange(20) % 2, 0))
        agent.label(0, label)
        return agent

    def actions(self, agent, number):
        """What a plan does at each step when it never gets away."""
        policy, memory, taken = agent.plan(number, certify=False).policy, (), []
        for step in range(agent.spaces.horizon):
            action, memory = policy.act(step, 0, memory, 0.5)
            taken.append(action)
        return taken

    def turns(self):
        """How often each of 200 plans takes the one and the other action never tried."""
        agent = self.walled_in(0)
        taken = [self.actions(agent, number) for number in range(1, 201)]
        return np.array([[actions.count(2), actions.count(3)] for actions in taken])

    def test_before_the_first_success_a_plan_tries_one_thing_after_another(self):
        """Two actions that take turns by luck. As some of it holds everywhere, a plan sticks to
        one with a chance below 2 %: 18 of 200 do so less than once in a million."""
        assert (self.turns().min(axis=1) == 0).sum() < 18

    def test_but_it_leans_to_one_of_them(self):
        """Without luck that holds everywhere turns would be binomial; chi-square, at 1e-6."""
        turns = self.turns()
        deviations = (turns[:, 0] - turns[:, 1]) ** 2 / turns.sum(axis=1)
        assert deviations.sum() > stats.chi2.isf(1e-6, df=200)

    def test_after_it_a_plan_has_no_reason_to(self):
        assert len(set(self.actions(self.walled_in(1), 1))) == 1

    def test_what_was_tried_is_worth_what_it_was(self):
        """Against an action tried before, whose bonus three visits halve, a fresh one wins when
        0.7 of an exponential draw and 0.3 of another are above a half; binomial, at 1e-6."""
        agent = agent_of(
            STATES, count=0, spec={"states": 1, "horizon": 1}, spread=0.0, draws=1, visit_bonus=1.0
        )
        for number in range(3):
            agent.finish(number, Trajectory(np.array([0]), np.array([1])))
            agent.label(number, 0)
        fresh = sum(self.actions(agent, number) == [0] for number in range(3, 603))
        chance = (0.7 * np.exp(-0.5 / 0.7) - 0.3 * np.exp(-0.5 / 0.3)) / (0.7 - 0.3)
        assert stats.binomtest(fresh, 600, chance).pvalue > 1e-6

    def test_one_good_label_among_many_bad_ones_may_be_an_accident(self):
        agent = self.walled_in(1)
        assert len(set(self.actions(agent, 50))) == 1
        for number in range(1, 20):
            agent.finish(number, Trajectory(np.zeros(20, dtype=np.int64), np.arange(20) % 2, 0))
            agent.label(number, 0)
        assert {2, 3} <= set(self.actions(agent, 50))

    @pytest.mark.parametrize(("reading", "share"), [(0, 0.1), (1, 0.0)])
    def test_after_it_some_draws_doubt_the_transitions(self, monkeypatch, reading, share):
        """300 plans of two draws each, one draw in ten or none; binomial, two-sided at 1e-6."""
        agent = agent_of(STATES)
        assert agent.room(agent.best().follow(agent.experience)) < 0.9
        monkeypatch.setattr(agent, "shares", lambda: np.eye(2)[reading])
        counts, drawn = agent.experience.transitions, []
        draw = counts.draw
        monkeypatch.setattr(counts, "draw", lambda rng: drawn.append(1) or draw(rng))
        for number in range(20, 320):
            agent.plan(number, certify=False)
        assert stats.binomtest(len(drawn), 600, share).pvalue > 1e-6


def test_the_deviation_of_the_prior_is_an_option():
    """Before any label, a drawn weight is a normal number of that deviation and spread."""
    tables = [
        agent_of(STATES, count=0, prior_deviation=size, draws=1).plan(3, certify=False).policy
        for size in (1.0, 3.0)
    ]
    np.testing.assert_allclose(tables[1].weights, 3.0 * tables[0].weights)
    assert np.abs(tables[0].weights).max() > 0.01


def test_the_simplest_of_competing_maps_doubts_actions_never_taken():
    """A settled policy takes one action per state: the labels cannot tell of the other."""
    agent = agent_of({"kind": "auto"}, count=0)
    for number in range(30):
        states = np.random.default_rng(number).integers(S, size=H)
        agent.finish(number, Trajectory(states, np.zeros(H, dtype=int)))
        agent.label(number, int(np.count_nonzero(states == 2) >= 2))
    learned = agent.beliefs[0].follow(agent.experience)
    rows = np.zeros((2, learned.belief.features.dimension))
    for action in range(A):
        other = Trajectory(np.array([0, 1, 2, 2]), np.full(H, action))
        indices, values = learned.belief.features.row(other)
        rows[action, indices] = values
    taken, untaken = learned.posterior.norms(rows, intercept=1.0)
    assert untaken > 1.3 * taken


def test_it_learns_which_state_is_good():
    """After 60 labels of episodes that are good if they were in state 2 twice."""
    agent = agent_of(STATES, count=60)
    learned = agent.beliefs[0].follow(agent.experience)
    assert learned.fit.weights[2] > max(learned.fit.weights[:2]) + 0.3
