"""Episodes as clients see them: alone, in lists, and in the order of the labelling queue."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.agents.insight import Insight
from app.errors import NotFound
from app.service.access.visibility import Visibility
from app.service.agents.hosted_agent import HostedAgent
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.episodes.trajectories import trajectory_of
from app.service.labelling.ranking import Ranking
from app.service.labelling.slots import cannot_tell_in_force, labels_in_force
from app.service.runtime.cache import Cache
from app.service.runtime.ids import agent_id, episode_id, read_agent_id, read_episode_id
from app.service.runtime.times import moment, moment_or_none
from app.storage.database import Database, ReadConnection
from app.storage.queries import agents as agent_queries
from app.storage.queries import episodes as episode_queries
from app.storage.queries import steps as step_queries
from app.storage.queries.agents import AgentSet
from app.storage.queries.episodes import StoredEpisode
from app.storage.rows import EpisodeRow, EpisodeStatus, LabelRow
from app.wire.base import Status
from app.wire.episodes import (
    CannotTellView,
    EpisodePage,
    EpisodeSummary,
    EpisodeView,
    LabelChange,
    LabelView,
    StepView,
)

Cursor = tuple[int, int, int]  # position, agent and number of the last episode of a page


@dataclass(frozen=True)
class Prediction:
    """What the model in force makes of an episode.

    ``predicted`` is the probability of a good label. ``offset``, the ``shares`` of the steps and
    the share ``after_end`` add up to its log-odds.
    """

    predicted: float
    offset: float
    shares: list[float]
    after_end: float


@dataclass(frozen=True)
class Hidden:
    """What is kept from a labeller until an episode is judged, so as not to sway the verdict."""

    prediction: bool
    labels: bool  # of others, where several are wanted

    @staticmethod
    def of(row: EpisodeRow, sees_everything: bool) -> Hidden:
        """What is hidden of an episode."""
        hidden = row.status is EpisodeStatus.awaiting_label and not sees_everything
        return Hidden(hidden, hidden and row.labels_wanted > 1)


class EpisodeViews:
    """Reads episodes for the API."""

    def __init__(self, database: Database, cache: Cache, ranking: Ranking) -> None:
        self._database = database
        self._cache = cache
        self._ranking = ranking

    async def summary(self, episode: HostedEpisode) -> EpisodeSummary:
        """An episode in memory, without its steps."""
        agent = episode.agent
        row = await self._database.read(episode_queries.episode_row, agent.number, episode.number)
        if row is None:
            raise NotFound("episode", episode.id)
        return EpisodeSummary(**episode_fields(row, agent.horizon, episode.length))

    async def read_summary(self, episode: str) -> EpisodeSummary:
        """An episode by its id, without its steps."""
        return await self.summary(await self._cache.episode(episode))

    async def read(self, episode: str, sees_everything: bool) -> EpisodeView:
        """An episode by its id, with its steps, its labels and the model's prediction.

        For labellers, who do not see everything, see `Hidden`.
        """
        agent, stored = await self.stored(episode)
        hidden = Hidden.of(stored.row, sees_everything)
        insight = None if hidden.prediction else await self._cache.insight(agent)
        if hidden.labels:
            stored = replace(stored, history=[])
        return await asyncio.to_thread(_predicted_view, agent, stored, insight)

    async def stored(self, episode: str) -> tuple[HostedAgent, StoredEpisode]:
        """An episode as it is in the database, and its agent."""
        number, episode_number = read_episode_id(episode)
        try:
            agent = await self._cache.agent(number)
        except NotFound as error:
            raise NotFound("episode", episode) from error
        stored = await self._database.read(episode_queries.stored_episode, number, episode_number)
        if stored is None:
            raise NotFound("episode", episode)
        return agent, stored

    async def page(
        self,
        sees: Visibility,
        agent: str | None,
        status: Status | None,
        external_id: str | None,
        newest: bool,
        after: Cursor | None,
        limit: int,
    ) -> EpisodePage:
        """Episodes in the order of their creation."""
        chosen = await self._chosen(sees, agent)
        items, last = await self._database.read(
            _read_page, chosen, status, external_id, newest, after, limit
        )
        following = None if last is None else "-".join(map(str, last))
        return EpisodePage(items=items, next=following)

    async def most_informative(
        self, sees: Visibility, agent: str | None, skip: int, limit: int
    ) -> EpisodePage:
        """Episodes that wait for a label, those whose label would teach the most first."""
        queue = await self._ranking.all(await self._chosen(sees, agent))
        chosen = {(owner, number): score for score, owner, number in queue[skip : skip + limit]}
        summaries = await self._database.read(_read_waiting, list(chosen))
        items = [
            summary.model_copy(update={"information": chosen[key]})
            for key, summary in summaries.items()
        ]
        following = str(skip + limit) if len(queue) > skip + limit else None
        return EpisodePage(items=items, next=following)

    async def _chosen(self, sees: Visibility, agent: str | None) -> AgentSet:
        chosen = sees.choose(agent)
        if agent is not None:
            await self._cache.agent(read_agent_id(agent))  # refuse an unknown one
        return chosen


def _read_page(
    connection: ReadConnection,
    chosen: AgentSet,
    status: Status | None,
    external_id: str | None,
    newest: bool,
    after: Cursor | None,
    limit: int,
) -> tuple[list[EpisodeSummary], Cursor | None]:
    """One page, and the cursor of the next if there is one."""
    rows = episode_queries.episode_page(
        connection, chosen, status, external_id, newest, after, limit + 1
    )
    page = rows[:limit]
    summaries = list(summaries_of(connection, page).values())
    if len(rows) <= limit:
        return summaries, None
    return summaries, (page[-1].position, page[-1].agent, page[-1].number)


def _read_waiting(
    connection: ReadConnection, keys: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], EpisodeSummary]:
    """Those of some episodes that still wait for a label, in the order given."""
    rows = episode_queries.episodes_named(connection, keys)
    found = [rows[key] for key in keys if key in rows]
    waiting = [row for row in found if row.status is EpisodeStatus.awaiting_label]
    return summaries_of(connection, waiting)


def summaries_of(
    connection: ReadConnection, rows: Sequence[EpisodeRow]
) -> dict[tuple[int, int], EpisodeSummary]:
    """Rows as summaries by (agent, number); at most two queries, however many rows."""
    running = [(row.agent, row.number) for row in rows if row.length is None]
    counts = step_queries.lengths_of(connection, running)
    horizons = agent_queries.horizons(connection, {row.agent for row in rows}) if rows else {}
    return {
        (row.agent, row.number): EpisodeSummary(
            **episode_fields(
                row,
                horizons[row.agent],
                counts.get((row.agent, row.number), 0) if row.length is None else row.length,
            )
        )
        for row in rows
        if row.agent in horizons
    }


def episode_fields(row: EpisodeRow, horizon: int, length: int) -> dict[str, Any]:
    """The fields that every view of an episode has."""
    return {
        "id": episode_id(row.agent, row.number),
        "agent": agent_id(row.agent),
        "number": row.number,
        "external_id": row.external_id,
        "mode": row.mode,
        "learn_transitions": row.learn_transitions,
        "status": row.status,
        "label_required": row.label_required,
        "labels_wanted": row.labels_wanted,
        "labels_given": row.labels_given,
        "cannot_tell": row.cannot_tell,
        "label": row.label,
        "policy_version": row.policy_version,
        "horizon": horizon,
        "length": length,
        "metadata": row.metadata,
        "created_at": moment(row.created_at),
        "finished_at": moment_or_none(row.finished_at),
        "labelled_at": moment_or_none(row.labelled_at),
    }


def predict(stored: StoredEpisode, insight: Insight | None) -> Prediction | None:
    """What the model makes of an episode; None while it runs or where there is no model."""
    row = stored.row
    if insight is None or row.status == "running":
        return None
    shares = insight.share(trajectory_of(stored.steps, row.final, row.ended))
    if shares is None:
        return None
    return Prediction(shares.probability, shares.offset, shares.steps.tolist(), shares.end)


def _predicted_view(
    agent: HostedAgent, stored: StoredEpisode, insight: Insight | None
) -> EpisodeView:
    return episode_view(agent, stored, predict(stored, insight))


def episode_view(
    agent: HostedAgent, stored: StoredEpisode, prediction: Prediction | None
) -> EpisodeView:
    """A stored episode as its wire schema."""
    row, steps = stored.row, stored.steps
    shares = [None] * len(steps) if prediction is None else prediction.shares
    final = None if row.final is None else agent.decode_state(row.final, row.final_observation)
    return EpisodeView(
        **episode_fields(row, agent.horizon, len(steps)),
        steps=[
            StepView(
                step=step.step,
                state=agent.decode_state(step.state, step.observation),
                action=agent.actions.decode(step.action),
                answered=agent.actions.decode(step.answered),
                actor="policy" if step.actor is None else step.actor.value,
                allowed=None
                if step.allowed is None
                else [agent.actions.decode(action) for action in step.allowed],
                share=share,
            )
            for step, share in zip(steps, shares, strict=True)
        ],
        final=final,
        terminated=row.ended,
        verdicts=label_views(stored.history),
        undecided=cannot_tell_views(stored.history),
        labels=label_changes(stored.history),
        predicted=None if prediction is None else prediction.predicted,
        after_end=None if prediction is None else prediction.after_end,
    )


def label_views(labels: Sequence[LabelRow]) -> list[LabelView]:
    """The labels in force, from an episode's label history."""
    return [
        LabelView.model_validate(
            {"label": verdict.label, "labeller": verdict.labeller, "at": moment(verdict.at)}
        )
        for verdict in labels_in_force(labels).values()
    ]


def cannot_tell_views(labels: Sequence[LabelRow]) -> list[CannotTellView]:
    """The answers of "cannot tell" in force, from an episode's label history."""
    return [
        CannotTellView(labeller=answer.labeller, reason=answer.reason, at=moment(answer.at))
        for answer in cannot_tell_in_force(labels).values()
    ]


def label_changes(labels: Sequence[LabelRow]) -> list[LabelChange]:
    """An episode's label history, oldest first."""
    return [
        LabelChange.model_validate(
            {
                "label": change.label,
                "labeller": change.labeller,
                "comment": change.comment,
                "at": moment(change.at),
                "cannot_tell": change.cannot_tell,
                "guidelines_version": change.guidelines_version,
                "seconds": change.seconds,
            }
        )
        for change in labels
    ]
