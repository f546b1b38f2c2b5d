"""The paper's supporting lemmas, each held against what it speaks of.

Lemmas on probabilities are checked on many runs with fixed seeds: the share of runs that break
the bound must be within what the lemma allows, and some runs must come near it where that can be
seen. They are what the algorithms' constants rest on.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import expit

from app.learning.paper.confidence import kappa, xi
from app.learning.paper.explorability import condition_bound
from app.learning.paper.regret_bounds import coin_bound, martingale_bound, potential_bound
from app.learning.spaces import Spaces
from app.learning.trajectory import UNREPORTED, Trajectory
from app.learning.world.model import TransitionModel
from app.learning.world.transitions import TransitionCounts
from app.planning.policies.uniform import UniformPolicy
from app.planning.problem import PlanningProblem
from benchmarks.exact import plan_exact
from benchmarks.policy_value import policy_value

DELTA = 0.1


@pytest.mark.parametrize("law", ["signs", "rare"])
def test_martingales_stay_below_their_bound_at_all_times(law):
    """sum x_t <= 2 zeta sqrt(T log(6 log(T) / delta)) for all T, but for a share delta of runs.

    From T = 2 on: at 1 the logarithm of 0 would be taken.
    """
    rng, runs, length = np.random.default_rng(1), 2000, 1000
    if law == "signs":
        steps, zeta = rng.choice([-1.0, 1.0], size=(runs, length)), 1.0
    else:
        steps, zeta = (rng.random((runs, length)) < 0.05) - 0.05, 0.95
    T = np.arange(2, length + 1)
    bound = np.array([martingale_bound(float(t), zeta, DELTA) for t in T])
    sums = np.cumsum(steps, axis=1)[:, 1:]
    broken = (sums > bound).any(axis=1).mean()
    assert broken <= DELTA
    # It is not far out of reach either, for steps that are as large as they may be.
    assert law == "rare" or (sums / bound).max() > 0.5


def test_the_coins_stay_below_their_bound():
    """Event E_4, which the matrix Freedman inequality gives: how often t^(-1/3) coins fall."""
    rng, runs, length = np.random.default_rng(2), 400, 3000
    coins = rng.random((runs, length)) < np.arange(1, length + 1) ** (-1.0 / 3.0)
    explored = coins.sum(axis=1)
    assert (explored > coin_bound(length, DELTA)).mean() <= DELTA
    # Without its first term the bound is less than three times what is reached.
    assert explored.max() > (coin_bound(length, DELTA) - coin_bound(0, DELTA)) / 3


@pytest.mark.parametrize("ridge", [0.1, 1.0, 30.0])
def test_the_determinant_lemma(ridge):
    """Sums of squared norms, and the determinant, grow with the logarithm of T."""
    rng = np.random.default_rng(3)
    for d, T in itertools.product((1, 3, 6), (1, 5, 200)):
        rows = rng.normal(size=(T, d))
        rows /= np.maximum(np.linalg.norm(rows, axis=1), 1.0)[:, None]
        sigma, total = ridge * np.eye(d), 0.0
        for row in rows:
            total += row @ np.linalg.solve(sigma, row)
            sigma += np.outer(row, row)
        grown = d * np.log1p(T / (ridge * d))
        assert total <= potential_bound(d, ridge, T)
        assert np.linalg.slogdet(sigma)[1] - d * np.log(ridge) <= grown * (1 + 1e-12)


S, A, H = 2, 2, 3


def problem(model, start, weights, bonuses):
    return PlanningProblem(
        start=start,
        transitions=model,
        weights=weights,
        bonuses=bonuses,
        ended_weights=np.zeros((H + 1, S + 1)),
    )


def bonus_table(counts, radius):
    """A bonus at all steps but the last, which leads nowhere."""
    table = np.zeros((H, S, A))
    table[: H - 1] = radius(counts.successors().reshape(S, A))
    return table


def fixed_policy_bonus(visits):
    """The paper's xi-bar with eta = 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log = H * np.log(S * A) + np.log(6 * np.log(np.maximum(visits, 2)) / DELTA)
        bonus = np.minimum(2.0, 4 * np.sqrt(log / visits))
    return np.where(visits > 0, bonus, 2.0)


def played(moves, start, episodes, rng):
    """The counts after some episodes of uniform play, half of which report where they ended."""
    counts = TransitionCounts(Spaces(S, A, H))
    for _ in range(episodes):
        states, actions = [int(rng.random() < start[1])], []
        for _ in range(H):
            actions.append(int(rng.integers(A)))
            states.append(int(rng.random() < moves[states[-1], actions[-1], 1]))
        final = states[H] if rng.random() < 0.5 else UNREPORTED
        counts.add(Trajectory(np.array(states[:H]), np.array(actions), final))
    return counts


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_values_in_the_estimate_and_in_the_truth(scale):
    """The two concentration lemmas, by enumeration of all histories in 60 worlds.

    For a fixed policy E_P[mu] - E_P^[mu] is at most E_P^ of the sum of the bonuses xi; for every
    policy, so for one that is chosen to look good in the estimate, E_P^[mu] - E_P[mu] is at most
    E_P of that sum. With a hundredth of the bonuses both fail somewhere.
    """
    rng, broken = np.random.default_rng(5), np.zeros(2, dtype=int)
    for _, episodes in itertools.product(range(20), (2, 20, 200)):
        moves, start = rng.dirichlet(np.ones(S), size=(S, A)), rng.dirichlet(np.ones(S))
        counts = played(moves, start, episodes, rng)
        truth = TransitionModel.from_dense(moves.reshape(S * A, S), S, A)
        weights, none = rng.normal(size=(H, S, A)), np.zeros((H, S, A))
        bonuses = scale * bonus_table(counts, lambda n: xi(n, S, A, H, 1000, DELTA))
        estimate = counts.estimate()
        real, fixed = problem(truth, start, weights, none), UniformPolicy(A)
        in_estimate = policy_value(problem(estimate, start, weights, bonuses), fixed)
        broken[0] += policy_value(real, fixed) > in_estimate + 1e-12
        chosen = plan_exact(problem(estimate, start, weights, none))
        in_truth = policy_value(problem(truth, start, weights, bonuses), chosen.policy)
        broken[1] += chosen.value > in_truth + 1e-3  # epsilon = 1/N of the lemma
    assert (broken == 0).all() if scale == 1.0 else (broken > 0).all()


@pytest.mark.parametrize("visits", [30, 400, 10**6])
def test_xi_covers_the_bonuses_of_both_lemmas(visits):
    """xi >= xi-bar(1), and 2 H xi = xi-check(1/N; 2 H), printed formulas worked out here."""
    episodes = 1000
    bonus = float(xi(visits, S, A, H, episodes, DELTA))
    assert bonus >= float(fixed_policy_bonus(np.array(visits)))
    net = S * np.log(np.ceil(4 * (2 * H) * H * episodes))
    log = H * np.log(S * A * H) + net + np.log(6 * np.log(visits) / DELTA)
    check = min(4 * H, 8 * H * np.sqrt(log / visits))
    assert 2 * H * bonus == pytest.approx(check, rel=1e-12)


def test_a_tenth_of_xi_is_not_enough():
    """Two states and steps, one action: P_hat strays further than a tenth of xi, never than xi."""
    rng, visits = np.random.default_rng(8), 100
    strays = abs(rng.binomial(visits, 0.5, size=20_000) / visits - 0.5)
    bonus = float(xi(visits, 2, 1, 2, 1, 1.0))
    assert bonus < 2.0
    assert (strays <= bonus).all()
    assert (strays > bonus / 10).any()


def test_optimism():
    """Events E_1: the best value in the estimate with all bonuses is above the true optimum."""
    rng = np.random.default_rng(6)
    for episodes in (1, 10, 100):
        moves, start = rng.dirichlet(np.ones(S), size=(S, A)), rng.dirichlet(np.ones(S))
        counts = played(moves, start, episodes, rng)
        weights, none = rng.normal(size=(H, S, A)), np.zeros((H, S, A))
        truth = TransitionModel.from_dense(moves.reshape(S * A, S), S, A)
        best = plan_exact(problem(truth, start, weights, none))
        bonuses = bonus_table(counts, lambda n: xi(n, S, A, H, 1000, DELTA))
        hoped = plan_exact(problem(counts.estimate(), start, weights, bonuses))
        assert 0.0 < expit(-abs(weights).sum()) < best.value <= hoped.value


class TestWhatDoesNotHoldAsPrinted:
    """Slips of the text, each with numbers that show it; the page on the paper lists them."""

    def test_kappa_is_above_its_bound(self):
        assert kappa(2.0) > np.exp(2.0) + 2.0

    def test_xi_bar_may_be_too_small_for_its_union_bound_and_xi_is_not(self):
        visits = 10**6
        for pairs, horizon in itertools.product(range(1, 12), repeat=2):
            needed = (horizon - 1) * np.log(pairs) + np.log(horizon)
            assert (needed <= horizon * np.log(pairs) + 1e-12) == (horizon <= pairs)
            whole = 4 * np.sqrt((needed + np.log(6 * np.log(visits) / DELTA)) / visits)
            assert xi(visits, 1, pairs, horizon, 1, DELTA) > whole

    def test_visits_with_a_successor_add_up_to_more_than_the_episodes(self):
        counts = TransitionCounts(Spaces(S, A, H))
        for _ in range(9):
            counts.add(Trajectory(np.zeros(H, dtype=int), np.zeros(H, dtype=int), UNREPORTED))
        assert counts.visits.sum() == 9 * H  # the last step is counted too
        assert counts.successors().sum() == 9 * (H - 1)

    def test_psi_falls_before_it_grows(self):
        near, later, far = (condition_bound(3, 10**6, 0.5, t, 1000) for t in (1002, 1e4, 1e6))
        assert near > later < far
