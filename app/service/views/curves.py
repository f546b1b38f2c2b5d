"""Learning curves: how often episodes were good, and what each policy version promised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

from app.learning.statistics.intervals import wilson as wilson  # pages draw intervals too
from app.service.runtime.cache import Cache
from app.service.runtime.ids import read_agent_id
from app.service.runtime.times import moment
from app.storage.database import Database, ReadConnection
from app.storage.queries import labels as label_queries
from app.storage.queries import policies as policy_queries
from app.storage.queries.labels import LabelInForce
from app.storage.rows import EpisodeMode, VersionRow
from app.wire.insight import CurveView, ObservedPoint, PolicyPoint

MOST_POINTS = 200
Row = TypeVar("Row")


class CurveViews:
    """Reads learning curves for the API."""

    def __init__(self, database: Database, cache: Cache) -> None:
        self._database = database
        self._cache = cache

    async def read(self, agent: str) -> CurveView:
        """The learning curve of an agent."""
        hosted = await self._cache.agent(read_agent_id(agent))
        labels, versions = await self._database.read(_read_curve, hosted.number)
        return CurveView(
            agent=hosted.id,
            observed=observed([(row.number, row.label) for row in labels]),
            policies=[policy_point(row) for row in thinned(versions)],
        )


def _read_curve(
    connection: ReadConnection, agent: int
) -> tuple[list[LabelInForce], list[VersionRow]]:
    return (
        label_queries.labels_in_force(connection, agent),
        policy_queries.version_rows(connection, agent),
    )


def policy_point(row: VersionRow) -> PolicyPoint:
    """A policy version as its wire schema."""
    return PolicyPoint(
        version=row.version,
        episodes=row.episodes,
        labels=row.labels,
        planner=row.planner,
        optimistic_value=row.value,
        value=row.value,
        gap=row.gap,
        predicted=row.predicted,
        seconds=row.seconds,
        at=moment(row.at),
    )


def observed(labels: Sequence[tuple[int, int]]) -> list[ObservedPoint]:
    """Group (episode, label) pairs into at most 200 points: share of good labels, 95 % interval."""
    size = max(1, math.ceil(len(labels) / MOST_POINTS))
    points = []
    for first in range(0, len(labels), size):
        group = labels[first : first + size]
        good = sum(label for _, label in group)
        low, high = wilson(good, len(group))
        points.append(
            ObservedPoint(
                episode=group[-1][0],
                labels=first + len(group),
                success=good / len(group),
                low=low,
                high=high,
            )
        )
    return points


def outcomes(labels: Sequence[LabelInForce]) -> list[tuple[int, int]]:
    """(labels before it, label) of every labelled episode that was played to learn.

    Several labels of one episode count as one outcome.
    """
    found: dict[int, tuple[int, int]] = {}
    for before, label in enumerate(labels):
        if label.mode is EpisodeMode.learn and label.outcome is not None:
            found.setdefault(label.number, (before, label.outcome))
    return list(found.values())


def thinned(rows: Sequence[Row]) -> list[Row]:
    """At most 200 of the rows, evenly spaced, the last row included."""
    if len(rows) <= MOST_POINTS:
        return list(rows)
    places = {round(i * (len(rows) - 1) / (MOST_POINTS - 1)) for i in range(MOST_POINTS)}
    return [rows[place] for place in sorted(places)]
