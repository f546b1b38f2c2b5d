"""Posterior sampling: what is drawn anew for each episode, and what is not."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from app.agents import AgentSpec, make_agent, thompson
from app.agents.spec import parse
from app.learning.competition import checkpoint
from app.learning.planning.exact import plan_exact
from app.learning.trajectory import UNREPORTED, Trajectory

S, A, H = 3, 2, 4
FULL = {"kind": "one_hot", "over": ["step", "state", "action"]}
STATES = {"kind": "one_hot", "over": ["state"]}


def history(seed=2, count=20):
    """Episodes that end early now and then; good if they were often in state 2."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        ended = rng.random() < 0.3
        length = int(rng.integers(1, H)) if ended else H
        states, actions = rng.integers(S, size=length), rng.integers(A, size=length)
        final = int(rng.integers(S)) if ended else UNREPORTED
        good = np.count_nonzero(states == 2) >= 2 or rng.random() < 0.15
        yield number, Trajectory(states, actions, final, bool(ended)), int(good)


def agent_of(features=FULL, count=20, seed=5, spec=None, **options):
    data = {
        "states": S,
        "actions": A,
        "horizon": H,
        "features": features,
        "algorithm": {"kind": "thompson"} | options,
        "seed": seed,
    }
    agent = make_agent(parse(AgentSpec, data | (spec or {})))
    for number, trajectory, label in history(count=count):
        agent.finish(number, trajectory)
        agent.label(number, label)
    return agent


def same(first, second):
    """Whether two plans are one: the policy to the last bit, and the bounds."""
    ours, theirs = first.policy.arrays(), second.policy.arrays()
    equal = all(np.array_equal(array, theirs[key]) for key, array in ours.items())
    return equal and (first.upper, first.lower) == (second.upper, second.lower)


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
        for step in range(agent.spec.spaces.horizon):
            action, memory = policy.act(step, 0, memory, 0.5)
            taken.append(action)
        return taken

    def test_before_the_first_success_a_plan_tries_one_thing_after_another(self):
        """Two actions that take turns by luck: a right plan sticks to one with chance 2e-6."""
        agent = self.walled_in(0)
        assert all({2, 3} <= set(self.actions(agent, number)) for number in range(1, 6))

    def test_after_it_a_plan_has_no_reason_to(self):
        assert len(set(self.actions(self.walled_in(1), 1))) == 1

    def test_what_was_tried_is_worth_what_it_was(self):
        """Against an action tried before, whose bonus three visits halve, a fresh one wins when
        its exponential draw is above a half: with chance exp(-1/2); binomial, at 1e-6."""
        agent = agent_of(
            STATES, count=0, spec={"states": 1, "horizon": 1}, spread=0.0, draws=1, visit_bonus=1.0
        )
        for number in range(3):
            agent.finish(number, Trajectory(np.array([0]), np.array([1])))
            agent.label(number, 0)
        fresh = sum(self.actions(agent, number) == [0] for number in range(3, 603))
        assert stats.binomtest(fresh, 600, np.exp(-0.5)).pvalue > 1e-6

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
        withdrawn.withdraw(1)
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


class TestVisitBonus:
    """Small where pairs were seen often, and every feature of the coarse maps labelled often."""

    def told(self, features, **options):
        """Episodes of which one in three has no label; an abandoned one; what was labelled."""
        agent, labelled = agent_of(features, count=0, **options), []
        for number, trajectory, label in history(count=14):
            agent.finish(number, trajectory)
            if number % 3:
                agent.label(number, label)
                labelled.append(trajectory)
        agent.abandon(Trajectory(np.array([2, 2, 2, 2]), np.array([0, 0, 0, 1])))
        return agent, labelled

    def staying(self, trajectory):
        """The states of all H steps that are known; an episode stays where it ended."""
        states = trajectory.states.tolist()
        if trajectory.ended and trajectory.final >= 0:
            states += [trajectory.final] * (H - len(states))
        return states

    def pairs(self):
        played = [trajectory for _, trajectory, _ in history(count=14)]
        taken = [p for one in played for p in zip(one.states, one.actions, strict=True)]
        taken += [(2, 0), (2, 0), (2, 0), (2, 1)]
        return np.array([[taken.count((s, a)) for a in range(A)] for s in range(S)])

    def test_a_map_of_single_steps_leaves_it_to_the_pairs(self):
        agent, _ = self.told(FULL)
        expected = np.broadcast_to(0.3 / np.sqrt(1 + self.pairs()), (H, S, A))
        np.testing.assert_allclose(agent.visit_bonus(0.3, 20, []), expected)

    def test_a_feature_that_was_seldom_labelled_holds_visits_down(self):
        agent, labelled = self.told({"kind": "one_hot", "over": ["state"], "steps": "last"})
        last = [one[-1] for one in map(self.staying, labelled) if len(one) == H]
        held = np.minimum(self.pairs(), [[last.count(s)] * A for s in range(S)])
        assert (held < self.pairs()).any()
        bonus = agent.visit_bonus(0.3, 20, [])
        for h in range(H - 1):
            np.testing.assert_allclose(bonus[h], 0.3 / np.sqrt(1 + self.pairs()))
        np.testing.assert_allclose(bonus[H - 1], 0.3 / np.sqrt(1 + held))

    def test_of_competing_maps_all_coarse_ones_count(self):
        """Whichever is drawn: states, pairs, and the last state at the last step."""
        agent, labelled = self.told({"kind": "auto"})
        stayed = [self.staying(one) for one in labelled]
        states = [s for one in stayed for s in one]
        taken = [p for one in labelled for p in zip(one.states, one.actions, strict=True)]
        last = [one[-1] for one in stayed if len(one) == H]
        visits = np.array(np.broadcast_to(self.pairs(), (H, S, A)))
        for s in range(S):
            for a in range(A):
                visits[:, s, a] = min(visits[0, s, a], states.count(s), taken.count((s, a)))
            visits[H - 1, s] = np.minimum(visits[H - 1, s], last.count(s))
        assert (visits[0] < self.pairs()).any()
        assert (visits[H - 1] < visits[0]).any()
        np.testing.assert_allclose(agent.visit_bonus(0.3, 20, []), 0.3 / np.sqrt(1 + visits))

    def test_pending_visits_are_added_to_what_was_held_down(self):
        class Still:
            def act(self, step, state, memory, uniform):
                return 0, memory

        agent = agent_of(STATES, count=0)
        stay = Trajectory(np.zeros(H, dtype=int), np.zeros(H, dtype=int), 0)
        for _ in range(5):
            agent.abandon(stay)
        agent.finish(0, stay)
        agent.label(0, 0)
        # (0, 0) was visited 24 times but labelled 4 times; each pending episode makes 4 more.
        bonus = agent.visit_bonus(1.0, 20, [Still()] * 3)
        np.testing.assert_allclose(bonus[:, 0, 0], 1 / np.sqrt(1 + 4 + 12))
        np.testing.assert_allclose(bonus[:, 0, 1], 1.0)
        np.testing.assert_allclose(bonus[:, 1:], 1.0)


class TestPending:
    """Episodes that run side by side count as visits where they will probably go."""

    def bonus(self, agent, pending):
        return agent.visit_bonus(0.1, 20, pending)

    def test_they_count_as_the_visits_that_they_will_make(self):
        """In a world where action 1 moves on to the next state, and 0 stays."""

        class Script:
            def act(self, step, state, memory, uniform):
                return (1, 0, 1, 0)[step], memory

            def arrays(self):
                return {}

        alone, beside, later = (agent_of(count=0) for _ in range(3))
        for agent in (alone, beside, later):
            agent.abandon(Trajectory(np.zeros(H, dtype=int), np.zeros(H, dtype=int), 0))
            agent.abandon(Trajectory(np.array([0, 1, 2, 0]), np.ones(H, dtype=int), 1))
            agent.abandon(Trajectory(np.array([0, 1, 1, 2]), np.array([1, 0, 1, 0]), 2))
        # From 0: (0, 1), then (1, 0), (1, 1) and (2, 0), once for each episode.
        visits = later.experience.transitions.visits.reshape(S, A)
        for pair in ((0, 1), (1, 0), (1, 1), (2, 0)):
            visits[pair] += 2
        with_two = self.bonus(beside, [Script()] * 2)
        np.testing.assert_allclose(with_two, self.bonus(later, []))
        np.testing.assert_allclose(with_two, np.broadcast_to(0.1 / np.sqrt(1 + visits), (H, S, A)))
        assert (with_two < self.bonus(alone, [])).sum() == 4 * H

    @pytest.mark.parametrize("features", [FULL, STATES])
    def test_more_of_them_lower_it_more(self, features):
        """Also where the feature of a place is less known than the place."""
        agent = agent_of(features)
        policy = agent.plan(20, certify=False).policy
        sums = [self.bonus(agent, [policy] * count).sum() for count in (0, 1, 4, 16)]
        assert sums[0] > sums[1] > sums[2] > sums[3]

    def test_a_plan_takes_them_into_account(self):
        """So that a fleet does not go to one place all at once."""
        agent = agent_of(visit_bonus=10.0, spread=0.0)
        first = agent.plan(20, certify=False)
        later = agent.plan(20, pending=[first.policy] * 20, certify=False)
        assert later.upper < first.upper
        assert not np.array_equal(later.policy.actions, first.policy.actions)

    def test_they_are_not_learned_from(self):
        agent = agent_of()
        policy = agent.plan(20, certify=False).policy
        before = agent.snapshot()
        agent.plan(20, pending=[policy] * 3, certify=False)
        assert agent.snapshot() == before


class TestShares:
    """How probable each of the competing maps is."""

    PRIOR = np.exp([0.0, -0.5, -1.0, -1.5, -0.5, -0.5, -1.5, -3.0])

    def test_a_given_map_is_read_in_two_ways(self):
        agent = agent_of(STATES, count=0)
        np.testing.assert_allclose(agent.shares(), [1 / (1 + np.exp(-3)), 1 / (1 + np.exp(3))])
        assert agent.beliefs[0].features is agent.beliefs[1].features

    def test_a_map_that_tells_steps_apart_is_read_in_a_third(self):
        agent = agent_of(count=0)
        prior = np.exp([0.0, -3.0, 0.0])
        np.testing.assert_allclose(agent.shares(), prior / prior.sum())

    def test_they_are_the_prior_before_there_are_labels_of_both_kinds(self):
        agent = agent_of({"kind": "auto"}, count=0)
        np.testing.assert_allclose(agent.shares(), self.PRIOR / self.PRIOR.sum())
        for number, trajectory, _ in history(count=3):
            agent.finish(number, trajectory)
            agent.label(number, 1)
        np.testing.assert_allclose(agent.shares(), self.PRIOR / self.PRIOR.sum())

    def test_they_sum_to_one(self):
        for count in (2, 5, 20):
            shares = agent_of({"kind": "auto"}, count=count).shares()
            assert shares.shape == (8,)
            assert (shares >= 0.0).all()
            assert shares.sum() == pytest.approx(1.0)

    def test_they_change_at_checkpoints_only(self):
        agent = agent_of({"kind": "auto"}, count=0)
        seen = []
        for number, trajectory, label in history(count=25):
            agent.finish(number, trajectory)
            agent.label(number, label)
            seen.append(agent.shares().tolist())
        for labels in range(2, 25):
            moved = checkpoint(labels + 1) != checkpoint(labels)
            assert moved or seen[labels] == seen[labels - 1]
        assert len({tuple(shares) for shares in seen}) >= 6

    def test_two_voices_weigh_as_the_same_episode_twice(self):
        voices, twice = (agent_of({"kind": "auto"}, count=0) for _ in range(2))
        for number, trajectory, label in history():
            voices.finish(number, trajectory)
            for voice, one in enumerate(sorted((label, number % 3 // 2))):
                voices.label(number, one, voice)
                twice.finish(2 * number + voice, trajectory)
                twice.label(2 * number + voice, one)
        assert checkpoint(40) % 2 == 0  # no episode is cut in two
        np.testing.assert_allclose(voices.shares(), twice.shares(), rtol=1e-9)
        assert not np.allclose(voices.shares(), agent_of({"kind": "auto"}).shares(), atol=0.01)

    def test_a_label_replaced_behind_the_checkpoint_counts_at_once(self):
        agent = agent_of({"kind": "auto"})
        before = agent.shares()
        agent.label(0, 1 - agent.experience.labels[0, 0])
        assert not np.array_equal(agent.shares(), before)
        agent.label(0, 1 - agent.experience.labels[0, 0])
        np.testing.assert_array_equal(agent.shares(), before)

    def test_maps_are_drawn_by_their_shares(self):
        # Chi-square over the maps expected at least 5 times: wrong once in a million.
        agent = agent_of({"kind": "auto"}, count=4, draws=1, epsilon=0.9)
        taken = np.zeros(8)

        def noted(index, follow):
            def followed(experience):
                taken[index] += 1
                return follow(experience)

            return followed

        for i, belief in enumerate(agent.beliefs):
            belief.follow = noted(i, belief.follow)
        n = 300
        for number in range(20, 20 + n):
            agent.plan(number, certify=False)
        assert taken.sum() == n
        expected = n * agent.shares()
        likely = expected >= 5
        assert likely.sum() >= 4
        grouped = (
            [*taken[likely], taken[~likely].sum()],
            [*expected[likely], expected[~likely].sum()],
        )
        statistic = sum((o - e) ** 2 / max(e, 1.0) for o, e in zip(*grouped, strict=True))
        assert statistic < stats.chi2.isf(1e-6, df=likely.sum())

    def test_the_most_probable_is_exploited(self):
        """Labels that only the last state decides."""
        agent = agent_of({"kind": "auto"}, count=0)
        for number, trajectory, _ in history(count=40):
            agent.finish(number, trajectory)
            last = trajectory.final if trajectory.ended else trajectory.states[-1]
            agent.label(number, int(last == 1))
        best = int(np.argmax(agent.shares()))
        assert best > 0  # not the first of them
        learned = agent.beliefs[best].follow(agent.experience)
        table = learned.belief.features.spread(learned.fit.weights)
        np.testing.assert_array_equal(agent.plan(20, "exploit").policy.weights, table)


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
