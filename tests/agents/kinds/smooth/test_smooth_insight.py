"""What `smooth` says about its episodes and its model."""

import numpy as np
import pytest

from app.agents.insight import pack_insight, unpack_insight
from app.learning.trajectory import Trajectory
from app.planning.policies.uniform import UniformPolicy
from tests.agents.kinds.smooth.test_smooth import HORIZON, trained, walk


@pytest.fixture(scope="module")
def agent():
    return trained(30)


@pytest.fixture(scope="module")
def insight(agent):
    return agent.insight()


def test_it_tells_good_episodes_from_bad_ones(agent, insight):
    told = {True: [], False: []}
    for number, played in agent.experience.episodes.items():
        told[agent.experience.labels[number, 0] == 1].append(insight.predict(played))
    assert np.mean(told[True]) > np.mean(told[False]) + 0.3


def test_the_shares_of_steps_add_up_to_the_agents_own_prediction(agent, insight):
    """Against the posterior of the labelled episodes, which is exact."""
    belief = agent._current().belief
    for number in range(0, 30, 7):
        played = agent.experience.episodes[number]
        mean, _ = belief.predict({number: agent._path(number)})
        shares = insight.share(played)
        total = shares.offset + shares.steps.sum() + shares.end
        assert total == pytest.approx(mean[0], abs=1.0)
        assert np.sign(total) == np.sign(mean[0]) or abs(mean[0]) < 1.0


def test_an_early_end_counts_for_the_steps_left(insight):
    played, _ = walk(UniformPolicy(3), 0, length=4)
    ended = Trajectory.observed(played.observations, played.actions, True, played.final_observation)
    assert insight.share(played).end == 0.0
    assert insight.share(ended).end != 0.0
    assert len(insight.share(ended).steps) == 4


def test_the_map_has_more_success_on_the_right(insight):
    drawn = insight.success_map((0, 1))
    success = drawn.success.reshape(12, 12)
    assert [axis.dimension for axis in drawn.axes] == [0, 1]
    assert np.nanmean(success[8:]) > np.nanmean(success[:5])
    known = ~np.isnan(drawn.success)
    assert (drawn.best_actions[known] >= 0).all()
    assert (drawn.best_actions[~known] == -1).all()


def test_a_step_is_explained(agent, insight):
    policy = agent.plan(99, "exploit").policy
    played, _ = walk(policy, 3)
    why = insight.explain(policy, played, (), np.random.default_rng(0))
    assert why.success_probability > 0.5
    assert why.bonus_share == 0.0
    assert why.visits > 0
    over = insight.explain(None, played, (), np.random.default_rng(0))
    assert over.success_probability == pytest.approx(insight.predict(played))
    learning = agent.plan(100).policy
    why = insight.explain(learning, walk(learning, 4)[0], (), np.random.default_rng(0))
    assert 0.0 <= why.bonus_share <= 1.0


def test_nothing_is_said_of_an_empty_episode(insight):
    empty = Trajectory.observed(np.empty((0, 2)), np.empty(0, dtype=np.int64))
    assert insight.predict(empty) is None
    assert insight.explain(None, empty, (), np.random.default_rng(0)) is None


def test_it_survives_being_packed(agent, insight):
    again = unpack_insight(pack_insight("smooth", insight))
    played = agent.experience.episodes[0]
    assert again.predict(played) == insight.predict(played)
    model, same = vars(insight.document()), vars(again.document())
    assert np.array_equal(model.pop("weights"), same.pop("weights"))
    assert model == same
    assert len(insight.document().weights) == len(insight.centres)
    assert insight.span[1] == HORIZON
