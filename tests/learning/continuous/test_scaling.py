import numpy as np
import pytest
from sklearn.linear_model import Ridge

from app.learning.continuous.scaling import Scaling, fit_scaling
from app.learning.continuous.steps import Path, gather

RNG = np.random.default_rng(1)
N = 400


def steps_of(columns):
    """One long episode with these columns."""
    rows = np.column_stack(columns)
    return gather([Path(rows[:-1], RNG.integers(2, size=len(rows) - 1), rows[-1])], rows.shape[1])


def walk():
    return 0.3 * np.sin(np.arange(N) / 20.0)


def test_the_unit_is_the_mean_of_the_ranges_of_data_and_box():
    steps = steps_of([walk()])
    found = fit_scaling(steps, np.array([-2.0]), np.array([2.0]), 2)
    low, high = np.percentile(steps.visited(), [2, 98])
    assert found.unit[0] == pytest.approx(np.sqrt((high - low) * 4.0))
    assert found.centre[0] == pytest.approx((low + high) / 2)


@pytest.mark.parametrize("bound", [1e9, 1e6])
def test_data_decide_in_a_box_without_bounds(bound):
    steps = steps_of([walk()])
    found = fit_scaling(steps, np.array([-bound]), np.array([bound]), 2)
    low, high = np.percentile(steps.visited(), [2, 98])
    assert found.unit[0] == pytest.approx(high - low)


def test_a_box_that_is_far_too_small_does_not_blow_z_up():
    steps = steps_of([1e12 * walk()])
    found = fit_scaling(steps, np.array([-1.0]), np.array([1.0]), 2)
    assert np.abs(found(steps.visited())).max() < 10.0


def test_noise_hardly_moves_z_and_what_is_predictable_counts_in_full():
    steps = steps_of([walk(), RNG.normal(size=N)])
    found = fit_scaling(steps, np.array([-1.0, -5.0]), np.array([1.0, 5.0]), 2)
    assert found.relevance[0] == 1.0
    assert found.relevance[1] < 0.1


def test_relevance_is_twice_the_r_squared_of_scikit_learn():
    noise = 0.6 * walk() / 0.3 + RNG.normal(size=N)
    steps = steps_of([walk(), noise])
    found = fit_scaling(steps, np.full(2, -9.0), np.full(2, 9.0), 2)
    plain = Scaling(found.centre, found.unit * found.relevance, np.ones(2))
    rows = np.hstack([np.ones((N - 1, 1)), np.eye(2)[steps.actions], plain(steps.before)])
    model = Ridge(alpha=1.0, fit_intercept=False).fit(rows, plain(steps.after)[:, 1])
    assert 0.02 < found.relevance[1] < 1.0
    assert found.relevance[1] == pytest.approx(
        2.0 * model.score(rows, plain(steps.after)[:, 1]), abs=1e-3
    )


def test_a_dimension_that_never_changes_has_a_finite_unit_and_no_relevance():
    steps = steps_of([walk(), np.full(N, 7.0)])
    found = fit_scaling(steps, np.array([-1.0, 0.0]), np.array([1.0, 10.0]), 2)
    assert found.relevance[1] == 0.02
    assert np.isfinite(found(np.array([0.0, 7.0]))).all()


def test_too_few_steps_count_every_dimension():
    steps = gather([Path(np.zeros((1, 2)), np.array([0]), np.ones(2))], 2)
    assert fit_scaling(steps, np.zeros(2), np.ones(2), 2).relevance.tolist() == [1.0, 1.0]


def test_z_goes_back_to_the_observation_and_far_out_is_held():
    scaling = Scaling(np.array([1.0]), np.array([0.5]), np.ones(1))
    assert scaling.back(scaling(np.array([2.5]))) == pytest.approx(2.5)
    assert scaling(np.array([1e300])) == 50.0
