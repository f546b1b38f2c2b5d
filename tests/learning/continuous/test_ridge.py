import numpy as np
from sklearn.linear_model import Ridge

from app.learning.continuous.ridge import one_hot, ridge


def test_it_agrees_with_scikit_learn_for_each_problem_of_a_stack():
    rng = np.random.default_rng(0)
    features, targets = rng.normal(size=(4, 12, 3)), rng.normal(size=(4, 12, 2))
    found = ridge(features, targets, 0.7)
    for i in range(4):
        other = Ridge(alpha=0.7, fit_intercept=False).fit(features[i], targets[i])
        assert np.allclose(found[i], other.coef_.T, atol=1e-10)


def test_one_hot_rows():
    assert one_hot(np.array([2, 0]), 3).tolist() == [[0, 0, 1], [1, 0, 0]]
