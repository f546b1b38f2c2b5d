"""EULER: its bonus against decimals, its bounds against the truth, its policy against the best."""

from decimal import Decimal, getcontext

import numpy as np
import pytest

from app.learning.paper.euler import Bonus, KnownReward, confidence, plan_euler
from app.learning.spaces import Spaces
from app.learning.trajectory import Trajectory
from app.learning.world.model import TransitionModel
from app.learning.world.transitions import TransitionCounts
from tests.learning.worlds import counted, random_world


def reward_of(cells):
    H, S, _ = cells.shape
    return KnownReward(cells, np.zeros((H + 1, S + 1)))


def exact_bonus(variance, distance, n, c, span):
    """The formula as ALGORITHMS prints it, to 40 digits."""
    getcontext().prec = 40
    var, dist, n, c, r = (Decimal(str(x)) for x in (variance, distance, n, c, span))
    j, bp, bv = r * c / 3, r * (2 * c).sqrt(), (2 * c).sqrt()
    first = (2 * var * c / n).sqrt() + j / (n - 1)
    return first + ((4 * j + bp) / n.sqrt() + bv * dist) / n.sqrt()


class TestBonus:
    @pytest.mark.parametrize(
        ("variance", "distance", "n", "c", "span"),
        [
            (0.25, 0.5, 10, 12.5, 2),
            (0, 0, 2, 1, 2),
            (1.5, 1.75, 12345, 17.25, 2),
            (0.1, 3, 7, 2, 1),
        ],
    )
    def test_is_the_formula(self, variance, distance, n, c, span):
        expected = float(exact_bonus(variance, distance, n, c, span))
        assert Bonus(n, c, span)(variance, distance) == pytest.approx(expected, rel=1e-13)

    def test_by_hand(self):
        """n = 4, c = 2, R = 3: J = 2, Bp = 6, Bv = 2; 1/2 + 2/3 + ((8 + 6)/2 + 2/2)/2."""
        assert Bonus(4, 2.0, 3.0)(0.25, 0.5) == pytest.approx(0.5 + 2 / 3 + 4.0, rel=1e-14)

    def test_nothing_is_known_from_one_successor(self):
        assert np.isinf(Bonus([0.0, 1.0], 3.0, 2.0)(0.0, 0.0)).all()

    def test_the_confidence_is_a_logarithm(self):
        getcontext().prec = 40
        expected = (4 * Decimal(6) * 3 * 20000 / Decimal("0.05")).ln()
        assert confidence(6, 3, 20000.0, 0.05) == pytest.approx(float(expected), rel=1e-14)


class TestRanges:
    """What can still be collected, by enumeration: any state or end may follow any step."""

    def collected(self, reward, first, step):
        """All sums from a step on that begins with the reward ``first``."""
        H = len(reward.cells)
        if step == H - 1:
            return [first]
        ends = [first + end for end in reward.ended[step + 1]]
        for cell in reward.cells[step + 1].ravel():
            ends += [first + rest for rest in self.collected(reward, cell, step + 1)]
        return ends

    @pytest.mark.parametrize("seed", range(6))
    def test_bounds_and_span(self, seed):
        rng = np.random.default_rng([8, seed])
        ended = np.zeros((4, 3))
        ended[1:3] = rng.normal(size=(2, 3)) * rng.choice([0.1, 3.0])
        reward = KnownReward(rng.normal(size=(3, 2, 2)) + rng.normal(size=(3, 1, 1)), ended)
        least, most = reward.bounds()
        widths = []
        for step in range(3):
            sums = []
            for place in np.ndindex(2, 2):
                own = self.collected(reward, reward.cells[step][place], step)
                assert least[step][place] == pytest.approx(min(own))
                assert most[step][place] == pytest.approx(max(own))
                sums += own
            widths.append(max(sums) - min(sums))
        assert reward.span() == pytest.approx(max(widths))


def naive(reward, model, counts, c, span):
    """EULER one number at a time, from the dense matrix."""
    H, S, A = reward.cells.shape
    matrix = model.dense()
    least, most = np.zeros((2, H + 1))
    for h in range(H - 1, -1, -1):
        after = list(reward.ended[h + 1]) if h < H - 1 else [0.0]
        least[h] = reward.cells[h].min() + (min(least[h + 1], *after) if h < H - 1 else 0.0)
        most[h] = reward.cells[h].max() + (max(most[h + 1], *after) if h < H - 1 else 0.0)
    up, low = np.zeros((2, H, S))
    for h in range(H - 1, -1, -1):
        for s in range(S):
            ways = []
            for a in range(A):
                r, n = reward.cells[h, s, a], counts[s * A + a]
                if h == H - 1:
                    ways.append((r, n, a, r))
                    continue
                ends = reward.ended[h + 1]
                best = r + max(most[h + 1], ends.max())
                worst = r + min(least[h + 1], ends.min())
                if n < 2:
                    ways.append((best, n, a, worst))
                    continue
                p = matrix[s * A + a]
                v, w = np.concatenate([up[h + 1], ends]), np.concatenate([low[h + 1], ends])
                gap = np.sqrt(sum(p * (v - w) ** 2))
                v_var, w_var = (sum(p * (x - sum(p * x)) ** 2) for x in (v, w))
                above = r + sum(p * v) + float(exact_bonus(v_var, gap, n, c, span))
                below = r + sum(p * w) - float(exact_bonus(w_var, gap, n, c, span))
                ways.append((min(best, above), n, a, max(worst, below)))
            top = max(way[0] for way in ways)
            chosen = min((way for way in ways if way[0] > top - 1e-12), key=lambda way: way[1:3])
            up[h, s], low[h, s] = chosen[0], chosen[3]
    return up, low


class TestPlan:
    def test_only_allowed_actions_are_taken(self):
        """Action 1 is worth more at every step, and not possible in state 0."""
        cells = np.zeros((3, 2, 2))
        cells[:, :, 1] = 1.0
        allowed = np.array([[True, False], [True, True]])
        world = random_world(1, states=2)
        counts = counted(world, 0, np.random.default_rng(0))
        given = reward_of(cells), counts.estimate(), np.zeros(4), 1.0, 3.0
        plan = plan_euler(*given, allowed)
        assert plan.actions.tolist() == [[0, 1]] * 3
        assert plan.upper[2].tolist() == [0.0, 1.0]
        assert plan_euler(*given).actions.tolist() == [[1, 1]] * 3

    @pytest.mark.parametrize("seed", range(12))
    def test_is_the_recursion(self, seed):
        """With ends, ends that nobody located, and rows that were never or hardly seen."""
        rng = np.random.default_rng(seed)
        S, A, H = 3, 2, 4
        counts = TransitionCounts(Spaces(S, A, H))
        for _ in range(12):
            n = int(rng.integers(1, H + 1))
            final = int(rng.integers(-1, S))
            states, actions = rng.integers(S, size=n), rng.integers(A, size=n)
            counts.add(Trajectory(states, actions, final, bool(n < H)))
        ended = np.zeros((H + 1, S + 1))
        ended[1:H] = rng.normal(size=(H - 1, S + 1)) / 4
        reward = KnownReward(rng.normal(size=(H, S, A)) / 4, ended)
        known = counts.successors()
        plan = plan_euler(reward, counts.estimate(), known, 0.01, 2.0)
        up, low = naive(reward, counts.estimate(), known, 0.01, 2.0)
        np.testing.assert_allclose(plan.upper, up, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(plan.lower, low, rtol=1e-9, atol=1e-12)

    def test_the_best_and_the_worst_hold_the_truth(self):
        world = random_world(3)
        rewards = np.random.default_rng(0).normal(size=(4, 3, 2))
        least, most = reward_of(rewards).bounds()
        best = world.best(rewards)
        worst = -world.best(-rewards)
        assert (most.max(axis=2) >= best - 1e-12).all()
        assert (least.min(axis=2) <= worst + 1e-12).all()
        assert reward_of(rewards).span() >= (best - worst).max()

    def test_without_any_counts_everything_is_possible(self):
        nothing = TransitionModel(2, 2, np.zeros(5), np.zeros(0), np.zeros(0))
        rewards = np.array([[[0.0, 0.1], [0.2, 0.0]], [[0.5, -0.5], [0.0, 0.0]]])
        plan = plan_euler(reward_of(rewards), nothing, np.zeros(4), 1.0, 2.0)
        assert plan.upper.tolist() == [[0.6, 0.7], [0.5, 0.0]]
        assert plan.lower.tolist() == [[-0.4, -0.3], [0.5, 0.0]]

    def test_of_equal_promises_the_one_tried_least_is_taken(self):
        nothing = TransitionModel(1, 3, np.zeros(4), np.zeros(0), np.zeros(0))
        plan = plan_euler(reward_of(np.zeros((2, 1, 3))), nothing, np.array([1, 0, 1.0]), 1.0, 2.0)
        assert plan.actions.tolist() == [[1], [1]]

    def test_optimism_holds(self):
        """V_up >= V* >= V_low in all states and steps at once, but with probability delta.

        400 worlds at delta = 0.1; were each wrong with that probability, more than 65 would be
        with probability below 1e-4 (binomial). The bounds must also not be trivial.
        """
        delta, wrong, tight, worlds = 0.1, 0, 0, 400
        for seed in range(worlds):
            rng = np.random.default_rng([5, seed])
            world = random_world(seed, horizon=3)
            episodes = int(rng.choice([10, 100]))
            counts = counted(world, episodes, rng) if episodes == 10 else scaled(world, rng, 30000)
            rewards = rng.normal(size=(3, 3, 2)) / 6
            reward = reward_of(rewards)
            c = confidence(3, 2, 3.0 * episodes, delta)
            plan = plan_euler(reward, counts.estimate(), counts.successors(), c, reward.span())
            best = world.best(rewards)
            wrong += (plan.upper < best - 1e-9).any() or (plan.lower > best + 1e-9).any()
            tight += (plan.upper - plan.lower).max() < 0.5 * reward.span()
        assert wrong <= 65
        assert tight > 0.4 * worlds

    @pytest.mark.parametrize("seed", range(4))
    def test_the_policy_becomes_the_best(self, seed):
        """Episodes of its own, by the formula to the letter but for a smaller confidence."""
        world = random_world(seed)
        rng = np.random.default_rng(seed)
        rewards = rng.uniform(size=(4, 3, 2)) / 4
        reward, counts = reward_of(rewards), TransitionCounts(world.spaces)
        worth = []
        for _ in range(250):
            plan = plan_euler(reward, counts.estimate(), counts.successors(), 0.05, reward.span())
            worth.append(world.value(rewards, plan.actions))
            counts.add(world.play(lambda h, s, table=plan.actions: table[h, s], rng))
        best = float(world.start @ world.best(rewards)[0])
        spread = best + float(world.start @ world.best(-rewards)[0])
        assert best - np.mean(worth[-50:]) < 0.03 * spread
        assert best - worth[-1] < 0.03 * spread


def scaled(world, rng, times):
    """Counts as of ``times`` tries of every action, without the wait."""
    counts = TransitionCounts(world.spaces)
    S, A, _ = world.moves.shape
    keys, found = [], []
    for row in range(S * A):
        drawn = rng.multinomial(times, world.moves.reshape(S * A, S)[row])
        keys += [row * (2 * S + 1) + s for s in range(S) if drawn[s]]
        found += [n for n in drawn if n]
    counts.load(
        {
            "keys": np.array(keys),
            "counts": np.array(found),
            "visits": np.full(S * A, times),
            "starts": np.ones(S, dtype=np.int64),
        }
    )
    return counts
