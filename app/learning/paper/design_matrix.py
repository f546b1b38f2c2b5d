"""The condition number of the paper's design matrix Sigma_t = kappa I + sum phi phi^T."""

from __future__ import annotations

import numpy as np

from app.learning.logistic.labelled import LabelledTrajectories

LARGEST_MATRIX = 500  # rows; the eigenvalues of a larger one take too long for every plan


def condition_number(data: LabelledTrajectories, ridge: float) -> float | None:
    """lambda_max / lambda_min of ridge I + sum phi phi^T over the labelled trajectories.

    None for more than 500 features. Scaling features and ridge alike does not change it.
    """
    if data.dimension > LARGEST_MATRIX:
        return None
    counts, _ = data.counts()
    eigenvalues = np.linalg.eigvalsh(data.design().gram(counts))
    low, high = max(float(eigenvalues[0]), 0.0), max(float(eigenvalues[-1]), 0.0)
    return (ridge + high) / (ridge + low)
