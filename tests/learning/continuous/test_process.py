import numpy as np
import pytest
from scipy.special import expit
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from app.learning.continuous.process import (
    Labels,
    RandomFeatures,
    fit,
    squared_distances,
    squared_exponential,
)

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(25, 2))
GOOD = (POINTS[:, 0] > 0.3).astype(np.float64)
ENDED = (POINTS[:, 1] > 0).astype(np.float64)
LABELS = Labels(GOOD, np.ones(25), ENDED)
PLACES = squared_exponential(squared_distances(POINTS, POINTS), 0.8, 9.0)


def test_the_evidence_and_the_mean_agree_with_scikit_learn():
    plain = Labels(GOOD, np.ones(25), np.zeros(25))
    found = fit(plain, PLACES)
    kernel = ConstantKernel(9.0) * RBF(0.8) + ConstantKernel(9.0)
    other = GaussianProcessClassifier(kernel, optimizer=None, max_iter_predict=1000)
    other.fit(POINTS, GOOD)
    assert found.log_evidence == pytest.approx(other.log_marginal_likelihood_value_, abs=1e-5)
    chances = expit(found.logits)
    assert ((chances > 0.5) == (other.predict(POINTS) > 0.5)).all()


def test_the_mode_is_stationary():
    found = fit(LABELS, PLACES)
    gradient = GOOD - expit(found.logits)
    assert np.allclose(found.dual, gradient, atol=1e-7)
    assert np.allclose(found.covariance @ found.dual, found.logits, atol=1e-7)


def test_several_labels_of_one_episode_are_as_many_rows():
    twice = Labels(np.array([0.5, 1.0]), np.array([2.0, 3.0]), np.array([0.0, 1.0]))
    rows = [0, 0, 1, 1, 1]
    apart = Labels(np.array([0, 1, 1, 1, 1.0]), np.ones(5), np.array([0, 0, 1, 1, 1.0]))
    places = PLACES[:2, :2]
    together, each = fit(twice, places), fit(apart, places[np.ix_(rows, rows)])
    assert together.logits[0] == pytest.approx(each.logits[0], abs=1e-6)
    assert together.intercept == pytest.approx(each.intercept, abs=1e-6)
    assert together.flag == pytest.approx(each.flag, abs=1e-6)


def laplace(found, cross, prior):
    """Posterior mean and covariance by plain inverses."""
    chance = expit(found.logits)
    noise = np.diag(1.0 / (chance * (1.0 - chance)))
    inverse = np.linalg.inv(found.covariance + noise)
    return cross.T @ found.dual, prior - cross.T @ inverse @ cross


def test_draws_have_the_posterior_mean_and_covariance():
    found, rng = fit(LABELS, PLACES), np.random.default_rng(1)
    new = np.array([[0.0, 0.5], [1.5, -0.5], [4.0, 4.0]])
    both = np.concatenate([POINTS, new])
    joint = squared_exponential(squared_distances(both, both), 0.8, 9.0)
    cross, prior = joint[:25, 25:], joint[25:, 25:]
    root = np.linalg.cholesky(joint + 1e-9 * np.eye(28))
    draws = []
    for _ in range(6000):
        values = root @ rng.standard_normal(28)
        flag, intercept = 3.0 * rng.standard_normal(2)
        draws.append(values[25:] + cross.T @ found.correction(values[:25], flag, intercept, rng))
    mean, covariance = laplace(found, cross, prior)
    assert np.abs(np.mean(draws, axis=0) - mean).max() < 0.15
    assert np.abs(np.cov(np.array(draws).T) - covariance).max() < 0.45
    assert np.allclose(found.variance(cross, prior.diagonal()), covariance.diagonal(), atol=1e-8)


def test_without_labels_the_prior_is_left():
    empty = Labels(np.empty(0), np.empty(0), np.empty(0))
    found = fit(empty, np.empty((0, 0)))
    assert (found.intercept, found.flag, found.log_evidence) == (0.0, 0.0, 0.0)


def test_random_features_have_the_kernel_as_covariance():
    rng = np.random.default_rng(2)
    points = np.array([[0.0, 0.0], [0.3, 0.1], [2.0, 2.0]])
    draws = np.array([RandomFeatures(2, 0.5, 9.0, rng)(points) for _ in range(5000)])
    expected = squared_exponential(squared_distances(points, points), 0.5, 9.0)
    assert np.abs(np.cov(draws.T) - expected).max() < 0.6
    assert np.abs(draws.mean(axis=0)).max() < 0.2
