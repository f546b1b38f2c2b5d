"""Success in evaluation, with confidence intervals that are valid at all times."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from app.learning.statistics.confidence_sequence import success_bounds
from app.storage.database import ReadConnection
from app.storage.queries import evaluations
from app.storage.queries.evaluations import VersionResults
from app.wire.evaluations import EvaluationView, SuccessView, VersionSuccessView

DELTA = 0.05
BLOCK = 100  # results; the recent ones are those since the block before began
_MOST_VERSIONS = 20  # of a view


def read_evaluations(
    connection: ReadConnection, agents: Collection[int]
) -> dict[int, EvaluationView]:
    """The evaluations of the agents that have results, with two queries."""
    versions = evaluations.results_by_version(connection, agents)
    if not versions:
        return {}
    newest = evaluations.newest_results(connection, list(versions), 2 * BLOCK)
    return {agent: evaluation_view(found, newest[agent]) for agent, found in versions.items()}


def evaluation_view(versions: Sequence[VersionResults], newest: Sequence[int]) -> EvaluationView:
    """The results of an agent; ``newest`` has the last of them, the newest first."""
    total = sum(version.total for version in versions)
    good = sum(version.good for version in versions)
    recent, delta = recent_window(total)
    return EvaluationView(
        **success_view(good, total, DELTA).model_dump(),
        recent=success_view(sum(newest[:recent]), recent, delta),
        versions=[
            VersionSuccessView(
                policy_version=version.version,
                **success_view(version.good, version.total, DELTA).model_dump(),
            )
            for version in versions[: -_MOST_VERSIONS - 1 : -1]
        ],
    )


def recent_window(total: int) -> tuple[int, float]:
    """How many of ``total`` results are recent, and the error probability of their interval.

    The window begins one block of results before the current one. The k-th window gets the share
    6 / (pi k)^2 of the error probability, so that all windows hold together.
    """
    k = max(1, total // BLOCK)
    return total - BLOCK * (k - 1), DELTA * 6.0 / (math.pi * k) ** 2


def success_view(good: int, total: int, delta: float) -> SuccessView:
    """The share of good results, with the bounds of a confidence sequence."""
    bounds = success_bounds(good, total, delta)
    return SuccessView(
        episodes=total,
        good=good,
        success=good / total,
        low=bounds.low,
        high=bounds.high,
        at_least=bounds.at_least,
    )
