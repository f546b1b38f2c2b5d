"""The paper's supporting lemmas, each held against what it speaks of.

Lemmas on probabilities are checked on many runs with fixed seeds: the share of runs that break
the bound must be within what the lemma allows, and some runs must come near it where that can be
seen. They are what the algorithms' constants rest on.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import linalg
from scipy.special import expit

from app.learning.paper.confidence import kappa, xi
from app.learning.paper.explorability import condition_bound
from app.learning.spaces import Spaces
from app.learning.trajectory import Trajectory
from app.learning.world.model import TransitionModel
from app.learning.world.transitions import TransitionCounts
from app.planning.policies.uniform import UniformPolicy
from app.planning.problem import PlanningProblem
from app.planning.reference.exact import plan_exact
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
    bound = 2 * zeta * np.sqrt(T * np.log(6 * np.log(T) / DELTA))
    sums = np.cumsum(steps, axis=1)[:, 1:]
    broken = (sums > bound).any(axis=1).mean()
    assert broken <= DELTA
    # It is not far out of reach either, for steps that are as large as they may be.
    assert law == "rare" or (sums / bound).max() > 0.5


def test_matrix_martingales():
    """P(exists k: lambda_max(Y_k) >= x, ||W_k|| <= V) <= d exp(-x^2 / 2 / (V + R x / 3))."""
    rng, runs, length, d = np.random.default_rng(2), 3000, 40, 3
    directions = rng.normal(size=(length, d))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    parts = np.einsum("kd,ke->kde", directions, directions)  # X_k = sign * part, and R = 1
    variation = np.linalg.norm(np.cumsum(parts @ parts, axis=0)[-1], 2)
    signs = rng.choice([-1.0, 1.0], size=(runs, length))
    paths = np.cumsum(signs[..., None, None] * parts, axis=1)
    largest = np.linalg.eigvalsh(paths)[..., -1].max(axis=1)
    for x in np.linspace(1.0, 14.0, 14):
        allowed = d * np.exp(-(x**2) / 2 / (variation + x / 3))
        assert (largest >= x).mean() <= allowed
    assert largest.max() > 8.0


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
        assert total <= 2 * max(1.0, 1.0 / ridge) * grown
        assert np.linalg.slogdet(sigma)[1] - d * np.log(ridge) <= grown * (1 + 1e-12)


def test_a_ratio_of_quadratic_forms_is_at_most_that_of_the_determinants():
    """sup_x x'Bx / x'Cx <= det B / det C for B >= C > 0; equal where B - C has rank one."""
    rng = np.random.default_rng(4)
    for d in (1, 2, 5):
        root, more = rng.normal(size=(d, d)), rng.normal(size=d)
        C = root @ root.T + 0.1 * np.eye(d)
        near = C + np.outer(more, more)
        far = near + np.diag(rng.random(d))
        for B, equal in ((near, True), (far, d == 1)):
            largest = linalg.eigh(B, C, eigvals_only=True)[-1]  # of C^-1 B: the supremum
            ratio = np.linalg.det(B) / np.linalg.det(C)
            assert largest <= ratio * (1 + 1e-10)
            assert (largest == pytest.approx(ratio)) == equal


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
    table[: H - 1] = radius(counts.visits.reshape(S, A))
    return table


def fixed_policy_bonus(visits):
    """The paper's xi-bar with eta = 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log = H * np.log(S * A) + np.log(6 * np.log(np.maximum(visits, 2)) / DELTA)
        bonus = np.minimum(2.0, 4 * np.sqrt(log / visits))
    return np.where(visits > 0, bonus, 2.0)


def played(moves, start, episodes, rng):
    """The counts after some episodes of uniform play."""
    counts = TransitionCounts(Spaces(S, A, H))
    for _ in range(episodes):
        states, actions = [int(rng.random() < start[1])], []
        for _ in range(H):
            actions.append(int(rng.integers(A)))
            states.append(int(rng.random() < moves[states[-1], actions[-1], 1]))
        counts.add(Trajectory(np.array(states[:H]), np.array(actions), states[H]))
    return counts


@pytest.mark.parametrize("scale", [1.0, 0.02])
def test_values_in_the_estimate_and_in_the_truth(scale):
    """The two concentration lemmas, by enumeration of all histories in 60 worlds.

    For a fixed policy E_P[mu] - E_P^[mu] is at most E_P^ of the sum of bonuses; for every policy,
    so for one that is chosen to look good in the estimate, E_P^[mu] - E_P[mu] is at most E_P of
    larger ones. With two hundredths of the bonuses both fail somewhere.
    """
    rng, broken = np.random.default_rng(5), np.zeros(2, dtype=int)
    for _, episodes in itertools.product(range(20), (2, 20, 200)):
        moves, start = rng.dirichlet(np.ones(S), size=(S, A)), rng.dirichlet(np.ones(S))
        counts = played(moves, start, episodes, rng)
        truth = TransitionModel.from_dense(moves.reshape(S * A, S), S, A)
        weights, none = rng.normal(size=(H, S, A)), np.zeros((H, S, A))
        small = scale * bonus_table(counts, fixed_policy_bonus)
        large = scale * bonus_table(counts, lambda n: xi(n, S, A, H, 1000, DELTA))
        estimate = counts.estimate()
        real, fixed = problem(truth, start, weights, none), UniformPolicy(A)
        in_estimate = policy_value(problem(estimate, start, weights, small), fixed)
        broken[0] += policy_value(real, fixed) > in_estimate + 1e-12
        chosen = plan_exact(problem(estimate, start, weights, none))
        in_truth = policy_value(problem(truth, start, weights, large), chosen.policy)
        broken[1] += chosen.value > in_truth + 1e-3  # epsilon = 1/N of the lemma
    assert (broken == 0).all() if scale == 1.0 else (broken > 0).all()


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

    def test_the_union_bound_of_the_first_lemma_needs_as_many_pairs_as_steps(self):
        for pairs, horizon in itertools.product(range(1, 12), repeat=2):
            needed = (horizon - 1) * np.log(pairs) + np.log(horizon)
            assert (needed <= horizon * np.log(pairs) + 1e-12) == (horizon <= pairs)

    def test_visits_with_a_successor_add_up_to_more_than_the_episodes(self):
        rng = np.random.default_rng(7)
        counts = played(np.full((S, A, S), 0.5), np.array([1.0, 0.0]), 9, rng)
        assert counts.visits.sum() == 9 * H  # the last step is counted too
        assert 9 * (H - 1) > 9

    def test_psi_falls_before_it_grows(self):
        near, later, far = (condition_bound(3, 10**6, 0.5, t, 1000) for t in (1002, 1e4, 1e6))
        assert near > later < far
