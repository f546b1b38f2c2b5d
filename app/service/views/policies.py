"""The policy versions of an agent: what each knew, promised, and showed in evaluation."""

from __future__ import annotations

from dataclasses import dataclass

from app.errors import NotFound
from app.service.runtime.cache import Cache
from app.service.runtime.ids import read_agent_id
from app.service.runtime.times import moment
from app.service.views.evaluations import DELTA, success_view
from app.storage.database import Database, ReadConnection
from app.storage.queries import evaluations, policies
from app.storage.queries.evaluations import VersionResults
from app.storage.rows import VersionRow
from app.wire.policies import PolicyVersionPage, PolicyVersionView


@dataclass(frozen=True)
class _Found:
    """Rows of some versions, and the results of those that were evaluated, by version."""

    versions: list[VersionRow]
    results: dict[int, VersionResults]


class PolicyViews:
    """Reads policy versions for the API."""

    def __init__(self, database: Database, cache: Cache) -> None:
        self._database = database
        self._cache = cache

    async def page(self, agent: str, before: int | None, limit: int) -> PolicyVersionPage:
        """Versions of an agent, the newest first; those before a version."""
        hosted = await self._cache.agent(read_agent_id(agent))
        found = await self._database.read(_read_page, hosted.number, before, limit + 1)
        shown, more = found.versions[:limit], len(found.versions) > limit
        views = [
            _view(row, found.results.get(row.version), hosted.acting_version, hosted.pinned_version)
            for row in shown
        ]
        return PolicyVersionPage(items=views, next=str(shown[-1].version) if more else None)

    async def read(self, agent: str, version: int) -> PolicyVersionView:
        """One version of an agent."""
        page = await self.page(agent, version + 1, 1)
        if not page.items or page.items[0].version != version:
            raise NotFound("policy", str(version), "with version")
        return page.items[0]


def _read_page(connection: ReadConnection, agent: int, before: int | None, limit: int) -> _Found:
    results = evaluations.results_by_version(connection, [agent]).get(agent, [])
    return _Found(
        policies.version_page(connection, agent, before, limit),
        {result.version: result for result in results},
    )


def _view(
    row: VersionRow, results: VersionResults | None, in_force: int, pinned: int | None
) -> PolicyVersionView:
    evaluation = None if results is None else success_view(results.good, results.total, DELTA)
    return PolicyVersionView(
        version=row.version,
        episodes=row.episodes,
        labels=row.labels,
        predicted=row.predicted,
        evaluation=evaluation,
        planner=row.planner,
        optimistic_value=row.value,
        gap=row.gap,
        seconds=row.seconds,
        at=moment(row.at),
        in_force=row.version == in_force,
        pinned=row.version == pinned,
    )
