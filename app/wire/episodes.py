"""Episodes: start, finish, label, read."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StrictBool, ValidationInfo, field_validator, model_validator

from app.wire.base import (
    CANNOT_TELL,
    Action,
    Answer,
    Comment,
    Expects,
    Label,
    LabelsWanted,
    Learning,
    Metadata,
    Reason,
    ShortText,
    State,
    Status,
    Wait,
    Wire,
)
from app.wire.steps import AllowedNow, StepAnswer


class NewEpisode(Wire):
    """An episode to start."""

    external_id: ShortText | None = Field(default=None, description="your own name for it")
    mode: Literal["learn", "exploit", "evaluate"] = Field(
        default="learn",
        description="`exploit` plays without bonuses, and is learned from too; `evaluate` plays "
        "the same and wants no label: a result that is given counts only in `evaluation`",
    )
    learn_transitions: StrictBool = Field(
        default=True,
        description="whether the agent learns from what follows its actions; false takes the "
        "mode `evaluate`",
    )
    metadata: Metadata = Field(default={}, description="anything of yours, kept as it is")
    labels_wanted: LabelsWanted | None = Field(
        default=None, description="how many labellers judge it; by default the agent's number"
    )
    wait: Wait | None = Field(
        default=None,
        description="wait, within bounds, for learning that is under way; false starts at once; "
        "`adaptive` waits only while learning is quicker than an episode; by default as `wait` of "
        "the agent says",
    )
    state: State | None = Field(
        default=None, description="its first state, answered with the first step"
    )
    action: Action | None = Field(
        default=None, description="with `state`: the client acts itself and does this first"
    )
    allowed: AllowedNow | None = Field(
        default=None, description="with `state`: the actions that are possible in the first step"
    )

    @field_validator("action", "allowed")
    @classmethod
    def _first_step_has_a_state(cls, given: object, info: ValidationInfo) -> object:
        if given is not None and info.data.get("state") is None:
            raise ValueError("a state too: both belong to the first step")
        return given

    @field_validator("labels_wanted")
    @classmethod
    def _evaluation_wants_no_label(cls, wanted: int | None, info: ValidationInfo) -> int | None:
        if wanted is not None and info.data.get("mode") == "evaluate":
            raise ValueError("nothing: the mode evaluate wants no label")
        return wanted

    @field_validator("learn_transitions")
    @classmethod
    def _only_evaluations_teach_nothing(cls, learns: bool, info: ValidationInfo) -> bool:
        if not learns and info.data.get("mode") in ("learn", "exploit"):
            raise ValueError('true, or the mode "evaluate": other episodes are learned from')
        return learns


class EpisodeSummary(Answer):
    """An episode without its steps."""

    id: str = Field(examples=["eps_0123456789_17"], description="opaque")
    agent: str = Field(description="the id of its agent")
    number: int = Field(description="counts from 0 within the agent")
    external_id: str | None = Field(description="your own name for it")
    mode: Literal["learn", "exploit", "evaluate", "imported"] = Field(
        description="how it is played; `imported` was played elsewhere"
    )
    learn_transitions: bool = Field(
        description="whether the agent learns from what follows its actions"
    )
    status: Status = Field(description="where it stands")
    label_required: bool = Field(description="whether it waits for a label once it is over")
    labels_wanted: int = Field(description="verdicts that it waits for")
    labels_given: int = Field(description="verdicts that it has now")
    cannot_tell: int = Field(description="labellers who answered that they cannot tell")
    label: Literal[0, 1] | None = Field(
        description="its verdict: 1 good, 0 bad, null none; of several the majority, 0 where they "
        "are equal, null until all are there"
    )
    policy_version: int = Field(description="the version that its policy is pinned to")
    horizon: int = Field(description="steps it has at most")
    length: int = Field(description="steps taken")
    metadata: Metadata = Field(description="yours, as it was given")
    created_at: datetime = Field(description="when it started")
    finished_at: datetime | None = Field(description="when it was over")
    labelled_at: datetime | None = Field(description="when its label was given")
    information: float | None = Field(
        default=None, description="nats that its label would teach, where that was asked for"
    )


class StartedEpisode(EpisodeSummary):
    """An episode that has started, with its first step where the start carried a state."""

    first_step: StepAnswer | None = Field(
        default=None, description="the answer to `state`; null where none was sent"
    )


class StepView(Answer):
    """One step of an episode."""

    step: int = Field(description="counts from 0")
    state: State = Field(description="as it was sent")
    action: Action = Field(description="what was done; the agent learns from this")
    answered: Action = Field(description="what the policy chose")
    actor: Literal["policy", "client", "override", "fallback"] = Field(
        description="who acted: `client` sent the step with its action, `override` means that "
        "another action than the answer was executed, `fallback` that no policy was ready in time"
    )
    allowed: list[Action] | None = Field(
        description="the actions that the client allowed in this step; null where it said nothing"
    )
    share: float | None = Field(
        description="what it adds to the predicted log-odds of a good label"
    )


class LabelChange(Answer):
    """A label that an episode was given; null where one was withdrawn."""

    label: Literal[0, 1] | None = Field(
        description="1 good, 0 bad; null withdrawn, unless `cannot_tell`"
    )
    labeller: str | None = Field(description="who judged")
    comment: str | None = Field(description="why, for people")
    at: datetime = Field(description="when")
    cannot_tell: bool = Field(description="whether the labeller could not tell; `comment` is why")
    guidelines_version: int | None = Field(
        description="of the agent's guidelines that were judged by; null where it was imported"
    )
    seconds: float | None = Field(description="how long the labeller looked at it, where known")


class LabelView(Answer):
    """The label in force of one labeller."""

    label: Literal[0, 1] = Field(description="1 good, 0 bad")
    labeller: str | None = Field(description="who judged")
    at: datetime = Field(description="when")


class CannotTellView(Answer):
    """A labeller who answered that the episode cannot be judged."""

    labeller: str | None = Field(description="who answered")
    reason: str = Field(description="why, for people")
    at: datetime = Field(description="when")


class EpisodeView(EpisodeSummary):
    """An episode with its steps, labels and prediction."""

    steps: list[StepView] = Field(description="in their order")
    final: State | None = Field(description="the state it ended in or led to, where reported")
    terminated: bool = Field(description="whether the environment ended it in `final`")
    verdicts: list[LabelView] = Field(description="the labels in force; the agent learns from each")
    undecided: list[CannotTellView] = Field(
        description="who cannot tell; such an answer teaches nothing"
    )
    labels: list[LabelChange] = Field(description="every change of both, oldest first")
    predicted: float | None = Field(description="probability of a good label, by what is learned")
    after_end: float | None = Field(description="the share of the steps after its end")


class EpisodePage(Answer):
    """Some episodes, and where the next ones begin."""

    items: list[EpisodeSummary] = Field(description="in the order that was asked for")
    next: str | None = Field(description="pass it as `cursor` to read on; null at the end")


class Finish(Wire):
    """The end of an episode before the horizon, or where its last step led to."""

    state: State | None = Field(default=None, description="the state it ended in")
    terminated: StrictBool | None = Field(
        default=None,
        description="whether the environment ended it there (by default before the horizon, not "
        "after the last step); false means that it was only cut off",
    )
    label: Label | None = Field(
        default=None,
        description="its label, stored together with its end; it takes a role that may label",
    )
    comment: Comment | None = Field(default=None, description="why this label, for people")
    labeller: ShortText | None = Field(
        default=None, description="who judged; by default the name of the key"
    )
    executed: Action | None = Field(
        default=None, description="what was done in the last step, where it was not the answer"
    )

    @model_validator(mode="after")
    def _label_has_words(self) -> Finish:
        if self.label is None and (self.comment is not None or self.labeller is not None):
            raise ValueError("a label where there is a comment or a labeller")
        return self


class NewLabel(Wire):
    """Good or bad; or that the labeller cannot tell."""

    label: Annotated[
        Label | Literal["cannot_tell"],
        Expects('1 or true for good, 0 or false for bad, or "cannot_tell" with a reason'),
    ] = Field(description="1 or true is good, 0 or false is bad; `cannot_tell` teaches nothing")
    comment: Comment | None = Field(default=None, description="why, for people")
    labeller: ShortText | None = Field(
        default=None, description="who judged; by default the name of the key"
    )
    reason: Reason | None = Field(
        default=None, description="why the labeller cannot tell; only with `cannot_tell`"
    )

    @model_validator(mode="after")
    def _reason_fits(self) -> NewLabel:
        check_reason(self.label, self.reason)
        return self


def check_reason(label: object, reason: str | None) -> None:
    """Refuse an answer of "cannot tell" without a reason, and a reason without that answer."""
    if label == CANNOT_TELL and reason is None:
        raise ValueError("a reason with the label cannot_tell, such as 'the camera was covered'")
    if label != CANNOT_TELL and reason is not None:
        raise ValueError("a reason only with the label cannot_tell; a label may have a comment")


class LabelAnswer(Answer):
    """A label that is stored."""

    episode: str = Field(description="its id")
    label: Literal[0, 1] | None = Field(
        description="of the episode as it is now; null where it was withdrawn or more are wanted"
    )
    labels_given: int = Field(description="how many labels the episode has now")
    verdicts: int = Field(description="the same number, by its name in the first edition")
    labels_wanted: int = Field(description="how many it waits for")
    cannot_tell: int = Field(description="labellers who answered that they cannot tell")
    status: Status = Field(description="where the episode stands now")
    learning: Learning
    policy_version: int = Field(
        description="the version in force; not yet the one that knows this label"
    )


class RecordingView(Answer):
    """A recording that is stored."""

    episode: str = Field(description="the id of its episode")
    media_type: str = Field(description="detected from the content", examples=["video/mp4"])
    size: int = Field(description="in bytes", examples=[48213])
    at: datetime = Field(description="when it was attached")
