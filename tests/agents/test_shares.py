"""How probable each reading or map is to an agent, and what it does with that."""

import numpy as np
import pytest
from scipy import stats

from app.agents.base import MODEL_TOLERANCE
from app.learning.selection.competition import checkpoint
from tests.agents.kinds.thompson.small_thompson import STATES, agent_of, history


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
        labels, seen = [], []
        for number, trajectory, label in history(count=25):
            agent.finish(number, trajectory)
            agent.label(number, label)
            labels.append(label)
            seen.append(agent.shares().tolist())
        points = [checkpoint(np.array(labels[: count + 1])) for count in range(25)]
        stayed = [count for count in range(1, 25) if points[count] == points[count - 1]]
        assert len(stayed) > 3
        assert all(seen[count] == seen[count - 1] for count in stayed)
        assert len({tuple(shares) for shares in seen}) >= 6

    def test_two_voices_weigh_as_the_same_episode_twice(self):
        slots, twice = (agent_of({"kind": "auto"}, count=0) for _ in range(2))
        for number, trajectory, label in history():
            slots.finish(number, trajectory)
            for slot, one in enumerate(sorted((label, number % 3 // 2))):
                slots.label(number, one, slot)
                twice.finish(2 * number + slot, trajectory)
                twice.label(2 * number + slot, one)
        labels = np.array([label for _, label in twice.experience.sorted_labels()])
        assert checkpoint(labels) % 2 == 0  # no episode is cut in two
        np.testing.assert_allclose(slots.shares(), twice.shares(), rtol=MODEL_TOLERANCE)
        assert not np.allclose(slots.shares(), agent_of({"kind": "auto"}).shares(), atol=0.01)

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
