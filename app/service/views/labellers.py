"""Statistics of labellers: counts, speed, agreement, and labels that the model contradicts."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate

from app.agents.insight import Insight, insight_size, unpack_insight
from app.errors import SnapshotError
from app.learning.statistics.agreement import (
    CONFIDENT,
    PAUSE_SECONDS,
    Agreement,
    agreements,
    contradicts,
    labellers,
)
from app.service.access.visibility import Visibility
from app.service.episodes.trajectories import trajectory_of
from app.service.labelling.slots import labels_in_force
from app.service.runtime.ids import agent_id, episode_id
from app.service.runtime.times import moment
from app.storage.database import Database, ReadConnection
from app.storage.queries import agents as agent_queries
from app.storage.queries import episodes as episode_queries
from app.storage.queries import labels as label_queries
from app.storage.queries import policies as policy_queries
from app.storage.queries import steps as step_queries
from app.storage.queries.agents import AgentSet
from app.storage.rows import EpisodeRow, LabelRow, StepRow

_CHANGES = 5000  # newest label changes that the statistics use
_CHECKED = 300  # newest episodes that are compared with the model
_CHECKED_STEPS = 100_000  # of them, in all
_AGENTS = 8  # whose models are loaded for that
_MODEL_BYTES = 50_000_000  # of the largest model that is loaded for that; it takes about 0.5 s
_PAIRS = 50  # of labellers that are listed


@dataclass(frozen=True)
class LabellerStatistics:
    """One labeller. ``name`` is None for labels without a name."""

    name: str | None
    verdicts: int
    good: int
    cannot_tell: int
    withdrawn: int
    seconds: float | None  # median time between two verdicts, pauses left out
    last: datetime


@dataclass(frozen=True)
class Doubt:
    """A label that is the opposite of what a confident model predicts."""

    episode: str
    number: int
    agent: str
    agent_name: str
    label: int
    predicted: float
    labeller: str | None


@dataclass(frozen=True)
class LabellerReport:
    """Statistics of labellers, from the newest labels of all agents."""

    labellers: list[LabellerStatistics]
    pairs: list[Agreement]
    doubts: list[Doubt]
    checked: int  # episodes that were compared with the model
    changes: int  # label changes that the statistics come from
    confident: float = CONFIDENT  # a model that predicts more than this is confident
    pause_seconds: float = PAUSE_SECONDS


@dataclass(frozen=True)
class _Stored:
    changes: Sequence[LabelRow]
    episodes: Sequence[EpisodeRow]
    steps: dict[tuple[int, int], list[StepRow]]
    insights: dict[int, bytes]
    names: dict[int, str]


class LabellerViews:
    """Reads the statistics of labellers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def report(self, sees: Visibility) -> LabellerReport:
        """Statistics, agreement and doubts from the newest labels of the visible agents."""
        stored = await self._database.read(_read, sees.agents)
        return await asyncio.to_thread(_report, stored)


def _read(connection: ReadConnection, visible: AgentSet) -> _Stored:
    changes = label_queries.newest_labels(connection, visible, _CHANGES)
    newest = dict.fromkeys((row.agent, row.episode) for row in reversed(changes))
    agents = list(dict.fromkeys(agent for agent, _ in newest))[:_AGENTS]
    chosen = [key for key in newest if key[0] in agents][:_CHECKED]
    insights = policy_queries.insights_of(connection, agents)
    named = episode_queries.episodes_named(connection, chosen)
    labelled = [row for row in named.values() if row.labels_given and row.agent in insights]
    episodes = _within(labelled, _CHECKED_STEPS)
    pairs = [(row.agent, row.number) for row in episodes]
    steps = step_queries.steps_of_episodes(connection, pairs)
    return _Stored(changes, episodes, steps, insights, agent_queries.names_of(connection, agents))


def _within(episodes: Sequence[EpisodeRow], steps: int) -> list[EpisodeRow]:
    """The first episodes that have no more than so many steps in all."""
    totals = accumulate(row.length or 0 for row in episodes)
    return [row for row, total in zip(episodes, totals, strict=True) if total <= steps]


def _report(stored: _Stored) -> LabellerReport:
    models = _models(stored.insights)
    episodes = [row for row in stored.episodes if row.agent in models]
    return LabellerReport(
        labellers=[
            LabellerStatistics(
                found.name,
                found.verdicts,
                found.good,
                found.cannot_tell,
                found.withdrawn,
                found.seconds,
                moment(found.last),
            )
            for found in labellers(stored.changes)
        ],
        pairs=agreements(stored.changes)[:_PAIRS],
        doubts=_doubts(stored, episodes, models),
        checked=len(episodes),
        changes=len(stored.changes),
    )


def _doubts(
    stored: _Stored, episodes: Sequence[EpisodeRow], models: dict[int, Insight]
) -> list[Doubt]:
    """The labels that contradict a confident model, the most confident first."""
    history: dict[tuple[int, int], list[LabelRow]] = defaultdict(list)
    for change in stored.changes:
        history[change.agent, change.episode].append(change)
    doubts = [
        doubt
        for row in episodes
        for doubt in _doubts_of(stored, row, models[row.agent], history[row.agent, row.number])
    ]
    return sorted(doubts, key=lambda doubt: -abs(doubt.predicted - doubt.label))


def _models(packed: dict[int, bytes]) -> dict[int, Insight]:
    """The models that are not too large and can be read; damaged ones are rebuilt elsewhere."""
    models: dict[int, Insight] = {}
    for agent, content in packed.items():
        with suppress(SnapshotError):
            if insight_size(content) <= _MODEL_BYTES:
                models[agent] = unpack_insight(content)
    return models


def _doubts_of(
    stored: _Stored, row: EpisodeRow, model: Insight, history: Sequence[LabelRow]
) -> list[Doubt]:
    steps = stored.steps[row.agent, row.number]
    predicted = model.predict(trajectory_of(steps, row.final, row.ended))
    if predicted is None:
        return []
    return [
        Doubt(
            episode_id(row.agent, row.number),
            row.number,
            agent_id(row.agent),
            stored.names[row.agent],
            verdict.label,
            predicted,
            verdict.labeller,
        )
        for verdict in labels_in_force(history).values()
        if contradicts(predicted, verdict.label)
    ]
