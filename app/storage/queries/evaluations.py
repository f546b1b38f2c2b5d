"""Queries of evaluations: results that agents do not learn from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, and_, func, literal_column, select

from app.storage.schema import episodes

# In the words of the partial index. Imported evaluations, which have no plan, do not count: they
# were played by policies of another agent.
_has_result = and_(
    episodes.c.mode == literal_column("'evaluate'"),
    episodes.c.label.is_not(None),
    episodes.c.plan.is_not(None),
)


@dataclass(frozen=True, slots=True)
class VersionResults:
    """How often the episodes that evaluated one policy version were good."""

    version: int
    total: int
    good: int


def results_by_version(
    connection: Connection, agents: Collection[int]
) -> dict[int, list[VersionResults]]:
    """The results of some agents by policy version, oldest version first."""
    query = (
        select(
            episodes.c.agent,
            episodes.c.policy_version,
            func.count().label("total"),
            func.sum(episodes.c.label).label("good"),
        )
        .where(episodes.c.agent.in_(agents), _has_result)
        .group_by(episodes.c.agent, episodes.c.policy_version)
        .order_by(episodes.c.agent, episodes.c.policy_version)
    )
    found: dict[int, list[VersionResults]] = defaultdict(list)
    for row in connection.execute(query):
        found[row.agent].append(VersionResults(row.policy_version, row.total, row.good))
    return dict(found)


def newest_results(
    connection: Connection, agents: Collection[int], limit: int
) -> dict[int, list[int]]:
    """The newest results of some agents, at most ``limit`` of each, the newest first."""
    place = func.row_number().over(partition_by=episodes.c.agent, order_by=episodes.c.number.desc())
    ranked = (
        select(episodes.c.agent, episodes.c.label, place.label("place"))
        .where(episodes.c.agent.in_(agents), _has_result)
        .subquery()
    )
    query = (
        select(ranked.c.agent, ranked.c.label)
        .where(ranked.c.place <= limit)
        .order_by(ranked.c.agent, ranked.c.place)
    )
    found: dict[int, list[int]] = defaultdict(list)
    for row in connection.execute(query):
        found[row.agent].append(row.label)
    return dict(found)
