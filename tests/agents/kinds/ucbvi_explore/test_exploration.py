"""Algorithm 2 in worlds whose truth is enumerated: what the lemma says, and where it cannot."""

import itertools

import numpy as np
import pytest

from app.agents.kinds.ucbvi_explore import exploration as module
from app.agents.kinds.ucbvi_explore.exploration import Exploration, ExplorationSize, Knowledge
from app.errors import SnapshotError
from app.learning.features.one_hot import OneHot
from app.learning.features.table import Table
from app.learning.paper.explorability import REACHED, loop_bound, mixture_bound
from app.learning.trajectory import Trajectory
from app.learning.world.transitions import TransitionCounts
from tests.learning.worlds import World, explorable, far

EPISODES = 10**5  # N of the bounds


def knowledge(world, counts):
    return Knowledge.of(counts, world.start)


def begin(world, features, size, seed=0):
    counts = TransitionCounts(world.spaces)
    return counts, Exploration(features, size, seed, knowledge(world, counts))


def explore(world, features, size, seed=0, most=10**5):
    """Run Algorithm 2 to its end; the counts and the exploration."""
    counts, exploration = begin(world, features, size, seed)
    rng = np.random.default_rng([3, seed])
    while not exploration.is_done:
        assert exploration.episodes < most
        step(world, counts, exploration, rng)
    return counts, exploration


def step(world, counts, exploration, rng):
    if exploration.phase == "evaluation":
        table = exploration.policies[-1].actions
    else:
        table = exploration.plan(knowledge(world, counts)).policy.actions
    trajectory = world.play(lambda h, s: table[h, s], rng)
    counts.add(trajectory)
    exploration.observe(trajectory, lambda: knowledge(world, counts))


def moments(world, features, table):
    """E[phi] and E[phi phi^T] of an action table in the true world, in the paper's scale."""
    mean, second = np.zeros(features.dimension), np.zeros((features.dimension,) * 2)
    for chance, trajectory in world.paths(table):
        row = np.zeros(features.dimension)
        indices, values = features.row(trajectory)
        row[indices] = values / features.largest_norm()
        mean += chance * row
        second += chance * np.outer(row, row)
    return mean, second


def sizes(omega, most_loops, n_euler=30, n_eval=150, c=0.1):
    return ExplorationSize(omega, n_euler, n_eval, most_loops, c)


class TestPlan:
    """What a plan of exploration says of itself: how far it expects to get in its direction."""

    def expected(self, world, counts, exploration, table):
        """v . E[phi] of an action table in the estimate, by enumeration."""
        S, A, _ = world.moves.shape
        moves = counts.estimate().dense()[:, :S].reshape(S, A, S)
        mean, _ = moments(World(world.start, moves, world.horizon), exploration.features, table)
        return float(exploration.direction @ mean)

    @pytest.mark.parametrize("world_of", [lambda: explorable(2, 1, 3, 2), far])
    def test_in_both_phases(self, monkeypatch, world_of):
        world, features, omega = world_of()
        counts, exploration = begin(world, features, sizes(omega, 9, n_euler=3, n_eval=4))
        clock = itertools.count(5.0, 2.5)
        monkeypatch.setattr(module.time, "perf_counter", lambda: next(clock))
        rng, phases = np.random.default_rng(4), []
        for _ in range(7):
            plan = exploration.plan(knowledge(world, counts))
            phases.append(plan.planner)
            assert plan.seconds == 2.5
            found = self.expected(world, counts, exploration, plan.policy.actions)
            if plan.planner == "evaluation":
                assert plan.value == pytest.approx(min(found, plan.upper))
                assert plan.upper >= found - 1e-9
            else:
                cells = features.spread(exploration.direction) / features.largest_norm()
                most = float(np.abs(cells).max(axis=(1, 2)).sum())
                assert found - 1e-9 <= plan.value == plan.upper <= most + 1e-9
                assert plan.upper > most / 2
            table = plan.policy.actions
            trajectory = world.play(lambda h, s, table=table: table[h, s], rng)
            counts.add(trajectory)
            exploration.observe(trajectory, lambda: knowledge(world, counts))
        assert phases == ["euler"] * 3 + ["evaluation"] * 4

    @pytest.mark.parametrize("sign", [1.0, -1.0])
    def test_of_two_signs_the_one_that_can_be_reached(self, sign):
        """Counts of states are never negative."""
        world = explorable(2, 1, 3, 2)[0]
        features = OneHot(world.spaces, False, True, False, (0, 1, 2))
        counts, exploration = begin(world, features, sizes(0.2, 9))
        direction, _, value = exploration._better_sign(
            sign * np.array([0.6, 0.8]), knowledge(world, counts)
        )
        np.testing.assert_array_equal(direction, [0.6, 0.8])
        first = world.start @ [0.6, 0.8]  # then in the second state at both steps
        assert value == pytest.approx((first + 2 * 0.8) / 3)

    def test_of_two_signs_that_promise_the_same_the_given_one(self):
        world, features, omega = explorable(2, 1, 3, 2)
        counts, exploration = begin(world, features, sizes(omega, 9))
        for given in (np.array([0.0, 0.6, 0.8]), np.array([0.0, -0.6, -0.8])):
            direction, _, _ = exploration._better_sign(given, knowledge(world, counts))
            np.testing.assert_array_equal(direction, given)

    def test_rewards_are_in_the_scale_of_the_paper(self, monkeypatch):
        """v . phi_h, and what an ended episode still collects, divided by the largest norm."""
        world = explorable(2, 1, 3, 2)[0]
        features = OneHot(world.spaces, False, True, False, (0, 1, 2))
        counts, exploration = begin(world, features, sizes(0.2, 9))
        asked, original = [], module.plan_euler
        monkeypatch.setattr(
            module, "plan_euler", lambda *given: asked.append(given[0]) or original(*given)
        )
        exploration.plan(knowledge(world, counts))
        direction = exploration.direction
        np.testing.assert_allclose(asked[0].cells, features.spread(direction) / 3.0)
        np.testing.assert_allclose(asked[0].ended, features.remainders(direction) / 3.0)
        assert asked[0].ended.any()

    def test_a_direction_is_sought_if_it_can_be_reached_just_far_enough(self):
        """One step and a feature of 1 or -1: the promise is 1, and must be sqrt(3)/4 omega."""
        world = World(np.ones(1), np.ones((1, 2, 1)), 1)
        features = Table(world.spaces, np.array([[[[-1.0], [1.0]]]]))
        assert REACHED * (1 / REACHED) == 1.0
        for omega, phase in ((1 / REACHED, "euler"), (1.001 / REACHED, "done")):
            assert begin(world, features, sizes(omega, 9))[1].phase == phase


@pytest.mark.parametrize(
    ("shape", "seed"),
    [((2, 2, 2), 0), ((2, 1, 3), 2), ((3, 2, 3), 3), ((1, 3, 2), 4), ("far", 5), ("far", 6)],
)
class TestWhereEverythingCanBeReached:
    @pytest.fixture
    def found(self, shape, seed):
        world, features, omega = far() if shape == "far" else explorable(*shape, seed)
        bound = loop_bound(features.dimension, EPISODES, omega)
        _, exploration = explore(world, features, sizes(omega, int(bound)), seed)
        return world, features, omega, exploration

    def test_omega_is_what_it_is_said_to_be(self, found):
        """For every v the best policy is worth at least omega, and for some hardly more."""
        world, features, omega, _ = found
        rng, scale = np.random.default_rng(0), features.largest_norm()
        for _ in range(50):
            v = rng.normal(size=features.dimension)
            v /= np.linalg.norm(v)
            assert world.start @ world.best(features.spread(v) / scale)[0] >= omega - 1e-9
        pairs = features.dimension // world.horizon
        hardest = np.kron(np.eye(world.horizon), np.ones(pairs)) / np.sqrt(pairs)
        values = [world.start @ world.best(features.spread(v) / scale)[0] for v in hardest]
        assert min(values) == pytest.approx(omega)

    def test_the_lemma(self, found):
        """It ends in time, all is covered, and the true second moment is as large as it says.

        Two bounds: the lemma's own, and the one that its proof gives for the loops that were
        needed: omega^2 / (16 n) less the largest error of an a_n a_n^T.
        """
        world, features, omega, exploration = found
        d = features.dimension
        assert exploration.coverage.is_covered
        assert exploration.coverage.active is None
        assert d <= exploration.loops < loop_bound(d, EPISODES, omega)
        assert exploration.episodes == exploration.loops * exploration.size.per_loop
        second, errors = np.zeros((d, d)), []
        for policy, average in zip(
            exploration.policies, exploration.coverage.averages, strict=True
        ):
            mean, square = moments(world, features, policy.actions)
            second += square / exploration.loops
            errors.append(np.linalg.norm(np.outer(average, average) - np.outer(mean, mean), 2))
        least = np.linalg.eigvalsh(second)[0]
        assert least >= mixture_bound(d, EPISODES, omega)
        assert least >= omega**2 / (16 * exploration.loops) - max(errors)
        assert max(errors) < omega**2

    def test_every_loop_multiplies_the_determinant(self, found):
        """By more than 3/2, when its direction was reached: the heart of the lemma's proof."""
        _, _, omega, exploration = found
        d = exploration.features.dimension
        before = omega**2 / 16 * np.eye(d)
        reached = 0
        for average, along in zip(exploration.coverage.averages, exploration.reached, strict=True):
            after = before + np.outer(average, average)
            if along**2 >= 3 * omega**2 / 16:
                assert np.linalg.det(after) > 1.5 * np.linalg.det(before)
                reached += 1
            before = after
        assert reached >= d - 1


def chain(values):
    """Two states; the second is never entered. Features (H, S, A, d) of the client's."""
    moves = np.zeros((2, 2, 2))
    moves[0, :, 0] = 1.0
    moves[1, :, 1] = 1.0
    world = World(np.array([1.0, 0.0]), moves, len(values))
    return world, Table(world.spaces, values)


class TestWhereNotEverythingCanBeReached:
    def test_it_ends_and_says_which_direction(self):
        """The feature of the second state, the second of three, is out of reach."""
        values = np.zeros((2, 2, 2, 3))
        values[0, 0, :, 0] = values[1, 0, :, 2] = [1.0, -1.0]
        values[:, 1, :, 1] = 1.0
        world, features = chain(values)
        _, exploration = explore(world, features, sizes(0.25, 40, 20, 20))
        count, (direction,) = exploration.coverage.unreached(9)
        assert count == 1
        np.testing.assert_allclose(direction, np.eye(3)[1], atol=1e-9)
        assert exploration.loops < 10

    def test_a_difference_that_no_policy_makes_is_found(self):
        """One-hot features of two steps: as many are seen of the first as of the second."""
        world, _, _ = explorable(1, 1, 2)
        features = OneHot(world.spaces, True, False, True, (0, 1))
        _, exploration = explore(world, features, sizes(0.3, 40, 10, 10))
        count, (direction,) = exploration.coverage.unreached(9)
        assert count == 1
        np.testing.assert_allclose(np.abs(direction), 0.5, atol=1e-9)
        assert direction[:2] @ direction[2:] < 0
        assert exploration.loops <= 5

    def test_what_can_be_reached_is_found_among_what_cannot(self):
        """Two of 40 features can be reached; a random direction has hardly anything of them."""
        values = np.zeros((2, 2, 2, 40))
        values[0, 0, :, 7] = values[1, 0, :, 30] = [1.0, -1.0]
        values[:, 1, :, 1] = 1.0
        world, features = chain(values)
        _, exploration = explore(world, features, sizes(0.45, 40, 10, 10))
        count, found = exploration.coverage.unreached(40)
        assert count == 38
        np.testing.assert_allclose(np.array(found)[:, [7, 30]], 0.0, atol=1e-9)

    def test_the_cap_holds(self):
        world, features, omega = explorable(2, 2, 3, 5)
        _, exploration = explore(world, features, sizes(omega, 2, 5, 5))
        assert exploration.loops == 2
        assert exploration.episodes == 20
        assert exploration.coverage.unreached(9)[0] >= features.dimension - 2

    def test_features_that_are_all_zero_end_at_once(self):
        world, features = chain(np.zeros((2, 2, 2, 3)))
        _, exploration = begin(world, features, sizes(0.3, 40))
        assert exploration.is_done
        assert exploration.tables().shape == (0, 2, 2)
        assert exploration.coverage.unreached(9)[0] == 3


class TestEpisodes:
    def test_only_episodes_of_the_policy_are_evaluated(self):
        world, features, omega = explorable(2, 1, 2, 1)
        counts, exploration = begin(world, features, sizes(omega, 9, 3, 2))
        rng = np.random.default_rng(0)
        for _ in range(3):
            step(world, counts, exploration, rng)
        assert exploration.phase == "evaluation"
        table = exploration.policies[0].actions
        late = world.play(lambda h, s: 1 - table[h, s], rng)
        own = world.play(lambda h, s: table[h, s], rng)
        now = lambda: knowledge(world, counts)  # noqa: E731
        for trajectory in (late, own, late, late):
            exploration.observe(trajectory, now)
        assert (exploration.count, exploration.loops) == (1, 0)
        nothing = Trajectory(np.zeros(0, dtype=int), np.zeros(0, dtype=int))
        exploration.observe(nothing, now)
        assert exploration.count == 1
        exploration.observe(own, now)
        assert exploration.loops == 1
        row = np.zeros(features.dimension)
        indices, values = features.row(own)
        row[indices] = values / features.largest_norm()
        np.testing.assert_allclose(exploration.coverage.averages[0], row, atol=1e-12)
        assert exploration.episodes == 9

    def test_plans_need_no_label_and_bound_their_direction(self):
        world, features, omega = explorable(2, 2, 2, 0)
        counts, exploration = begin(world, features, sizes(omega, 9, 3, 2))
        rng, kinds = np.random.default_rng(0), []
        for _ in range(5):
            plan = exploration.plan(knowledge(world, counts))
            kinds.append(plan.planner)
            assert not plan.label_required
            assert plan.lower <= plan.value <= plan.upper
            step(world, counts, exploration, rng)
        assert kinds == ["euler"] * 3 + ["evaluation"] * 2


class TestSnapshots:
    def test_it_goes_on_bit_by_bit(self):
        world, features, omega = explorable(2, 2, 2, 0)
        counts, exploration = begin(world, features, sizes(omega, 9, 3, 2))
        rng = np.random.default_rng(0)
        for _ in range(23):
            twin = begin(world, features, exploration.size)[1]
            twin.load({key: value.copy() for key, value in exploration.arrays().items()})
            if not exploration.is_done:
                now = knowledge(world, counts)
                plans = [one.plan(now) for one in (exploration, twin)]
                assert (plans[0].policy.actions == plans[1].policy.actions).all()
            state = rng.bit_generator.state
            step(world, counts, exploration, rng)
            rng.bit_generator.state = state
            trajectory = world.play(lambda h, s, table=plans[0].policy.actions: table[h, s], rng)
            twin.observe(trajectory, lambda: knowledge(world, counts))
            for key, value in exploration.arrays().items():
                assert value.tobytes() == twin.arrays()[key].tobytes(), key

    def test_another_map_is_refused(self):
        world, features, omega = explorable(2, 2, 2, 0)
        _, exploration = begin(world, features, sizes(omega, 9))
        other = begin(*explorable(2, 1, 2, 0)[:2], sizes(omega, 9))[1]
        with pytest.raises(SnapshotError):
            other.load(exploration.arrays())
        with pytest.raises(SnapshotError):
            exploration.load({})
