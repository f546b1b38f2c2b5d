import numpy as np

from app.learning.continuous.net import choose_net, farthest_points


def test_each_point_is_the_farthest_from_those_before():
    points = np.random.default_rng(0).normal(size=(80, 3))
    chosen = farthest_points(points, 12)
    for k in range(1, 12):
        gaps = ((points[:, None] - points[chosen[:k]]) ** 2).sum(axis=2).min(axis=1)
        assert gaps[chosen[k]] == gaps.max()


def test_few_points_are_all_taken_once():
    points = np.array([[0.0], [1.0], [1.0], [2.0]])
    assert choose_net(points, 10, np.random.default_rng(0)).ravel().tolist() == [0.0, 1.0, 2.0]


def test_a_net_is_bounded_different_and_reaches_the_rim():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(3000, 2))
    points[17] = (40.0, 0.0)
    net = choose_net(points, 100, np.random.default_rng(2))
    assert net.shape == (100, 2)
    assert len(np.unique(net, axis=0)) == 100
    assert (net == points[17]).all(axis=1).any()
    assert {tuple(row) for row in net} <= {tuple(row) for row in points}


def test_half_of_the_net_is_as_dense_as_the_visits():
    """Nearly all visits lie in a small disc; a pure farthest-point net would hardly go there."""
    rng = np.random.default_rng(3)
    points = np.concatenate([0.01 * rng.normal(size=(3800, 2)), rng.uniform(-9, 9, size=(200, 2))])
    net = choose_net(points, 200, np.random.default_rng(4))
    assert (np.abs(net).max(axis=1) < 0.1).sum() > 80


def test_the_same_generator_gives_the_same_net():
    points = np.random.default_rng(5).normal(size=(9000, 2))
    one, other = (choose_net(points, 50, np.random.default_rng(6)) for _ in range(2))
    assert (one == other).all()
