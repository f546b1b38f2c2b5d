"""The insight of `reinforce`: against scikit-learn, and against labels that depend on a place."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from app.agents import AgentSpec, make_agent
from app.agents.insight import unpack_insight
from app.agents.kinds.reinforce import insight as module
from app.agents.kinds.reinforce.insight import FEWEST_LABELS, ObservationInsight
from app.learning.network.input_scaling import InputScaling
from app.learning.trajectory import Trajectory
from app.wire.validation import parse

LOW, HIGH = np.array([-2.0, -2.0]), np.array([2.0, 2.0])
BOUNDS = InputScaling(LOW, HIGH)
STEPS = 20


def walks(count, seed=0):
    """Random walks in the plane."""
    rng = np.random.default_rng(seed)
    return [
        Trajectory.observed(
            rng.normal(0.0, 0.15, (STEPS, 2)).cumsum(axis=0), rng.integers(3, size=STEPS)
        )
        for _ in range(count)
    ]


def ends_near(walk):
    """Good where it ends near (0.3, 0.3): nothing that is linear in the numbers."""
    return int(np.hypot(*(walk.observations[-1] - 0.3)) < 0.5)


def taught(count=100, judge=ends_near):
    return ObservationInsight.of(BOUNDS, [(walk, judge(walk)) for walk in walks(count)])


def log_loss(predicted, labels):
    return -np.mean(np.where(np.array(labels) == 1, np.log(predicted), np.log1p(-predicted)))


def test_it_learns_where_episodes_should_end():
    insight, others = taught(), walks(500, seed=1)
    labels = [ends_near(walk) for walk in others]
    predicted = np.array([insight.predict(walk) for walk in others])
    usual = np.full(500, np.mean([ends_near(walk) for walk in walks(100)]))
    assert log_loss(predicted, labels) < 0.5 * log_loss(usual, labels)


def test_labels_that_do_not_depend_on_observations_are_predicted_by_their_share():
    coin = np.random.default_rng(5)
    insight, others = taught(300, lambda _: int(coin.random() < 0.3)), walks(200, seed=1)
    predicted = np.array([insight.predict(walk) for walk in others])
    assert predicted.std() < 0.05
    assert predicted.mean() == pytest.approx(0.3, abs=0.08)


def test_the_fit_is_the_regularised_logistic_regression(monkeypatch):
    monkeypatch.setattr(module, "DEVIATIONS", (3.0,))
    monkeypatch.setattr(module, "OFFSET_DEVIATION", 1e4)  # scikit-learn does not shrink it
    insight, rows = taught(), []
    for walk in walks(100):
        x = 2.0 * (walk.observations - LOW) / (HIGH - LOW) - 1.0
        psi = np.column_stack([x, x[:, 0] ** 2, x[:, 0] * x[:, 1], x[:, 1] ** 2])
        rows.append(np.concatenate([psi.mean(axis=0), psi[-1]]))
    peer = LogisticRegression(C=9.0, tol=1e-10, max_iter=10_000)
    peer.fit(rows, [ends_near(walk) for walk in walks(100)])
    np.testing.assert_allclose(insight.weights, peer.coef_[0], atol=1e-4)
    assert insight.offset == pytest.approx(peer.intercept_[0], abs=1e-4)


def test_the_last_step_has_the_largest_share_where_the_end_decides():
    insight, others = taught(300), walks(100, seed=1)
    shares = np.array([insight.share(walk).steps for walk in others])
    assert (np.abs(shares).argmax(axis=1) == STEPS - 1).mean() > 0.9


@pytest.mark.parametrize(
    ("count", "judge"), [(FEWEST_LABELS - 1, ends_near), (50, lambda _: 1), (50, lambda _: 0)]
)
def test_too_few_labels_or_labels_of_one_kind_leave_success_unknown(count, judge):
    insight = taught(count, judge)
    assert insight.predict(walks(1)[0]) is None
    assert insight.share(walks(1)[0]) is None
    assert insight.document() is None
    assert insight.explain(None, walks(1)[0], (), np.random.default_rng(0)) is None
    assert insight.success_map() is not None


def test_the_map_counts_the_good_labels_of_episodes_that_passed():
    """Against a count in plain Python."""
    insight = taught(40)
    found = insight.success_map()
    labels = [ends_near(walk) for walk in walks(40)]
    usual = (sum(labels) + 1) / 42
    for cell in range(found.axes[0].cells * found.axes[1].cells):
        row, column = divmod(cell, found.axes[1].cells)
        passing = []
        for walk, label in zip(walks(40), labels, strict=True):
            places = [(int((x + 2) / 4 * 12), int((y + 2) / 4 * 12)) for x, y in walk.observations]
            inside = [(min(max(r, 0), 11), min(max(c, 0), 11)) for r, c in places]
            passing += [label] if (row, column) in inside else []
        assert found.visits[cell] == len(passing)
        if passing:
            assert found.success[cell] == pytest.approx((sum(passing) + usual) / (len(passing) + 1))
    assert (np.sign(found.effects) == np.sign(np.nan_to_num(found.success - usual))).all()


def test_two_numbers_may_be_chosen():
    insight = taught()
    found, turned = insight.success_map((0, 1)), insight.success_map((1, 0))
    assert [axis.dimension for axis in turned.axes] == [1, 0]
    np.testing.assert_array_equal(turned.visits.reshape(12, 12).T, found.visits.reshape(12, 12))
    assert [axis.dimension for axis in insight.success_map().axes] == [0, 1]


def test_an_agent_that_sees_one_number_has_a_map_of_one_axis():
    rng = np.random.default_rng(2)
    walks_ = [Trajectory.observed(rng.random((5, 1)), np.zeros(5, dtype=int)) for _ in range(20)]
    line = InputScaling(np.zeros(1), np.ones(1))
    insight = ObservationInsight.of(line, [(walk, n % 2) for n, walk in enumerate(walks_)])
    assert len(insight.success_map().axes) == 1
    assert insight.success_map().visits.shape == (12,)


def test_a_step_counts_how_often_its_action_was_tried_nearby():
    here, far = np.array([[0.5, 0.5]]), np.array([[0.5, 1.0]])
    episodes = [
        Trajectory.observed(place, np.array([action]))
        for place, action in [(here, 1), (here + 0.39, 1), (here, 2), (far, 1)] * 3
    ]
    insight = ObservationInsight.of(BOUNDS, [(e, n % 2) for n, e in enumerate(episodes)])
    played = Trajectory.observed(here, np.array([1]))
    assert insight.explain(None, played, (), np.random.default_rng(0)).visits == 6


def test_it_stays_small_however_long_the_episodes_are():
    rng = np.random.default_rng(0)
    long = [
        Trajectory.observed(rng.random((900, 20)), rng.integers(2, size=900)) for _ in range(60)
    ]
    bounds = InputScaling(np.zeros(20), np.ones(20))
    insight = ObservationInsight.of(bounds, [(e, n % 2) for n, e in enumerate(long)])
    assert insight.points.size <= module.MOST_NUMBERS
    assert (np.bincount(insight.owners) >= 2).all()
    for number in (0, 59):  # the last observation of an episode is always kept
        kept = insight.points[insight.owners == number]
        np.testing.assert_array_equal(kept[-1], long[number].observations[-1])


def test_only_the_newest_labels_count(monkeypatch):
    monkeypatch.setattr(module, "MOST_LABELS", 30)
    labelled = [(walk, ends_near(walk)) for walk in walks(80)]
    newest = ObservationInsight.of(BOUNDS, labelled[-30:])
    np.testing.assert_array_equal(ObservationInsight.of(BOUNDS, labelled).weights, newest.weights)


def test_numbers_outside_their_bounds_are_finite():
    far = Trajectory.observed(np.array([[1e9, -1e9]]), np.array([0]))
    insight = taught()
    assert 0.0 <= insight.predict(far) <= 1.0
    beyond = ObservationInsight.of(BOUNDS, [(far, 1), *((w, ends_near(w)) for w in walks(20))])
    assert beyond.success_map().visits.sum() > 20


def test_the_agent_uses_every_verdict_and_leaves_out_empty_episodes():
    spec = {"observations": {"low": [-2.0, -2.0], "high": [2.0, 2.0]}, "actions": 3}
    agent = make_agent(
        parse(AgentSpec, spec | {"horizon": STEPS, "algorithm": {"kind": "reinforce"}})
    )
    assert agent.insight() is None
    agent.finish(99, Trajectory.observed(np.zeros((0, 2)), np.zeros(0, dtype=int)))
    agent.label(99, 0)
    assert agent.insight() is None
    for number, walk in enumerate(walks(30)):
        agent.finish(number, walk)
        agent.label(number, ends_near(walk))
    agent.label(3, 1, slot=1)
    labelled = [(walk, ends_near(walk)) for walk in walks(30)]
    slots = sorted([ends_near(walks(30)[3]), 1])
    both = [*labelled[:3], *((walks(30)[3], label) for label in slots), *labelled[4:]]
    expected = ObservationInsight.of(BOUNDS, both)
    np.testing.assert_array_equal(agent.insight().weights, expected.weights)
    assert unpack_insight(agent.packed_insight()).predict(walks(1)[0]) == pytest.approx(
        expected.predict(walks(1)[0])
    )
