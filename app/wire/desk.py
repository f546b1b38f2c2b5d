"""What the labelling desk's script sends and receives. It is not part of the public API."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictInt, StrictStr, model_validator

from app.wire.base import (
    Action,
    Answer,
    Comment,
    JsonObject,
    Metadata,
    Reason,
    ShortText,
    State,
    Wire,
)
from app.wire.episodes import check_reason
from app.wire.guidelines import Examples

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
    current: ShortText | None = None  # the agent whose episodes come first


class DeskEpisodeRequest(DeskRequest):
    """A request about one episode."""

    episode: ShortText


class DeskLabel(DeskEpisodeRequest):
    """A label for the episode on the desk. ``again`` replaces the labeller's earlier label."""

    label: Literal[0, 1, "cannot_tell"]
    comment: Comment | None = None
    reason: Reason | None = None  # why the labeller cannot tell
    again: StrictBool = False
    guidelines_version: Annotated[StrictInt, Field(ge=0, lt=2**31)] | None = None
    seconds: Annotated[float, Field(ge=0, le=86400)] | None = None  # that it was looked at

    @model_validator(mode="after")
    def _reason_fits(self) -> DeskLabel:
        check_reason(self.label, self.reason)
        return self


class DeskReturn(DeskEpisodeRequest):
    """Return to an earlier episode. ``shown`` is the episode on the desk, which is released."""

    shown: ShortText | None = None


class DeskState(Answer):
    """A state by its index, and as the client sent it."""

    place: int
    state: State


class DeskStep(DeskState):
    """A step to show; ``choice`` is the index of its action, and ``actor`` who acted."""

    action: Action
    choice: int
    actor: str


class DeskRecording(Answer):
    """The recording of an episode; ``version`` changes when it is replaced."""

    media_type: str
    version: int


class DeskBox(Answer):
    """The bounds of the observed numbers; null for no bound."""

    low: list[float | None]
    high: list[float | None]


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
    question: str | None
    guidelines: str | None
    guidelines_version: int
    examples: Examples
    display: JsonObject | None
    box: DeskBox | None  # where states are numbers
    steps: list[DeskStep]
    final: DeskState | None
    recording: DeskRecording | None


class DeskAnswer(Answer):
    """The episode to judge now, how many are left, and how many were skipped."""

    episode: DeskEpisode | None
    left: int
    skipped: int


class DeskProgress(Answer):
    """How a labeller and an agent come on."""

    today: int  # answers of the labeller since the time that the page asked about
    curve: list[tuple[int, float]]  # (labels, success) that the agent's policies were predicted
    labels: int  # that the agent has


class DeskLease(Answer):
    """Whether the desk still holds its episode, and how many are left."""

    held: bool
    left: int
