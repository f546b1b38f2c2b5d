"""Everything that the page of one episode shows."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from app.errors import NotFound
from app.service.runtime.cache import Cache
from app.service.runtime.ids import episode_id, read_episode_id
from app.service.views.agents import agent_view
from app.service.views.curves import policy_point
from app.service.views.desk import desk_episode
from app.service.views.episodes import (
    Hidden,
    Prediction,
    episode_fields,
    label_changes,
    label_views,
    predict,
)
from app.storage.database import Database, ReadConnection
from app.storage.queries import agents as agent_queries
from app.storage.queries import episodes as episode_queries
from app.storage.queries import policies as policy_queries
from app.storage.queries import recordings as recording_queries
from app.storage.queries.episodes import StoredEpisode
from app.storage.rows import Actor, AgentRow, RecordingRow, VersionRow
from app.wire.agents import AgentView
from app.wire.desk import DeskEpisode
from app.wire.episodes import EpisodeSummary, LabelChange, LabelView
from app.wire.insight import PolicyPoint


@dataclass(frozen=True)
class Visit:
    """A state that an episode was in, by its index; ``observation`` if numbers were sent."""

    state: int
    observation: list[float] | None


@dataclass(frozen=True)
class PlayedStep(Visit):
    """A step of an episode, with the indices of what was done and of what the policy chose."""

    step: int
    action: int
    answered: int
    actor: Actor | None  # who acted, if it was not the policy


@dataclass(frozen=True)
class EpisodeDetails:
    """What the page of one episode shows."""

    episode: EpisodeSummary
    agent: AgentView
    steps: list[PlayedStep]
    final: Visit | None
    terminated: bool
    verdicts: list[LabelView]
    labels: list[LabelChange]
    policy: PolicyPoint | None  # the version that played it
    media_type: str | None  # of its recording
    prediction: Prediction | None
    prediction_is_hidden: bool
    labels_are_hidden: bool
    drawn: DeskEpisode  # for the player
    previous: str | None  # the ids of its neighbours
    next: str | None


@dataclass(frozen=True)
class _Stored:
    agent: AgentRow
    episode: StoredEpisode
    version: VersionRow | None
    recording: RecordingRow | None


class EpisodeDetailViews:
    """Reads what the page of an episode shows."""

    def __init__(self, database: Database, cache: Cache) -> None:
        self._database = database
        self._cache = cache

    async def read(self, episode: str, sees_everything: bool) -> EpisodeDetails:
        """An episode's details.

        For labellers, who do not see everything, see `Hidden`.
        """
        agent, number = read_episode_id(episode)
        try:
            hosted = await self._cache.agent(agent)
        except NotFound as error:
            raise NotFound("episode", episode) from error
        stored = await self._database.read(_read, agent, number)
        if stored is None:
            raise NotFound("episode", episode)
        row = stored.episode.row
        hidden = Hidden.of(row, sees_everything)
        insight = None if hidden.prediction else await self._cache.insight(hosted)
        labels = [] if hidden.labels else stored.episode.history
        return EpisodeDetails(
            episode=EpisodeSummary(
                **episode_fields(row, hosted.horizon, len(stored.episode.steps))
            ),
            agent=agent_view(stored.agent, hosted),
            steps=[
                PlayedStep(
                    step.state,
                    step.observation,
                    step.step,
                    step.action,
                    step.answered,
                    step.actor,
                )
                for step in stored.episode.steps
            ],
            final=None if row.final is None else Visit(row.final, row.final_observation),
            terminated=row.ended,
            verdicts=label_views(labels),
            labels=label_changes(labels),
            policy=None if stored.version is None else policy_point(stored.version),
            media_type=None if stored.recording is None else stored.recording.media_type,
            prediction=await asyncio.to_thread(predict, stored.episode, insight),
            prediction_is_hidden=hidden.prediction,
            labels_are_hidden=hidden.labels,
            drawn=desk_episode(hosted, stored.agent, stored.episode, stored.recording),
            previous=episode_id(agent, number - 1) if number else None,
            next=episode_id(agent, number + 1) if number + 1 < stored.agent.episodes else None,
        )


def _read(connection: ReadConnection, agent: int, number: int) -> _Stored | None:
    owner = agent_queries.agent_row(connection, agent)
    episode = episode_queries.stored_episode(connection, agent, number)
    if owner is None or episode is None:
        return None
    return _Stored(
        owner,
        episode,
        policy_queries.version_row(connection, agent, episode.row.policy_version),
        recording_queries.recording_row(connection, agent, number),
    )
