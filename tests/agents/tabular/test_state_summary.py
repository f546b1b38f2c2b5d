"""What a tabular model says of each state, and of random actions: against enumeration."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import expit

from app.agents.tabular import baseline, state_summary
from app.agents.tabular.baseline import PLAYED, uniform_success
from tests.agents.tabular.test_insight import FEATURES, A, H, S, taught


def everything_that_may_happen(insight):
    """(probability, logit) of every episode of random play, one step after the other."""
    starts = insight.start / insight.start.sum()
    open_ = [(float(starts[s]), s, 0, insight.offset) for s in range(S)]
    for step in range(H):
        following = []
        for (chance, state, memory, logit), action in product(open_, range(A)):
            known = int(insight.update[memory, state, action])
            own = logit + insight.weights[step, state, action]
            each = insight.followers(state, action, 99)
            if step + 1 == H:
                yield chance / A, own + insight.remembered[known]
            elif not each:
                following += [(chance / A / S, s, known, own) for s in range(S)]
            for one in each if step + 1 < H else ():
                share = chance / A * one.probability
                if one.ended:
                    end = S if one.state is None else one.state
                    last = known if one.state is None else int(insight.ends[known, end])
                    worth = insight.ended_weights[step + 1, end] + insight.remembered[last]
                    yield share, own + worth
                else:
                    following.append((share, one.state, known, own))
        open_ = following


@pytest.mark.parametrize("features", FEATURES, ids=str)
def test_random_play_is_worth_what_enumeration_says(features):
    insight = taught(features).insight()
    chances, logits = np.array(list(everything_that_may_happen(insight))).T
    assert chances.sum() == pytest.approx(1)
    found = uniform_success(insight, np.random.default_rng(1), 20 * PLAYED)
    assert found == pytest.approx(
        float(chances @ expit(logits)), abs=4 * 0.5 / (20 * PLAYED) ** 0.5
    )


def test_a_model_without_transitions_can_be_played_too():
    insight = taught(FEATURES[0]).insight()
    empty = replace(
        insight,
        indptr=np.zeros(S * A + 1, dtype=np.int64),
        columns=np.zeros(0, dtype=np.int64),
        probabilities=np.zeros(0),
    )
    assert 0 < uniform_success(empty, np.random.default_rng(0)) < 1
    assert empty.followers(0, 0, 5) == []


def test_places_have_the_largest_weight_whatever_its_sign():
    insight = taught(FEATURES[2]).insight()
    places = insight.success_map()
    for state in range(S):
        each = insight.weights[:, state, :].ravel()
        assert places.effects[state] == each[np.abs(each).argmax()]
    assert places.visits.sum() == insight.visits.sum()
    assert places.bonuses == pytest.approx(insight.bonuses.max(axis=(0, 2)))


def test_the_least_known_are_the_least_tried_where_it_has_been():
    insight = taught(FEATURES[0]).insight()
    visits = np.array([[5, 0], [0, 0], [2, 9]])
    found = replace(insight, visits=visits).least_known(3)
    assert [(one.state, one.action, one.visits) for one in found] == [
        (0, 1, 0),
        (2, 0, 2),
        (0, 0, 5),
    ]


def test_what_follows_is_the_likeliest_first_and_adds_up():
    insight = taught(FEATURES[0]).insight()
    for state, action in product(range(S), range(A)):
        found = insight.followers(state, action, 99)
        chances = [one.probability for one in found]
        assert sum(chances) == pytest.approx(1)
        assert chances == sorted(chances, reverse=True)
        assert insight.followers(state, action, 1) == found[:1]


def outlook(insight, step, memory, state):
    """The largest expected log-odds from a state on, and the action that has it, by recursion."""
    choices = []
    for action in range(A):
        known = int(insight.update[memory, state, action])
        value = insight.weights[step, state, action]
        if step + 1 == H:
            choices.append(value + insight.remembered[known])
            continue
        following = insight.followers(state, action, 99)
        for one in following:
            if not one.ended:
                value += one.probability * outlook(insight, step + 1, known, one.state)[0]
                continue
            end = S if one.state is None else one.state
            last = known if one.state is None else int(insight.ends[known, end])
            worth = insight.ended_weights[step + 1, end] + insight.remembered[last]
            value += one.probability * worth
        if not following:
            value += np.mean([outlook(insight, step + 1, known, s)[0] for s in range(S)])
        choices.append(value)
    return max(choices), int(np.argmax(choices))


EVENTS = {"kind": "events", "events": [{"then": [0, 1]}, {"visited": 2}]}


@pytest.mark.parametrize("features", [*FEATURES, EVENTS], ids=str)
def test_success_is_that_of_the_largest_expected_log_odds(features):
    insight = taught(features).insight()
    found = insight.success_map()
    for state in range(S):
        logit, action = outlook(insight, 0, 0, state)
        assert found.success[state] == pytest.approx(float(expit(insight.offset + logit)))
        assert found.best_actions[state] == action


def test_states_that_were_never_visited_are_unknown():
    insight = taught(FEATURES[0]).insight()
    found = replace(insight, visits=insight.visits * [[1], [0], [1]]).success_map()
    assert np.isnan(found.success).tolist() == [False, True, False]
    assert (found.best_actions == -1).tolist() == [False, True, False]


def test_a_model_too_large_to_sweep_has_no_success_to_show(monkeypatch):
    monkeypatch.setattr(state_summary, "MOST_WORK", 10)
    found = taught(FEATURES[0]).insight().success_map()
    assert np.isnan(found.success).all()
    assert found.effects.any()


def test_too_long_a_horizon_is_not_simulated(monkeypatch):
    monkeypatch.setattr(baseline, "LONGEST", H - 1)
    assert taught(FEATURES[0]).insight().uniform_success(np.random.default_rng(0)) is None
