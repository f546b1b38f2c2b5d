"""Starts, finishes and labels of many episodes, as clients send them in one call."""

from __future__ import annotations

from pydantic import Field, StrictStr

from app.wire.base import Answer, Wire
from app.wire.episodes import (
    EpisodeSummary,
    Finish,
    LabelAnswer,
    NewEpisode,
    NewLabel,
    StartedEpisode,
)
from app.wire.problems import Problem

MOST_ENTRIES = 1000


class AgentStart(NewEpisode):
    """One start of many."""

    agent: StrictStr = Field(max_length=100, description="the id of the agent")


class EpisodeFinish(Finish):
    """One finish of many."""

    episode: StrictStr = Field(max_length=100, description="the id of the episode")


class EpisodeLabel(NewLabel):
    """One label of many."""

    episode: StrictStr = Field(max_length=100, description="the id of the episode")


class ManyStarts(Wire):
    """Episodes to start, of any agents."""

    episodes: list[AgentStart] = Field(
        min_length=1, max_length=MOST_ENTRIES, description="in the order of their numbers"
    )


class ManyFinishes(Wire):
    """Episodes to finish, of any agents."""

    finishes: list[EpisodeFinish] = Field(
        min_length=1, max_length=MOST_ENTRIES, description="of any episodes of any agents"
    )


class ManyLabels(Wire):
    """Labels to give to episodes of any agents."""

    labels: list[EpisodeLabel] = Field(
        min_length=1, max_length=MOST_ENTRIES, description="of any episodes of any agents"
    )


class StartResult(Answer):
    """The episode that one entry started, or its problem."""

    agent: str = Field(description="the id of the agent, as it was sent")
    result: StartedEpisode | None = Field(default=None, description="the episode")
    problem: Problem | None = Field(default=None, description="what went wrong instead")


class FinishResult(Answer):
    """The episode that one entry finished, or its problem."""

    episode: str = Field(description="the id of the episode, as it was sent")
    result: EpisodeSummary | None = Field(default=None, description="the episode")
    problem: Problem | None = Field(default=None, description="what went wrong instead")


class LabelResult(Answer):
    """The label that one entry stored, or its problem."""

    episode: str = Field(description="the id of the episode, as it was sent")
    result: LabelAnswer | None = Field(default=None, description="the label")
    problem: Problem | None = Field(default=None, description="what went wrong instead")


class ManyStartsAnswer(Answer):
    """One result for each entry, in their order."""

    results: list[StartResult] = Field(description="in the order of the entries")


class ManyFinishesAnswer(Answer):
    """One result for each entry, in their order."""

    results: list[FinishResult] = Field(description="in the order of the entries")


class ManyLabelsAnswer(Answer):
    """One result for each entry, in their order."""

    results: list[LabelResult] = Field(description="in the order of the entries")
