"""Queries about the whole server, for operators."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select, text

from app.storage.queries.agents import alive
from app.storage.schema import agents

_SIZES = {
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    "postgresql": "SELECT pg_database_size(current_database())",
}


@dataclass(frozen=True, slots=True)
class Totals:
    """How much the database holds."""

    agents: int
    episodes: int
    running: int
    awaiting_label: int
    labelled: int
    bytes: int


@dataclass(frozen=True, slots=True)
class FailedAgent:
    """An agent whose learning failed."""

    agent: int
    name: str
    error: str


def totals(connection: Connection) -> Totals:
    """Counts over all agents, and the size of the database."""
    columns = (agents.c.episodes, agents.c.running, agents.c.awaiting_label, agents.c.labelled)
    sums = [func.coalesce(func.sum(column), 0) for column in columns]
    row = connection.execute(select(func.count(), *sums).where(alive)).one()
    size = connection.execute(text(_SIZES[connection.dialect.name])).scalar_one()
    agents_, *counts = (int(value) for value in row)
    episodes, running, awaiting, labelled = counts
    return Totals(agents_, episodes, running, awaiting, labelled, int(size))


def failed_agents(connection: Connection, limit: int) -> list[FailedAgent]:
    """Agents whose learning failed, the newest first."""
    query = (
        select(agents.c.id, agents.c.name, agents.c.learning_error)
        .where(alive, agents.c.learning_error.is_not(None))
        .order_by(agents.c.created_at.desc(), agents.c.id)
        .limit(limit)
    )
    return [FailedAgent(row.id, row.name, row.learning_error) for row in connection.execute(query)]
