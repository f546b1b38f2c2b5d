"""What a visit is worth: by visits so far, by touches of features, by episodes under way."""

import numpy as np
import pytest

from app.learning.trajectory import Trajectory
from tests.agents.kinds.thompson.small_thompson import FULL, STATES, A, H, S, agent_of, history


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
