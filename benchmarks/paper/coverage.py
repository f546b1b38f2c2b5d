"""How often the paper's confidence event holds, and how much smaller its radius could be.

    |mu(w* . phi(tau)) - mu(w_hat_t . phi(tau))| <= sqrt(kappa) beta_t ||phi(tau)||_{Sigma_t^-1}

for all episodes t <= N and all trajectories tau. Every run draws w* on the sphere of radius B. One
episode in two is drawn uniformly, the other is the trajectory that looks best with optimism, so
that what is labelled depends on the labels before, as in the algorithms.
"""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import beta as beta_law

from app.learning.arrays import Floats
from app.learning.features.one_hot import OneHot
from app.learning.logistic.estimate import LogisticEstimator
from app.learning.logistic.labelled import LabelledTrajectories
from app.learning.paper.confidence import beta, kappa
from app.learning.randomness import generator
from app.learning.spaces import Spaces
from app.learning.trajectory import Trajectory
from benchmarks.records import Columns

Record = dict[str, Any]

SPACES = Spaces(2, 2, 2)
BOUND, EPISODES = 3.0, 100
DELTAS = (0.5, 0.2, 0.1, 0.05, 0.01)
COLUMNS = {
    "seed": "of the weights, the choices and the labels",
    "episode": "t, counted from 1",
    "label": "1 good, 0 bad",
    "error": "the largest |mu(w*.phi) - mu(w_hat_t.phi)| / (sqrt(kappa) ||phi||_{Sigma_t^-1}) of "
    "all trajectories; the event holds where it is at most beta_t(delta)",
}
_WORLD = 302  # address of the generators


@cache
def trajectories() -> Floats:
    """phi of every trajectory, directly parametrised and scaled to norm 1, (K, d)."""
    S, A, H = SPACES.states, SPACES.actions, SPACES.horizon
    features = OneHot(SPACES, True, True, True, tuple(range(H)))
    rows = []
    for pairs in itertools.product(itertools.product(range(S), range(A)), repeat=H):
        states, actions = np.array(pairs).T
        columns, values = features.row(Trajectory(states, actions))
        row = np.zeros(features.dimension)
        row[columns] = values
        rows.append(row / features.largest_norm())
    return np.array(rows)


def measure(seed: int) -> list[Record]:
    """One run, a row an episode: the largest error in units of what beta_t multiplies."""
    rng, phi = generator(seed, _WORLD), trajectories()
    d = phi.shape[1]
    truth = rng.normal(size=d)
    truth *= BOUND / float(np.linalg.norm(truth))
    means, k = expit(phi @ truth), float(kappa(BOUND))
    data, estimator = LabelledTrajectories(d), LogisticEstimator()
    sigma, rows = k * np.eye(d), []
    for t in range(1, EPISODES + 1):
        guess = expit(phi @ estimator.fit(data, np.ones(d)).weights)
        norms = np.sqrt(np.einsum("kd,kd->k", phi, np.linalg.solve(sigma, phi.T).T))
        error = float((np.abs(means - guess) / (math.sqrt(k) * norms)).max())
        chosen = int(np.argmax(guess + norms)) if t % 2 else int(rng.integers(len(phi)))
        columns, label = np.flatnonzero(phi[chosen]), int(rng.random() < means[chosen])
        data.add((columns, phi[chosen][columns]), label)
        sigma += np.outer(phi[chosen], phi[chosen])
        rows.append({"seed": seed, "episode": t, "label": label, "error": error})
    return rows


def largest(record: Columns) -> Floats:
    """The largest error of every run in units of what the event allows, (runs, deltas)."""
    d, t = trajectories().shape[1], record["episode"]
    ratios = [record["error"] / beta(d, t, EPISODES, delta, BOUND) for delta in DELTAS]
    return np.array([[ratio[record["seed"] == seed].max() for ratio in ratios]
                     for seed in np.unique(record["seed"])])  # fmt: skip


def interval(successes: int, runs: int, level: float = 0.95) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share: it errs on the side of being too wide."""
    rest = (1.0 - level) / 2.0
    low = beta_law.ppf(rest, successes, runs - successes + 1) if successes else 0.0
    high = beta_law.ppf(1.0 - rest, successes + 1, runs - successes) if successes < runs else 1.0
    return float(low), float(high)
