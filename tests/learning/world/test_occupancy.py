"""Where policies go, and average features, against enumeration with the maps' own rows."""

import itertools

import numpy as np
import pytest

from app.learning.features.blocks import Blocks
from app.learning.features.one_hot import OneHot
from app.learning.features.table import Table
from app.learning.spaces import Spaces
from app.learning.trajectory import Trajectory
from app.learning.world.model import TransitionModel
from app.learning.world.occupancy import occupancy

S, A, H = 3, 2, 4
SPACES = Spaces(S, A, H)


def random_model(rng):
    matrix = rng.dirichlet(np.full(2 * S + 1, 0.5), size=S * A)
    matrix[1] = 0.0  # never seen
    return TransitionModel.from_dense(matrix, S, A)


def paths(model, start, table):
    """Every (probability, trajectory), ends included."""
    matrix = model.dense()
    open_paths = [(start[s], [s]) for s in range(S)]
    for h in range(H):
        longer = []
        for chance, states in open_paths:
            actions = [int(table[i, s]) for i, s in enumerate(states)]
            if h == H - 1:
                yield chance, Trajectory(np.array(states), np.array(actions))
                continue
            row = matrix[states[-1] * A + actions[-1]]
            longer += [(chance * row[s], [*states, s]) for s in range(S)]
            for e in range(S + 1):
                final = e if e < S else -1
                ended = Trajectory(np.array(states), np.array(actions), final, True)
                yield chance * row[S + e], ended
        open_paths = longer


MAPS = [
    OneHot(SPACES, step, state, action, steps)
    for step, state, action in itertools.product((False, True), repeat=3)
    if step or state or action
    for steps in ((0, 1, 2, 3), (1, 3))
]
RNG = np.random.default_rng(8)
MAPS += [Table(SPACES, RNG.normal(size=(S, A, 5))), Table(SPACES, RNG.normal(size=(H, S, A, 5)))]
MAPS += [Blocks(SPACES, (MAPS[0], MAPS[-1]))]


@pytest.mark.parametrize("features", MAPS, ids=str)
def test_mean_features_are_those_of_all_paths(features):
    rng = np.random.default_rng(4)
    model, start = random_model(rng), rng.dirichlet(np.ones(S))
    table = rng.integers(A, size=(H, S))
    expected, total = np.zeros(features.dimension), 0.0
    for chance, trajectory in paths(model, start, table):
        indices, values = features.row(trajectory)
        expected[indices] += chance * values
        total += chance
    assert total == pytest.approx(1.0)
    found = features.mean(occupancy(model, start, table))
    np.testing.assert_allclose(found, expected, atol=1e-12)
