"""Confidence intervals of a share of good labels."""

from __future__ import annotations

import math

_Z = 1.959963984540054  # the 0.975 quantile of the normal distribution


def wilson(good: int, total: int) -> tuple[float, float]:
    """The Wilson score interval, at 95 %, of the probability behind ``good`` of ``total`` labels.

    SciPy has it too (`scipy.stats.binomtest(...).proportion_ci(method="wilson")`), but it also
    computes a test: 300 microseconds a call against 1, one second to import and 44 MB. A page draws
    hundreds of these intervals.
    """
    share, square = good / total, _Z**2
    centre = (share + square / (2 * total)) / (1 + square / total)
    spread = math.sqrt(share * (1 - share) / total + square / (4 * total**2))
    half = _Z * spread / (1 + square / total)
    return max(0.0, centre - half), min(1.0, centre + half)
