"""What labels say about a map: scales as priors, visits, and following labels that change."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from app.agents import AgentSpec, make_agent
from app.agents.base import MODEL_TOLERANCE
from app.agents.experience import Experience
from app.agents.tabular.belief import Belief, Prior
from app.learning.features.blocks import Blocks
from app.learning.features.one_hot import OneHot
from app.learning.features.table import Table
from app.learning.logistic.estimate import LogisticEstimator
from app.learning.spaces import Spaces
from app.learning.trajectory import UNREPORTED, Trajectory

S, A, H = 3, 2, 4
SPACES = Spaces(S, A, H)
EVERY = tuple(range(H))
STATES = OneHot(SPACES, False, True, False, EVERY)
PAIRS = OneHot(SPACES, False, True, True, EVERY)
STEPS = OneHot(SPACES, True, True, False, EVERY)
LATE = OneHot(SPACES, False, True, False, (2, 3))


def episodes(seed, count):
    rng = np.random.default_rng(seed)
    for number in range(count):
        ended = rng.random() < 0.4
        length = int(rng.integers(1, H)) if ended else H
        trajectory = Trajectory(
            rng.integers(S, size=length),
            rng.integers(A, size=length),
            int(rng.integers(S)) if ended else UNREPORTED,
            bool(ended),
        )
        yield number, trajectory, int(rng.random() < 0.5)


def taught(seed=1, count=15):
    experience = Experience(SPACES)
    for number, trajectory, label in episodes(seed, count):
        experience.finish(number, trajectory)
        experience.set_label(number, label)
    return experience


def dense_rows(features, experience):
    rows = np.zeros((len(experience.labels), features.dimension))
    for i, (number, _) in enumerate(experience.labels):
        indices, values = features.row(experience.episodes[number])
        rows[i, indices] = values
    return rows


def labels_of(experience):
    return np.array(list(experience.labels.values()), dtype=float)


def ridge(rows, labels, precisions):
    """The regularised estimate of a logistic model, by a general solver."""

    def loss(w):
        z = rows @ w
        value = np.logaddexp(0.0, z).sum() - labels @ z + 0.5 * precisions @ w**2
        return value, rows.T @ (expit(z) - labels) + precisions * w

    return minimize(loss, np.zeros(rows.shape[1]), jac=True, method="BFGS", tol=1e-9).x


def belief_of(features):
    parts = len(features.parts) if isinstance(features, Blocks) else 1
    return Belief(features, Prior((1.0,) * parts, 1.0))


def in_adaptive_scale(rows, sizes, units="own"):
    """Each column over its largest entry, each part over the root mean square of its norm."""
    largest = np.abs(rows).max(axis=0) if units == "own" else np.ones(rows.shape[1])
    scaled = rows / np.where(largest > 0, largest, 1.0)
    blocks = np.split(scaled, np.cumsum(sizes)[:-1], axis=1)
    norms = [np.sqrt(max(1.0, np.mean([row @ row for row in block]))) for block in blocks]
    return np.hstack([block / norm for block, norm in zip(blocks, norms, strict=True)])


TABLE = Table(SPACES, np.random.default_rng(8).normal(scale=5.0, size=(S, A, 3)))


@pytest.mark.parametrize(
    ("features", "variances"),
    [
        (STATES, (9.0,)),
        (PAIRS, (0.5,)),
        (TABLE, (9.0,)),
        (Blocks(SPACES, (STATES, PAIRS)), (3.0, 6.0)),
        (Blocks(SPACES, (STATES, STEPS, TABLE)), (1.5, 4.5, 2.0)),
    ],
    ids=["states", "pairs", "table", "two blocks", "three blocks"],
)
@pytest.mark.parametrize("units", ["own", "common"])
def test_a_scale_is_a_prior(features, variances, units):
    """Fitting raw features equals fitting scaled ones under equal variances."""
    experience = taught()
    prior = Prior(variances, intercept_variance=4.0, units=units)
    learned = Belief(features, prior).follow(experience)
    parts = features.parts if isinstance(features, Blocks) else (features,)
    sizes = [part.dimension for part in parts]
    raw, labels = dense_rows(features, experience), labels_of(experience)
    scaled = np.hstack([in_adaptive_scale(raw, sizes, units), np.ones((len(raw), 1))])
    precisions = np.append(np.repeat(1.0 / np.array(variances), sizes), 1.0 / 4.0)
    theta = ridge(scaled, labels, precisions)
    assert learned.fit.converged
    logits = raw @ learned.fit.weights + learned.fit.intercept
    np.testing.assert_allclose(logits, scaled @ theta, atol=1e-5)
    assert np.abs(logits).max() > 0.1
    # And so is the spread around it: the deviation of each episode's logit.
    z = scaled @ theta
    hessian = np.diag(precisions) + scaled.T @ ((expit(z) * expit(-z))[:, None] * scaled)
    deviations = np.sqrt(np.einsum("ij,jk,ik->i", scaled, np.linalg.inv(hessian), scaled))
    np.testing.assert_allclose(learned.posterior.norms(raw, intercept=1.0), deviations, rtol=1e-5)


@pytest.mark.parametrize("features", [STATES, STEPS, PAIRS, TABLE])
def test_the_papers_scale_is_the_bound_of_the_norm(features):
    """Rows divided by the bound, a ridge of one for every weight, and no intercept."""
    experience = taught()
    learned = Belief(features, Prior(None, None)).follow(experience)
    scaled = dense_rows(features, experience) / features.largest_norm()
    assert (np.linalg.norm(scaled, axis=1) <= 1.0 + 1e-12).all()
    theta = ridge(scaled, labels_of(experience), np.ones(features.dimension))
    assert learned.fit.intercept == 0.0
    np.testing.assert_allclose(
        learned.fit.weights * features.largest_norm(), theta, rtol=1e-4, atol=1e-6
    )


def test_the_papers_ridge_may_be_another():
    experience = taught()
    learned = Belief(STATES, Prior(None, None, regularisation=7.0)).follow(experience)
    scaled = dense_rows(STATES, experience) / H
    theta = ridge(scaled, labels_of(experience), np.full(S, 7.0))
    np.testing.assert_allclose(learned.fit.weights * H, theta, rtol=1e-4, atol=1e-6)


def test_without_labels_the_prior_is_all_there_is():
    belief = Belief(STATES, Prior((9.0,), 4.0))
    learned = belief.follow(Experience(SPACES))
    assert not learned.fit.weights.any()
    assert learned.fit.intercept == 0.0
    np.testing.assert_allclose(learned.posterior.norms(np.eye(S)), 3.0)
    np.testing.assert_allclose(learned.posterior.norms(np.zeros((1, S)), intercept=1.0), 2.0)


class TestVisits:
    """One labelled episode in states 0, 0, 1 that ended in 2; one unlabelled in state 1."""

    def setup_method(self):
        self.experience = Experience(SPACES)
        self.experience.finish(0, Trajectory(np.array([0, 0, 1]), np.array([0, 1, 1]), 2, True))
        self.experience.set_label(0, 1)
        self.experience.finish(1, Trajectory(np.array([1, 1]), np.array([0, 0])))
        self.pairs = self.experience.transitions.visits.reshape(S, A).astype(float)
        self.cells = np.array(np.broadcast_to(self.pairs, (H, S, A)))

    def visits(self, features, cells=None):
        belief = belief_of(features)
        return belief.visits(self.experience, self.cells if cells is None else cells)

    def test_touches_are_counted_in_labelled_episodes_alone(self):
        """Where cells are well known; after its end the episode stays where it ended."""
        for known in (np.full((H, S, A), 99.0), np.full((H, S, A), np.inf)):
            assert self.visits(STATES, known)[0].tolist() == [[2, 2], [1, 1], [1, 1]]
            assert self.visits(PAIRS, known)[0].tolist() == [[1, 1], [0, 1], [0, 0]]

    def test_a_cell_is_as_known_as_the_less_known_of_pair_and_feature(self):
        visits = self.visits(STATES)
        assert visits.shape == (H, S, A)
        for h in range(H):
            # Pairs were seen [[1, 1], [2, 1], [0, 0]] times, states in labels [2, 1, 1] times.
            assert visits[h].tolist() == [[1, 1], [1, 1], [0, 0]]

    def test_only_the_steps_that_have_the_feature_are_held_down(self):
        visits = self.visits(LATE)
        assert self.pairs.tolist() == [[1, 1], [2, 1], [0, 0]]
        assert visits[0].tolist() == visits[1].tolist() == self.pairs.tolist()
        # At steps 2 and 3 the labelled episode was in 1, then over in 2.
        assert visits[2].tolist() == visits[3].tolist() == [[0, 0], [1, 1], [0, 0]]

    def test_features_of_single_steps_are_touched_at_theirs(self):
        """The labelled episode was in 0, 0 and 1, and was then over in 2."""
        visits = self.visits(STEPS, np.full((H, S, A), 5.0))
        for h, state in enumerate((0, 0, 1, 2)):
            assert visits[h].tolist() == [[float(s == state)] * A for s in range(S)]

    def test_a_table_holds_nothing_down(self):
        np.testing.assert_array_equal(self.visits(TABLE), self.cells)

    def test_of_several_parts_the_least_known_counts(self):
        visits = self.visits(Blocks(SPACES, (TABLE, LATE, PAIRS)))
        # (1, 0) was labelled never; late, state 1 was touched once and state 0 never.
        assert visits[0].tolist() == visits[1].tolist() == [[1, 1], [0, 1], [0, 0]]
        assert visits[2].tolist() == visits[3].tolist() == [[0, 0], [0, 1], [0, 0]]

    def test_steps_may_be_known_differently(self):
        cells = np.arange(H)[:, None, None] * np.ones((H, S, A))
        visits = self.visits(STATES, cells)
        assert visits[:, 0, 1].tolist() == [0, 1, 2, 2]
        assert visits[:, 1, 1].tolist() == [0, 1, 1, 1]

    def test_the_counts_it_is_given_stay_as_they_are(self):
        before = self.cells.copy()
        assert (self.visits(STATES) < before).any()
        np.testing.assert_array_equal(self.cells, before)

    def test_before_any_label_nothing_was_touched(self):
        self.experience.remove_label(0)
        assert not self.visits(STATES).any()
        assert self.visits(LATE)[:2].any()

    def test_labels_count_at_once_and_are_not_lost_to_the_fit(self):
        """Asked in between two fits, it takes in what the second fit must have."""
        belief = belief_of(STATES)
        before = belief.follow(self.experience)
        self.experience.set_label(1, 0)
        known = np.full((H, S, A), 99.0)
        # The second episode was in state 1 twice.
        assert belief.visits(self.experience, known)[0].tolist() == [[2, 2], [3, 3], [1, 1]]
        after = belief.follow(self.experience)
        fresh = belief_of(STATES).follow(self.experience)
        np.testing.assert_allclose(after.fit.weights, fresh.fit.weights, atol=MODEL_TOLERANCE)
        assert np.abs(after.fit.weights - before.fit.weights).max() > 1e-3
        self.experience.remove_label(0)
        assert belief.visits(self.experience, known)[0].tolist() == [[0, 0], [2, 2], [0, 0]]


@pytest.mark.parametrize(
    ("features", "coarse"),
    [
        (STATES, True),
        (PAIRS, True),
        (LATE, True),
        (Blocks(SPACES, (STATES, PAIRS, LATE)), True),
        (STEPS, False),
        (TABLE, False),
        (Blocks(SPACES, (STATES, STEPS)), False),
        (Blocks(SPACES, (TABLE, STATES)), False),
    ],
)
def test_maps_that_tell_steps_apart_are_not_coarse(features, coarse):
    assert belief_of(features).features.is_coarse is coarse


def test_every_voice_is_a_row_of_its_own():
    """Against another library, on data that have the row of an episode once for each verdict."""
    experience = taught()
    for number in range(0, 15, 2):
        experience.set_label(number, number % 4 // 2, slot=1)
    experience.set_label(3, 1, slot=2)
    learned = Belief(PAIRS, Prior(None, None, 0.1)).follow(experience)
    rows, labels = dense_rows(PAIRS, experience), labels_of(experience)
    assert len(rows) == 24
    other = LogisticRegression(
        C=1.0 / learned.precision[0], fit_intercept=False, tol=1e-12, max_iter=10_000
    ).fit(rows, labels)
    np.testing.assert_allclose(learned.fit.weights, other.coef_[0], atol=1e-6)
    alone = Belief(PAIRS, Prior(None, None, 0.1)).follow(taught())
    assert np.abs(learned.fit.weights - alone.fit.weights).max() > 0.05


class TestFollowing:
    """Labels that are replaced, withdrawn or late leave what a fresh belief would have."""

    FEATURES = Blocks(SPACES, (STATES, STEPS))
    PRIOR = Prior((3.0, 6.0), 9.0)

    def assert_like_fresh(self, learned, experience):
        fresh = Belief(self.FEATURES, self.PRIOR).follow(experience)
        np.testing.assert_allclose(learned.precision, fresh.precision, rtol=1e-12)
        np.testing.assert_allclose(learned.fit.weights, fresh.fit.weights, atol=MODEL_TOLERANCE)
        assert learned.fit.intercept == pytest.approx(fresh.fit.intercept, abs=MODEL_TOLERANCE)
        known = np.full(SPACES.shape, 1e9)
        np.testing.assert_array_equal(
            learned.belief.visits(experience, known), fresh.belief.visits(experience, known)
        )
        unit = np.eye(self.FEATURES.dimension)
        np.testing.assert_allclose(
            learned.posterior.norms(unit), fresh.posterior.norms(unit), rtol=1e-6
        )

    def test_replaced_and_withdrawn_labels(self):
        experience, belief = taught(), Belief(self.FEATURES, self.PRIOR)
        before = belief.follow(experience)
        for number in (2, 5, 9):
            experience.set_label(number, 1 - experience.labels[number, 0])
        replaced = belief.follow(experience)
        assert np.abs(replaced.fit.weights - before.fit.weights).max() > 1e-3
        self.assert_like_fresh(replaced, experience)
        for number in (0, 5, 14):
            experience.remove_label(number)
        self.assert_like_fresh(belief.follow(experience), experience)
        experience.set_label(5, 1)
        self.assert_like_fresh(belief.follow(experience), experience)

    def test_a_largest_value_that_is_withdrawn_is_forgotten(self):
        """The scale follows the labelled episodes, down as well as up."""
        experience, belief = Experience(SPACES), Belief(STATES, Prior((1.0,), 1.0))
        experience.finish(0, Trajectory(np.array([0, 1, 1, 2]), np.zeros(4, dtype=int)))
        experience.finish(1, Trajectory(np.array([0, 0, 0, 0]), np.zeros(4, dtype=int)))
        experience.set_label(0, 1)
        alone = belief.follow(experience).precision
        experience.set_label(1, 0)
        assert belief.follow(experience).precision[0] > 4.0 * alone[0]
        experience.remove_label(1)
        np.testing.assert_allclose(belief.follow(experience).precision, alone)

    def test_all_labels_withdrawn_is_none_given(self):
        experience, belief = taught(), Belief(self.FEATURES, self.PRIOR)
        belief.follow(experience)
        for number, slot in list(experience.labels):
            experience.remove_label(number, slot)
        learned = belief.follow(experience)
        assert not learned.fit.weights.any()
        self.assert_like_fresh(learned, Experience(SPACES))

    def test_nothing_new_is_nothing_to_fit(self):
        experience, belief = taught(), Belief(self.FEATURES, self.PRIOR)
        learned = belief.follow(experience)
        experience.finish(99, Trajectory(np.array([0]), np.array([0])))
        assert belief.follow(experience) is learned

    def test_arrays_go_on_from_the_same_place(self):
        experience, belief = taught(count=10), Belief(self.FEATURES, self.PRIOR)
        belief.follow(experience)
        restored = Belief(self.FEATURES, self.PRIOR)
        restored.load(belief.arrays())
        for number, trajectory, label in list(episodes(4, 16))[10:]:
            experience.finish(number, trajectory)
            experience.set_label(number, label)
        here, there = belief.follow(experience), restored.follow(experience)
        np.testing.assert_array_equal(here.fit.weights, there.fit.weights)
        assert here.fit.iterations == there.fit.iterations


class TestFailedFits:
    """A fit that does not converge is tried again from zero, and reported when that fails too."""

    def fail(self, monkeypatch, times):
        """Let the next fits stop without having converged; the estimators that were asked."""
        asked, original = [], LogisticEstimator.fit

        def failing(estimator, *arguments):
            asked.append(estimator)
            fit = original(estimator, *arguments)
            failed = len(asked) <= times
            return replace(fit, converged=False, message="stopped") if failed else fit

        monkeypatch.setattr(LogisticEstimator, "fit", failing)
        return asked

    def test_it_is_tried_again_from_zero(self, monkeypatch):
        experience, belief = taught(), belief_of(STATES)
        asked = self.fail(monkeypatch, 1)
        learned = belief.follow(experience)
        assert learned.fit.converged
        assert belief.failure is None
        assert len(asked) == 2
        assert asked[0] is not asked[1]

    def test_an_agent_warns_where_that_fails_too(self, monkeypatch):
        agent = make_agent(AgentSpec(states=3, actions=2, horizon=4, seed=1))
        agent.finish(0, Trajectory(np.array([0, 1]), np.array([0, 1])))
        agent.label(0, 1)
        agent.refit()
        assert agent.warnings() == {}
        self.fail(monkeypatch, 99)
        agent.label(0, 0)
        agent.refit()
        assert "did not converge: stopped" in agent.warnings()["fit_did_not_converge"]
        assert agent.plan(1, "exploit").value > 0.0  # it still acts
        monkeypatch.undo()
        agent.label(0, 1)
        agent.refit()
        assert agent.warnings() == {}
