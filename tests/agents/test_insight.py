"""What every kind's insight must keep, run over the registry: pages and views depend on it."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from app.agents import AGENT_KINDS, make_agent, restore_agent
from app.agents.base import MODEL_TOLERANCE
from app.agents.insight import unpack_insight
from app.agents.kinds import agent_class
from tests.agents.test_contract import ACTIONS, STATES, episode_of, learn, spec_of

WITHOUT = [kind for kind in sorted(AGENT_KINDS) if not hasattr(agent_class(kind), "insight_type")]


@pytest.fixture(scope="module", params=sorted(set(AGENT_KINDS) - set(WITHOUT)))
def agent(request):
    """An agent of each kind that has an insight, with labels of both sorts."""
    agent = make_agent(spec_of(request.param))
    learn(agent, range(30))
    assert 0 < agent.experience.positives < 30
    return agent


@pytest.mark.parametrize("kind", WITHOUT)
def test_a_kind_without_an_insight_packs_none(kind):
    agent = make_agent(spec_of(kind))
    learn(agent, range(3))
    assert agent.insight() is agent.packed_insight() is None


def episodes_of(agent):
    return list(agent.experience.episodes.values())


def test_shares_add_up_to_the_prediction(agent):
    insight = agent.insight()
    for episode in episodes_of(agent):
        shares = insight.share(episode)
        assert shares.steps.shape == (len(episode),)
        whole = shares.offset + shares.steps.sum() + shares.end
        assert insight.predict(episode) == pytest.approx(1.0 / (1.0 + np.exp(-whole)))


def test_good_episodes_are_predicted_to_be_better_than_bad_ones(agent):
    insight, labels = agent.insight(), np.array([agent.experience.labels[n, 0] for n in range(30)])
    predicted = np.array([insight.predict(episode) for episode in episodes_of(agent)])
    assert predicted[labels == 1].mean() > predicted[labels == 0].mean()


def test_a_step_is_explained(agent):
    insight, policy = agent.insight(), agent.plan(40, certify=False).policy
    played = episode_of(agent, [0, 1], [1, 1])
    why = insight.explain(policy, played, (0,), np.random.default_rng(0))
    assert why.visits > 0
    assert 0.0 <= why.success_probability <= 1.0
    assert 0.0 <= why.bonus_share <= 1.0
    over = insight.explain(None, played, (), np.random.default_rng(0))
    assert over.success_probability == insight.predict(played)


def test_the_map_has_an_entry_for_each_state_or_cell(agent):
    found = agent.insight().success_map()
    size = int(np.prod([axis.cells for axis in found.axes])) if found.axes else STATES
    for values in (found.success, found.effects, found.visits, found.bonuses, found.best_actions):
        assert values.shape == (size,)
    known = found.visits > 0
    assert known.any()
    assert np.isnan(found.success[~known]).all()
    assert ((found.success[known] >= 0.0) & (found.success[known] <= 1.0)).all()
    assert found.best_actions.min() >= -1
    assert found.best_actions.max() < ACTIONS
    assert np.isfinite(found.effects).all()


def test_the_document_is_json(agent):
    insight = agent.insight()
    model = insight.document()
    assert (
        json.loads(json.dumps(asdict(model), default=np.ndarray.tolist))["features"]
        == insight.description
    )
    assert np.isfinite(model.weights).all()


def test_what_is_optional_is_consistent(agent):
    insight = agent.insight()
    for pair in insight.least_known(3):
        assert insight.tried(pair.state, pair.action) == pair.visits
        chances = [one.probability for one in insight.followers(pair.state, pair.action, 99)]
        assert not chances or sum(chances) == pytest.approx(1.0)
    success = insight.uniform_success(np.random.default_rng(0))
    assert success is None or 0.0 < success < 1.0


def test_it_comes_back_as_it_was_packed(agent):
    insight, again = agent.insight(), unpack_insight(agent.packed_insight())
    assert type(again) is type(insight) is agent.insight_type
    for episode in episodes_of(agent):
        assert again.predict(episode) == insight.predict(episode)
    before, after = insight.success_map(), again.success_map()
    np.testing.assert_array_equal(after.visits, before.visits)
    np.testing.assert_array_equal(after.effects, before.effects)


def test_an_agent_that_was_told_nothing_predicts_even_odds_or_nothing(agent):
    fresh = make_agent(agent.spec).insight()
    episode = episodes_of(agent)[0]
    assert fresh is None or fresh.predict(episode) == pytest.approx(0.5)


def by_many_fits(agent, episodes):
    """Every label at its time, a wrong one in between, a restart in the middle."""
    for number, (episode, label) in enumerate(episodes):
        agent.finish(number, episode)
        agent.label(number, 1 - label if number % 5 == 0 else label)
        agent.refit()
        if number == len(episodes) // 2:
            agent = restore_agent(agent.spec, agent.snapshot())
    for number, (_, label) in enumerate(episodes):
        agent.label(number, label)
    return agent


def by_one_fit(agent, episodes):
    """All labels at once, the last first."""
    for number, (episode, _) in enumerate(episodes):
        agent.finish(number, episode)
    for number in reversed(range(len(episodes))):
        agent.label(number, episodes[number][1])
    return agent


def test_models_of_the_same_log_agree_to_the_tolerance(agent):
    labels = [agent.experience.labels[number, 0] for number in range(30)]
    log = list(zip(episodes_of(agent), labels, strict=True))
    first, second = (
        learned(make_agent(agent.spec), log).insight() for learned in (by_many_fits, by_one_fit)
    )
    one, other = np.array(first.document().weights), np.array(second.document().weights)
    assert np.abs(one - other).max() <= MODEL_TOLERANCE * (1.0 + np.abs(one).max())
    for episode, _ in log:
        assert first.predict(episode) == pytest.approx(second.predict(episode), abs=MODEL_TOLERANCE)
