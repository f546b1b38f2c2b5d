"""What the labelling desk's script sends and receives. It is no part of the public API."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, StrictStr

from app.wire.base import Action, Answer, Comment, Metadata, ShortText, State, Wire

RandomName = Annotated[StrictStr, Field(pattern=r"^[0-9a-zA-Z]{8,40}$")]


class DeskRequest(Wire):
    """Who asks, and for which agent's episodes.

    ``tab`` stays the same when the page is reloaded, and so does what was skipped. ``visit`` is
    new with every load of the page: a visit that ends gives back only its own episode.
    """

    tab: RandomName
    visit: RandomName
    agent: ShortText | None = None
    labeller: ShortText | None = None  # used where keys are off


class DeskEpisodeRequest(DeskRequest):
    """A request about one episode."""

    episode: ShortText


class DeskLabel(DeskEpisodeRequest):
    """A label for the episode on the desk."""

    label: Literal[0, 1]
    comment: Comment | None = None


class DeskUndo(DeskEpisodeRequest):
    """Withdraw a label. ``shown`` is the episode on the desk, which is given back."""

    shown: ShortText | None = None


class DeskState(Answer):
    """A state by its index, and as the client sent it."""

    place: int
    state: State


class DeskStep(DeskState):
    """A step to show."""

    action: Action


class DeskRecording(Answer):
    """The recording of an episode; ``version`` changes when it is replaced."""

    media_type: str
    version: int


class DeskEpisode(Answer):
    """An episode to judge."""

    id: str
    number: int
    agent: str
    agent_name: str
    external_id: str | None
    mode: str
    verdicts: int
    labels_wanted: int
    metadata: Metadata
    finished_at: datetime | None
    horizon: int
    terminated: bool
    display: dict[str, Any] | None
    steps: list[DeskStep]
    final: DeskState | None
    recording: DeskRecording | None


class DeskAnswer(Answer):
    """The episode to judge now, how many are left, and how many were skipped."""

    episode: DeskEpisode | None
    left: int
    skipped: int


class DeskLease(Answer):
    """Whether the desk still holds its episode, and how many are left."""

    held: bool
    left: int
