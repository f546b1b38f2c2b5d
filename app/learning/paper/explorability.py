"""The numbers of the paper's lemma on the exploration mixture, and of its design matrix.

S states, A actions, H steps, d features, N episodes, omega the explorability: every direction of
the feature space can be reached to at least omega by some policy. C1 and C2 are constants that the
lemma only says exist.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from app.learning.arrays import Floats
from app.learning.features.base import StepFeatures
from app.learning.logistic.labelled import LabelledTrajectories
from app.learning.spaces import Spaces

GROWTH = math.log(1.5)  # every loop multiplies the determinant by more than 3/2
LARGEST_MATRIX = 500  # rows; the eigenvalues of a larger one take too long for every plan
REACHED = math.sqrt(3.0) / 4.0  # share of omega; (v . a)^2 >= 3 omega^2 / 16 is what that needs


def loop_bound(dimension: int, episodes: float, omega: float) -> float:
    """The most loops: d log(1 + 16 N / (d omega^2)) / log(3/2)."""
    return dimension * math.log1p(16.0 * episodes / (dimension * omega**2)) / GROWTH


def euler_episodes(
    spaces: Spaces, dimension: int, episodes: float, omega: float, delta: float, c1: float = 1.0
) -> float:
    """N_EUL = C1 S^2 A H^2 log(S A N^2 d / (delta omega^2)) / omega^2, rounded up."""
    S, A, H = spaces.states, spaces.actions, spaces.horizon
    inside = math.log(S * A * dimension) + 2.0 * math.log(episodes) - _rare(omega, delta)
    return float(np.ceil(c1 * S**2 * A * H**2 * inside / omega**2))


def evaluation_episodes(
    dimension: int, episodes: float, omega: float, delta: float, c2: float = 1.0
) -> float:
    """N_EVAL = C2 d^3 log^3(N d^2 / (delta omega^2)) / omega^4, rounded up."""
    inside = math.log(episodes) + 2.0 * math.log(dimension) - _rare(omega, delta)
    return float(np.ceil(c2 * dimension**3 * inside**3 / omega**4))


def _rare(omega: float, delta: float) -> float:
    """log(delta omega^2), of which the product may be too small for a float."""
    return math.log(delta) + 2.0 * math.log(omega)


def exploration_bound(dimension: int, episodes: float, omega: float, per_loop: float) -> float:
    """The most episodes of exploration: the most loops times N_EUL + N_EVAL."""
    return loop_bound(dimension, episodes, omega) * per_loop


def mixture_bound(dimension: int, episodes: float, omega: float) -> float:
    """The lemma's least eigenvalue of E[phi phi^T] under the mixture.

    omega^2 log(3/2) / (32 d log(d log(1 + 16 N / (d omega^2)))), as it is printed.
    """
    inner = dimension * math.log1p(16.0 * episodes / (dimension * omega**2))
    return omega**2 * GROWTH / (32.0 * dimension * math.log(inner))


def eigenvalue_bound(
    ridge: float, dimension: int, episodes: float, omega: float, episode: float, explored: float
) -> float:
    """The lemma's least eigenvalue of Sigma_t once t >= t_0.

    kappa + 3/4 (t^(2/3) - (N_exp + 1)^(2/3)) times that of the mixture; ``ridge`` is kappa.
    """
    grown = episode ** (2 / 3) - (explored + 1.0) ** (2 / 3)
    return float(ridge + 0.75 * grown * mixture_bound(dimension, episodes, omega))


def sandwich_factor(horizon: int, condition: float) -> float:
    """sqrt(H lambda_max / lambda_min): bounds sum_h ||phi_h|| by ||phi||, both in Sigma_t^-1.

    It holds for features whose steps are orthogonal (lemma "sandwich").
    """
    return math.sqrt(horizon * condition)


def condition_bound(
    dimension: int, episodes: float, omega: float, episode: float, explored: float
) -> float:
    """Psi_t, the most that the condition number of Sigma_t may be once t is large enough."""
    shape = (episode - explored) / (episode ** (2 / 3) - (explored + 1.0) ** (2 / 3))
    return float(4.0 / 3.0 * shape / mixture_bound(dimension, episodes, omega))


def condition_number(data: LabelledTrajectories, ridge: float) -> float | None:
    """lambda_max / lambda_min of Sigma_t = ridge I + sum phi phi^T over the labelled trajectories.

    None for more than 500 features. Scaling features and ridge alike does not change it.
    """
    if data.dimension > LARGEST_MATRIX:
        return None
    counts, _ = data.counts()
    eigenvalues = np.linalg.eigvalsh(data.design().gram(counts))
    low, high = max(float(eigenvalues[0]), 0.0), max(float(eigenvalues[-1]), 0.0)
    return (ridge + high) / (ridge + low)


def typical_omega(features: StepFeatures) -> float:
    """Half of what one step can add to phi(tau): a direction of one step is reached by that.

    Omega depends on the task and is unknown. Tuned exploration starts with this value.
    """
    norms, _ = features.widths(_lengths)
    largest = features.largest_norm()
    return 0.5 * min(float(norms.max()) / largest, 1.0) if largest > 0.0 else 0.5


def _lengths(rows: sparse.csr_array) -> Floats:
    return np.asarray(np.sqrt(rows.power(2).sum(axis=1))).ravel()
