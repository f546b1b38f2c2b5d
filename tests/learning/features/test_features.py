"""The feature maps against their definition, written as loops over the steps of an episode."""

from __future__ import annotations

import itertools
import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import app.learning.features.table as table_module
from app.agents import AgentSpec, make_agent
from app.errors import InvalidValue
from app.learning.arrays import Floats
from app.learning.features.base import FeatureMap
from app.learning.features.blocks import Blocks
from app.learning.features.one_hot import OneHot
from app.learning.features.table import Table
from app.learning.spaces import Spaces
from app.learning.trajectory import UNREPORTED, Trajectory
from app.wire.validation import parse

PARTS = ("step", "state", "action")
SUBSETS = [over for size in (1, 2, 3) for over in combinations(PARTS, size)]


def one_hot(spaces: Spaces, over: tuple[str, ...], steps: tuple[int, ...]) -> OneHot:
    return OneHot(spaces, *(part in over for part in PARTS), steps)


def played(states: list[int], actions: list[int], final: int = UNREPORTED, ended: bool = False):
    return Trajectory(np.array(states, dtype=int), np.array(actions, dtype=int), final, ended)


def dense(features: FeatureMap, trajectory: Trajectory) -> Floats:
    indices, values = features.row(trajectory)
    assert (np.diff(indices) > 0).all()
    assert values.dtype == np.float64
    row = np.zeros(features.dimension)
    row[indices] = values
    return row


def step_features(features: OneHot, step: int, state: int | None, action: int | None) -> Floats:
    """phi of one step as the definition has it; after the end there is no action."""
    phi = np.zeros(features.dimension)
    if step not in features.steps:
        return phi
    if (features.state and state is None) or (features.action and action is None):
        return phi
    index = features.steps.index(step) if features.step else 0
    if features.state:
        index = index * features.spaces.states + state
    if features.action:
        index = index * features.spaces.actions + action
    phi[index] = 1.0
    return phi


def defined(features: FeatureMap, trajectory: Trajectory) -> Floats:
    """phi(tau), step by step."""
    if isinstance(features, Blocks):
        return np.concatenate([defined(part, trajectory) for part in features.parts])
    total = np.zeros(features.dimension)
    for step in range(features.spaces.horizon):
        if step < len(trajectory):
            state, action = int(trajectory.states[step]), int(trajectory.actions[step])
            if isinstance(features, OneHot):
                total += step_features(features, step, state, action)
            else:
                values = features.values
                total += values[state, action] if values.ndim == 3 else values[step, state, action]
        elif trajectory.ended and isinstance(features, OneHot):
            final = None if trajectory.final == UNREPORTED else trajectory.final
            total += step_features(features, step, final, None)
    return total


def random_trajectory(rng: np.random.Generator, spaces: Spaces) -> Trajectory:
    length = int(rng.integers(spaces.horizon + 1))
    states = rng.integers(spaces.states, size=length)
    actions = rng.integers(spaces.actions, size=length)
    return Trajectory(
        states, actions, int(rng.integers(-1, spaces.states)), bool(rng.random() < 0.6)
    )


def random_table(rng: np.random.Generator, spaces: Spaces, with_steps: bool) -> Table:
    shape = spaces.shape if with_steps else spaces.shape[1:]
    return Table(spaces, rng.normal(size=(*shape, int(rng.integers(1, 4)))))


@pytest.mark.parametrize("over", SUBSETS, ids="+".join)
@pytest.mark.parametrize("steps", [(0, 1, 2, 3, 4), (4,), (0,), (2, 3, 4), (1, 3)], ids=str)
def test_a_row_is_its_definition(over: tuple[str, ...], steps: tuple[int, ...]) -> None:
    spaces = Spaces(3, 2, 5)
    features = one_hot(spaces, over, steps)
    sizes = {"step": len(steps), "state": 3, "action": 2}
    assert features.dimension == np.prod([sizes[part] for part in over])
    rng = np.random.default_rng(1)
    for _ in range(60):
        trajectory = random_trajectory(rng, spaces)
        np.testing.assert_array_equal(dense(features, trajectory), defined(features, trajectory))


class TestTheEnd:
    """One episode that ends in state 2 after two of five steps."""

    SPACES = Spaces(3, 2, 5)
    EPISODE = played([0, 1], [1, 0], final=2, ended=True)

    def test_the_steps_after_it_count_for_the_state(self) -> None:
        visits = one_hot(self.SPACES, ("state",), (0, 1, 2, 3, 4))
        np.testing.assert_array_equal(dense(visits, self.EPISODE), [1, 1, 3])
        last = one_hot(self.SPACES, ("state",), (4,))
        np.testing.assert_array_equal(dense(last, self.EPISODE), [0, 0, 1])

    def test_they_count_for_the_step(self) -> None:
        steps = one_hot(self.SPACES, ("step",), (1, 2, 3))
        np.testing.assert_array_equal(dense(steps, self.EPISODE), [1, 1, 1])

    def test_they_give_nothing_where_the_action_matters(self) -> None:
        actions = one_hot(self.SPACES, ("action",), (0, 1, 2, 3, 4))
        np.testing.assert_array_equal(dense(actions, self.EPISODE), [1, 1])
        late = one_hot(self.SPACES, ("state", "action"), (3, 4))
        assert not dense(late, self.EPISODE).any()

    def test_an_end_that_nobody_located_counts_for_the_step_alone(self) -> None:
        lost = played([0, 1], [1, 0], ended=True)
        assert dense(one_hot(self.SPACES, ("step",), (0, 4)), lost).tolist() == [1, 1]
        assert dense(one_hot(self.SPACES, ("state",), (0, 4)), lost).tolist() == [1, 0, 0]

    def test_an_episode_that_did_not_end_stops_counting(self) -> None:
        """A state that was reported but not ended in is no place to stay."""
        cut = played([0, 1], [1, 0], final=2)
        assert dense(one_hot(self.SPACES, ("state",), (0, 1, 2, 3, 4)), cut).tolist() == [1, 1, 0]

    def test_it_may_come_before_any_action(self) -> None:
        none = played([], [], final=1, ended=True)
        visits = one_hot(self.SPACES, ("state",), (0, 1, 2, 3, 4))
        assert dense(visits, none).tolist() == [0, 5, 0]


@st.composite
def situations(draw: st.DrawFn) -> tuple[FeatureMap, Trajectory, Floats]:
    """A map, a trajectory that fits it, and weights."""
    spaces = Spaces(draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 6)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))

    def part() -> FeatureMap:
        kind = draw(st.sampled_from(["one_hot", "one_hot", "table"]))
        if kind == "table":
            return random_table(rng, spaces, draw(st.booleans()))
        steps = draw(st.sets(st.integers(0, spaces.horizon - 1), min_size=1))
        return one_hot(spaces, draw(st.sampled_from(SUBSETS)), tuple(sorted(steps)))

    parts = [part() for _ in range(draw(st.integers(1, 3)))]
    features = parts[0] if len(parts) == 1 else Blocks(spaces, tuple(parts))
    return features, random_trajectory(rng, spaces), rng.normal(size=features.dimension)


@settings(max_examples=300, deadline=None)
@given(situations())
def test_tables_for_planners_say_what_rows_say(
    situation: tuple[FeatureMap, Trajectory, Floats],
) -> None:
    """w . phi(tau) is the sum along the played cells, and what is left once ended."""
    features, trajectory, weights = situation
    spaces = features.spaces
    cells, ended = features.spread(weights), features.remainders(weights)
    assert cells.shape == spaces.shape
    assert ended.shape == (spaces.horizon + 1, spaces.states + 1)
    assert not ended[spaces.horizon].any()
    n = len(trajectory)
    total = cells[np.arange(n), trajectory.states, trajectory.actions].sum()
    if trajectory.ended:
        total += ended[n, spaces.states if trajectory.final == UNREPORTED else trajectory.final]
    truth = defined(features, trajectory)
    np.testing.assert_allclose(dense(features, trajectory), truth, atol=1e-12)
    assert total == pytest.approx(weights @ truth, abs=1e-10)


class TestWidths:
    """Norms under a full matrix, so that features are correlated."""

    SPACES = Spaces(3, 2, 4)

    @staticmethod
    def matrix(dimension: int) -> Floats:
        root = np.random.default_rng(5).normal(size=(dimension, dimension + 2))
        return root @ root.T + 0.1 * np.eye(dimension)

    def widths(self, features: FeatureMap) -> tuple[Floats, Floats, Floats]:
        """Of the cells, after the end, and the inverse of the matrix they were taken under."""
        inverse = np.linalg.inv(self.matrix(features.dimension))

        def norms(rows: sparse.csr_array) -> Floats:
            full = rows.toarray()
            return np.sqrt(np.einsum("ij,jk,ik->i", full, inverse, full))

        return *features.widths(norms), inverse

    @pytest.mark.parametrize("over", SUBSETS, ids="+".join)
    @pytest.mark.parametrize("steps", [(0, 1, 2, 3), (1, 3)], ids=str)
    def test_one_hot(self, over: tuple[str, ...], steps: tuple[int, ...]) -> None:
        features = one_hot(self.SPACES, over, steps)
        cells, ended, inverse = self.widths(features)
        H, S, A = self.SPACES.shape
        for h, s, a in np.ndindex(H, S, A):
            phi = step_features(features, h, s, a)
            assert cells[h, s, a] == pytest.approx(np.sqrt(phi @ inverse @ phi))
        for h, e in np.ndindex(H + 1, S + 1):
            left = [step_features(features, g, e if e < S else None, None) for g in range(h, H)]
            total = sum(np.sqrt(phi @ inverse @ phi) for phi in left)
            assert ended[h, e] == pytest.approx(total)

    @pytest.mark.parametrize("with_steps", [True, False])
    def test_table(self, with_steps: bool) -> None:
        features = random_table(np.random.default_rng(2), self.SPACES, with_steps)
        cells, ended, inverse = self.widths(features)
        for h, s, a in np.ndindex(self.SPACES.shape):
            phi = features.values[h, s, a] if with_steps else features.values[s, a]
            assert cells[h, s, a] == pytest.approx(np.sqrt(phi @ inverse @ phi))
        assert not ended.any()

    def test_blocks_add_their_parts_and_bound_the_whole(self) -> None:
        coarse = one_hot(self.SPACES, ("state",), (0, 1, 2, 3))
        fine = one_hot(self.SPACES, ("step", "state"), (1, 2))
        table = random_table(np.random.default_rng(3), self.SPACES, True)
        features = Blocks(self.SPACES, (coarse, fine, table))
        cells, ended, inverse = self.widths(features)
        H, S, A = self.SPACES.shape
        first, second = coarse.dimension, coarse.dimension + fine.dimension

        def norms_of(phi: Floats) -> list[float]:
            parts = np.split(phi, [first, second])
            at = np.split(np.arange(features.dimension), [first, second])
            pairs = zip(parts, at, strict=True)
            return [float(np.sqrt(x @ inverse[np.ix_(i, i)] @ x)) for x, i in pairs]

        for h, s, a in np.ndindex(H, S, A):
            phi = np.concatenate(
                [*(step_features(part, h, s, a) for part in (coarse, fine)), table.values[h, s, a]]
            )
            assert cells[h, s, a] == pytest.approx(sum(norms_of(phi)))
            assert cells[h, s, a] >= np.sqrt(phi @ inverse @ phi) - 1e-12
        for h, e in np.ndindex(H + 1, S):
            total = 0.0
            for g in range(h, H):
                left = [step_features(part, g, e, None) for part in (coarse, fine)]
                total += sum(norms_of(np.concatenate([*left, np.zeros(table.dimension)])))
            assert ended[h, e] == pytest.approx(total)


class TestBlocks:
    SPACES = Spaces(2, 2, 3)
    PARTS = (
        one_hot(SPACES, ("state",), (0, 1, 2)),
        one_hot(SPACES, ("step", "action"), (0, 2)),
        random_table(np.random.default_rng(1), SPACES, with_steps=False),
    )

    def test_a_row_is_the_parts_rows_in_sequence(self) -> None:
        features = Blocks(self.SPACES, self.PARTS)
        sizes = [part.dimension for part in self.PARTS]
        assert features.dimension == sum(sizes)
        assert features.offsets.tolist() == [0, sizes[0], sizes[0] + sizes[1], sum(sizes)]
        rng = np.random.default_rng(4)
        for _ in range(20):
            trajectory = random_trajectory(rng, self.SPACES)
            own = np.concatenate([dense(part, trajectory) for part in self.PARTS])
            np.testing.assert_array_equal(dense(features, trajectory), own)

    def test_one_part_alone_changes_nothing(self) -> None:
        for part in self.PARTS:
            features = Blocks(self.SPACES, (part,))
            weights = np.random.default_rng(5).normal(size=part.dimension)
            np.testing.assert_array_equal(features.spread(weights), part.spread(weights))
            np.testing.assert_array_equal(features.remainders(weights), part.remainders(weights))
            assert features.largest_norm() == pytest.approx(part.largest_norm())


class TestLargestNorm:
    @settings(max_examples=200, deadline=None)
    @given(situations())
    def test_no_trajectory_is_longer(self, situation: tuple[FeatureMap, Trajectory, Floats]):
        features, trajectory, _ = situation
        norm = float(np.linalg.norm(defined(features, trajectory)))
        assert norm <= features.largest_norm() * (1.0 + 1e-12)

    @pytest.mark.parametrize("over", SUBSETS, ids="+".join)
    @pytest.mark.parametrize("steps", [(0, 1, 2, 3), (1, 3), (2,)], ids=str)
    def test_of_one_hot_maps_it_is_attained(
        self, over: tuple[str, ...], steps: tuple[int, ...]
    ) -> None:
        features = one_hot(Spaces(3, 2, 4), over, steps)
        constant = played([1, 1, 1, 1], [0, 0, 0, 0])
        norm = float(np.linalg.norm(defined(features, constant)))
        assert norm == pytest.approx(features.largest_norm())

    def test_of_a_table_it_is_attained_when_all_features_point_one_way(self) -> None:
        values = np.array([[[3.0, 4.0], [0.3, 0.4]]])  # one state; norms 5 and 0.5
        features = Table(Spaces(1, 2, 3), values)
        norm = np.linalg.norm(defined(features, played([0, 0, 0], [0, 0, 0])))
        assert features.largest_norm() == pytest.approx(float(norm)) == pytest.approx(15.0)

    def test_of_a_table_with_orthogonal_steps_it_is_attained(self) -> None:
        """Four steps with a unit vector of their own, halved: every trajectory has norm 1."""
        values = 0.5 * np.eye(4).reshape(4, 1, 1, 4) * np.array([1.0, -1.0]).reshape(1, 1, 2, 1)
        features = Table(Spaces(1, 2, 4), values)
        norm = np.linalg.norm(defined(features, played([0, 0, 0, 0], [0, 1, 1, 0])))
        assert features.largest_norm() == pytest.approx(float(norm)) == pytest.approx(1.0)

    @pytest.mark.parametrize("seed", range(30))
    def test_of_a_table_it_is_between_the_truth_and_the_sum_of_norms(self, seed: int) -> None:
        """All trajectories and all early ends, by enumeration."""
        rng = np.random.default_rng(seed)
        spaces, d = Spaces(2, 2, 3), int(rng.integers(1, 5))
        values = rng.normal(size=(3, 2, 2, d)) + rng.normal(scale=2.0, size=d)
        steps = values.reshape(3, 4, d)
        norms = [
            np.linalg.norm(sum(steps[h, cell] for h, cell in enumerate(cells)))
            for length in (1, 2, 3)
            for cells in itertools.product(range(4), repeat=length)
        ]
        bound = Table(spaces, values).largest_norm()
        assert max(norms) <= bound * (1 + 1e-12)
        assert bound <= np.linalg.norm(steps, axis=-1).max(axis=1).sum() * (1 + 1e-12)

    def test_of_a_table_whose_steps_oppose_each_other_it_is_below_the_sum_of_norms(self) -> None:
        values = np.array([[[[3.0, 0.0]]], [[[-2.0, 1.0]]], [[[0.0, 1.0]]]])
        assert Table(Spaces(1, 1, 3), values).largest_norm() == pytest.approx(3.0)

    def test_of_a_large_table_it_is_still_a_bound(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without the pairs of steps, by coordinates: tight where each has its own sign."""
        monkeypatch.setattr(table_module, "MOST_PRODUCTS", 0.0)
        values = np.array([[[[2.0, 0.0]]], [[[0.0, 2.0]]], [[[1.0, 1.0]]]])
        assert Table(Spaces(1, 1, 3), values).largest_norm() == pytest.approx(np.sqrt(18.0))

    def test_of_a_table_with_steps_it_adds_the_largest_of_each_sign(self) -> None:
        """Either 2 + 1, or -7 and an early end."""
        values = np.array([[[[2.0], [-7.0]]], [[[1.0], [0.5]]]])
        assert Table(Spaces(1, 2, 2), values).largest_norm() == pytest.approx(7.0)


def test_the_full_map_of_a_large_problem_needs_no_square_matrix() -> None:
    """18000 features: their covariance alone would take 2.6 GB."""
    states, actions, horizon = 150, 4, 30
    data = {
        "states": states,
        "actions": actions,
        "horizon": horizon,
        "features": {"kind": "one_hot", "over": ["step", "state", "action"]},
        "seed": 1,
    }
    agent = make_agent(parse(AgentSpec, data))
    assert agent.beliefs[0].features.dimension == 18_000
    rng = np.random.default_rng(3)
    for episode in range(5):
        s, a = rng.integers(states, size=horizon), rng.integers(actions, size=horizon)
        agent.finish(episode, Trajectory(s, a))
        agent.label(episode, episode % 2)
    tracemalloc.start()
    try:
        plan = agent.plan(5)  # fits, samples weights and plans for them
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert agent.beliefs[0].follow(agent.experience).fit.converged
    assert plan.gap <= agent.options.epsilon
    assert peak < 100e6


@pytest.mark.parametrize("field", ["states", "actions", "horizon"])
@pytest.mark.parametrize("size", [0, -1])
def test_empty_spaces_are_refused(field: str, size: int) -> None:
    with pytest.raises(InvalidValue) as caught:
        Spaces(**({"states": 2, "actions": 2, "horizon": 2} | {field: size}))
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("over", "steps", "field"),
    [
        ((), (0, 1), "features.over"),
        (("state",), (), "features.steps"),
        (("state",), (0, 4), "features.steps"),
        (("state",), (-1, 0), "features.steps"),
        (("state",), (1, 1), "features.steps"),
        (("state",), (2, 1), "features.steps"),
    ],
)
def test_improper_one_hot_maps_are_refused(
    over: tuple[str, ...], steps: tuple[int, ...], field: str
) -> None:
    with pytest.raises(InvalidValue) as caught:
        one_hot(Spaces(3, 2, 4), over, steps)
    assert caught.value.field == field


@pytest.mark.parametrize(
    "values",
    [
        np.zeros((3, 2)),
        np.zeros((2, 3, 1)),
        np.zeros((3, 3, 2, 1)),
        np.zeros((4, 3, 2, 1, 1)),
        np.zeros((3, 2, 0)),
        np.zeros(()),
        np.full((3, 2, 1), np.nan),
        np.full((4, 3, 2, 1), np.inf),
        np.full((3, 2, 1), 1e-10),
        np.full((3, 2, 1), -1e10),
    ],
    ids=[
        "flat",
        "swapped",
        "steps",
        "deep",
        "none",
        "number",
        "nan",
        "infinite",
        "tiny",
        "huge",
    ],
)
def test_improper_tables_are_refused(values: Floats) -> None:
    with pytest.raises(InvalidValue) as caught:
        Table(Spaces(3, 2, 4), values)
    assert caught.value.field == "features.values"
