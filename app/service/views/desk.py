"""An episode as the labelling desk shows it: without predictions and without other labels."""

from __future__ import annotations

from dataclasses import dataclass

from app.errors import NotFound
from app.service.agents.hosted_agent import HostedAgent
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.runtime.ids import agent_id, episode_id, read_agent_id
from app.service.runtime.times import moment_or_none
from app.service.views.curves import thinned
from app.storage.database import Database, ReadConnection
from app.storage.queries import agents as agent_queries
from app.storage.queries import episodes as episode_queries
from app.storage.queries import labels as label_queries
from app.storage.queries import policies as policy_queries
from app.storage.queries import recordings as recording_queries
from app.storage.queries.episodes import StoredEpisode
from app.storage.rows import AgentRow, EpisodeRow, RecordingRow, VersionRow
from app.wire.desk import (
    DeskBox,
    DeskEpisode,
    DeskProgress,
    DeskRecording,
    DeskState,
    DeskStep,
)
from app.wire.guidelines import Examples
from app.wire.specification.spaces import Box


@dataclass(frozen=True)
class _Stored:
    agent: AgentRow
    episode: StoredEpisode
    recording: RecordingRow | None


class DeskViews:
    """Reads the episodes that the labelling desk shows."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, episode: HostedEpisode) -> DeskEpisode:
        """An episode to judge."""
        stored = await self._database.read(_read, episode.agent.number, episode.number)
        if stored is None:
            raise NotFound("episode", episode.id)
        return desk_episode(episode.agent, stored.agent, stored.episode, stored.recording)

    async def progress(self, agent: str, labeller: str | None, since: int) -> DeskProgress:
        """What a labeller has judged since a time, and how the policies of an agent got better."""
        number = read_agent_id(agent)
        today, versions = await self._database.read(_read_progress, number, labeller, since)
        curve = [
            (row.labels, row.predicted) for row in thinned(versions) if row.predicted is not None
        ]
        labels = versions[-1].labels if versions else 0
        return DeskProgress(today=today, curve=curve, labels=labels)


def _read_progress(
    connection: ReadConnection, agent: int, labeller: str | None, since: int
) -> tuple[int, list[VersionRow]]:
    return (
        label_queries.count_answers(connection, labeller, since),
        policy_queries.version_rows(connection, agent),
    )


def _read(connection: ReadConnection, agent: int, number: int) -> _Stored | None:
    owner = agent_queries.agent_row(connection, agent)
    episode = episode_queries.stored_episode(connection, agent, number)
    if owner is None or episode is None:
        return None
    return _Stored(owner, episode, recording_queries.recording_row(connection, agent, number))


def desk_episode(
    agent: HostedAgent,
    owner: AgentRow,
    stored: StoredEpisode,
    recording: RecordingRow | None,
) -> DeskEpisode:
    """An episode as the player draws it."""
    row = stored.row
    return DeskEpisode(
        id=episode_id(agent.number, row.number),
        number=row.number,
        agent=agent_id(agent.number),
        agent_name=owner.name,
        external_id=row.external_id,
        mode=row.mode,
        verdicts=row.labels_given,
        labels_wanted=row.labels_wanted,
        metadata=row.metadata,
        finished_at=moment_or_none(row.finished_at),
        horizon=agent.horizon,
        terminated=row.ended,
        question=owner.question,
        guidelines=owner.guidelines,
        guidelines_version=owner.guidelines_version,
        examples=Examples.model_validate(owner.examples or {}),
        display=owner.display,
        box=_box(agent),
        steps=[
            DeskStep(
                place=step.state,
                state=agent.decode_state(step.state, step.observation),
                action=agent.actions.decode(step.action),
                choice=step.action,
                actor="policy" if step.actor is None else step.actor.value,
            )
            for step in stored.steps
        ],
        final=_final(agent, row),
        recording=None
        if recording is None
        else DeskRecording(media_type=recording.media_type, version=recording.at),
    )


def _box(agent: HostedAgent) -> DeskBox | None:
    space = agent.specification.states
    return DeskBox(low=list(space.low), high=list(space.high)) if isinstance(space, Box) else None


def _final(agent: HostedAgent, row: EpisodeRow) -> DeskState | None:
    if row.final is None:
        return None
    return DeskState(place=row.final, state=agent.decode_state(row.final, row.final_observation))
