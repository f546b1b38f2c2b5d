"""Queries of policies: plans, versions, and what an agent knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, select

from app.storage.pieces import joined
from app.storage.rows import PlanRow, VersionRow, columns_of, typed, typed_or_none
from app.storage.schema import knowledge, maps, plans, versions

_plans = select(*columns_of(PlanRow, plans))
_versions = select(*columns_of(VersionRow, versions))


def plan_rows(connection: Connection, agent: int, version: int) -> list[PlanRow]:
    """The plans of one version."""
    query = _plans.where(plans.c.agent == agent, plans.c.version == version)
    rows = typed(PlanRow, connection.execute(query.order_by(plans.c.episode)).all())
    return [_whole(connection, row) for row in rows]


def plan_row(connection: Connection, agent: int, version: int, episode: int) -> PlanRow | None:
    """One plan."""
    query = _plans.where(
        plans.c.agent == agent, plans.c.version == version, plans.c.episode == episode
    )
    row = typed_or_none(PlanRow, connection.execute(query).one_or_none())
    return None if row is None else _whole(connection, row)


def _whole(connection: Connection, row: PlanRow) -> PlanRow:
    """A plan with its policy, which may be stored in pieces."""
    return replace(row, policy=joined(connection, row.agent, row.policy))


def version_row(connection: Connection, agent: int, version: int) -> VersionRow | None:
    """What is known of one version."""
    query = _versions.where(versions.c.agent == agent, versions.c.version == version)
    return typed_or_none(VersionRow, connection.execute(query).one_or_none())


def version_rows(connection: Connection, agent: int) -> list[VersionRow]:
    """Every version there has been, oldest first."""
    query = _versions.where(versions.c.agent == agent).order_by(versions.c.version)
    return typed(VersionRow, connection.execute(query).all())


def version_page(
    connection: Connection, agent: int, before: int | None, limit: int
) -> list[VersionRow]:
    """The newest versions; with ``before`` those with a lower number."""
    query = _versions.where(versions.c.agent == agent)
    if before is not None:
        query = query.where(versions.c.version < before)
    query = query.order_by(versions.c.version.desc()).limit(limit)
    return typed(VersionRow, connection.execute(query).all())


def map_versions(connection: Connection, agent: int) -> list[tuple[int, int]]:
    """(version, labels) of every version with a map, oldest first."""
    query = select(maps.c.version, maps.c.labels).where(maps.c.agent == agent)
    found = connection.execute(query.order_by(maps.c.version)).all()
    return [(row.version, row.labels) for row in found]


def map_bytes(connection: Connection, agent: int, version: int) -> bytes | None:
    """The packed map of a version."""
    query = select(maps.c.map).where(maps.c.agent == agent, maps.c.version == version)
    packed: bytes | None = connection.execute(query).scalar()
    return packed


def insight_bytes(connection: Connection, agent: int) -> bytes | None:
    """The packed insight of an agent."""
    return insights_of(connection, [agent]).get(agent)


def insights_of(connection: Connection, chosen: Sequence[int]) -> dict[int, bytes]:
    """The packed insights of some agents, where they have one."""
    query = select(knowledge.c.agent, knowledge.c.insight).where(
        knowledge.c.agent.in_(chosen), knowledge.c.insight.is_not(None)
    )
    found = connection.execute(query).all()
    return {row.agent: joined(connection, row.agent, row.insight) for row in found}
