"""Everything that the page of one agent shows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.agents.belief_map import unpack_map
from app.agents.insight import Insight
from app.errors import InvalidValue, NotFound
from app.learning.statistics.forecast import SHARE, Forecast, forecast
from app.service.agents.hosted_agent import HostedAgent
from app.service.runtime.cache import Cache
from app.service.runtime.ids import read_agent_id
from app.service.views.agents import agent_view
from app.service.views.belief_maps import BeliefMap, belief_map
from app.service.views.beliefs import Beliefs, beliefs_of
from app.service.views.curves import outcomes, policy_point, thinned, wilson
from app.service.views.episodes import summaries_of
from app.service.views.evaluations import read_evaluations
from app.storage.database import Database, ReadConnection
from app.storage.queries import agents as agent_queries
from app.storage.queries import episodes as episode_queries
from app.storage.queries import labels as label_queries
from app.storage.queries import policies as policy_queries
from app.storage.queries.labels import LabelInForce
from app.storage.queries.suspicions import Suspicions, suspicions_of
from app.storage.rows import AgentRow, VersionRow
from app.wire.agents import AgentView
from app.wire.episodes import EpisodeSummary
from app.wire.evaluations import EvaluationView
from app.wire.insight import PolicyPoint
from app.wire.specification.display import MOST_SQUARES
from app.wire.specification.spaces import Box

_EPISODES = 15  # listed at once
_RECENT = 12  # judged episodes that say how it does now
_VERSIONS = 10  # listed, the newest first


@dataclass(frozen=True)
class AgentOverview:
    """What the page of one agent shows."""

    agent: AgentView
    interval: tuple[float, float] | None  # 95 %, of the success rate
    labels: list[int]  # every label in force, in the order of episodes
    policies: list[PolicyPoint]  # at most 200, for the chart
    versions: list[PolicyPoint]  # the newest first
    version_count: int
    promised: float | None  # success that the policy in force predicts of itself
    baseline: float | None  # success of random actions, in the model
    forecast: Forecast
    target_share: float  # of ``promised``, that the forecast aims for
    episodes: list[EpisodeSummary]
    older: int | None  # the number before which older episodes begin
    recent: list[int]  # labels of the newest judged episodes, at most 12, in their order
    beliefs: Beliefs | None  # of an agent that counts states
    features: str  # what it predicts episodes by; empty where it does not
    map: BeliefMap | None  # what it believes now
    maps: list[tuple[int, int]]  # (version, labels) of the earlier maps that were kept


@dataclass(frozen=True)
class _Stored:
    row: AgentRow
    labels: Sequence[LabelInForce]
    versions: Sequence[VersionRow]
    episodes: list[EpisodeSummary]
    evaluation: EvaluationView | None
    suspicions: Suspicions
    maps: list[tuple[int, int]]


class AgentOverviews:
    """Reads what the page of an agent shows."""

    def __init__(self, database: Database, cache: Cache) -> None:
        self._database = database
        self._cache = cache

    async def read(
        self,
        agent: str,
        before: int | None,
        state: int | None,
        action: int | None,
        numbers: tuple[int | None, int | None] = (None, None),
    ) -> AgentOverview:
        """An agent's overview.

        It has the episodes below the number ``before``, the beliefs of a chosen state and action,
        or a map over two chosen observed ``numbers``.
        """
        hosted = await self._cache.agent(read_agent_id(agent))
        _check_choice(hosted, state, action)
        axes = _chosen_axes(hosted, *numbers)
        stored = await self._database.read(_read, hosted.number, hosted.horizon, before)
        if stored is None:
            raise NotFound("agent", agent)
        insight = await self._cache.insight(hosted)
        return await asyncio.to_thread(_overview, hosted, stored, insight, (state, action), axes)

    async def earlier_map(self, agent: str, version: int) -> tuple[AgentView, BeliefMap]:
        """What an agent believed at an earlier policy version, where that was kept."""
        hosted = await self._cache.agent(read_agent_id(agent))
        row, packed = await self._database.read(_read_map, hosted.number, version)
        if row is None:
            raise NotFound("agent", agent)
        found = None if packed is None else belief_map(await asyncio.to_thread(unpack_map, packed))
        if found is None:
            raise NotFound("map of policy version", str(version))
        return agent_view(row, hosted), found


def _read_map(
    connection: ReadConnection, agent: int, version: int
) -> tuple[AgentRow | None, bytes | None]:
    row = agent_queries.agent_row(connection, agent)
    return row, policy_queries.map_bytes(connection, agent, version)


def _check_choice(agent: HostedAgent, state: int | None, action: int | None) -> None:
    for value, name, size in (
        (state, "?state", agent.states.size),
        (action, "?action", agent.actions.size),
    ):
        if value is not None and value >= size:
            raise InvalidValue(name, f"a whole number from 0 to {size - 1}")


def _chosen_axes(agent: HostedAgent, x: int | None, y: int | None) -> tuple[int, int] | None:
    """The two observed numbers of a map; None for the usual ones."""
    space = agent.specification.states
    if (x is None and y is None) or not (agent.observes and isinstance(space, Box)):
        return None
    for value, name in ((x, "?x"), (y, "?y")):
        if value is not None and value >= len(space.low):
            raise InvalidValue(name, f"a whole number from 0 to {len(space.low) - 1}")
    return x or 0, y or 0


def _read(
    connection: ReadConnection, agent: int, horizon: int, before: int | None
) -> _Stored | None:
    row = agent_queries.agent_row(connection, agent)
    if row is None:
        return None
    newest = episode_queries.newest_episodes(connection, agent, before, _EPISODES + 1)
    return _Stored(
        row,
        label_queries.labels_in_force(connection, agent),
        policy_queries.version_rows(connection, agent),
        list(summaries_of(connection, newest).values()),
        read_evaluations(connection, [agent]).get(agent),
        suspicions_of(connection, agent, horizon),
        policy_queries.map_versions(connection, agent),
    )


def _overview(
    hosted: HostedAgent,
    stored: _Stored,
    insight: Insight | None,
    pair: tuple[int | None, int | None],
    axes: tuple[int, int] | None,
) -> AgentOverview:
    row, versions, episodes = stored.row, stored.versions, stored.episodes
    labels = [verdict.label for verdict in stored.labels]
    promised = versions[-1].predicted if versions else None
    target = None if promised is None else SHARE * promised
    view = agent_view(row, hosted, stored.evaluation, stored.suspicions)
    return AgentOverview(
        agent=view,
        interval=wilson(row.good, row.labelled) if row.labelled else None,
        labels=labels,
        policies=[policy_point(version) for version in thinned(versions)],
        versions=[policy_point(version) for version in versions[: -_VERSIONS - 1 : -1]],
        version_count=len(versions),
        promised=promised,
        baseline=_baseline(hosted, insight) if labels else None,
        forecast=forecast(outcomes(stored.labels), len(labels), target),
        target_share=SHARE,
        episodes=episodes[:_EPISODES],
        older=episodes[_EPISODES - 1].number if len(episodes) > _EPISODES else None,
        beliefs=None if insight is None else beliefs_of(insight, _squares(view), *pair),
        recent=_recent(stored.labels),
        features="" if insight is None else insight.description,
        map=None if insight is None else belief_map(insight.success_map(axes)),
        maps=stored.maps,
    )


def _recent(labels: Sequence[LabelInForce]) -> list[int]:
    """The outcomes of the newest judged episodes, in their order."""
    outcomes = {label.number: label.outcome for label in labels if label.outcome is not None}
    return list(outcomes.values())[-_RECENT:]


def _squares(agent: AgentView) -> int:
    """How many states are drawn as a grid."""
    display = agent.display
    if display is None or display.kind != "grid":
        return 0
    squares = display.rows * display.cols
    return squares if squares <= MOST_SQUARES and not display.places else 0


def _baseline(hosted: HostedAgent, insight: Insight | None) -> float | None:
    """The success of random actions; None where the model cannot say."""
    return None if insight is None else insight.uniform_success(np.random.default_rng(hosted.seed))
