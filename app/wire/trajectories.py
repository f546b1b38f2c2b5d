"""Episodes that were played elsewhere."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from app.wire.base import (
    Action,
    Answer,
    Comment,
    Label,
    LabelsWanted,
    Learning,
    Metadata,
    Reason,
    ShortText,
    State,
    Status,
    Wire,
)

MOST_STEPS = 1_000_000  # of an episode; no horizon is longer


class _Logged(BaseModel):
    """A body whose unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class LoggedLabel(_Logged):
    """The label of one labeller."""

    label: Label = Field(description="1 or true is good, 0 or false is bad")
    labeller: ShortText | None = Field(default=None, description="who judged")
    comment: Comment | None = Field(default=None, description="why, for people")


class LoggedCannotTell(_Logged):
    """A labeller who could not tell."""

    labeller: ShortText | None = Field(default=None, description="who answered")
    reason: Reason = Field(description="why, for people")


class LoggedStepDetail(_Logged):
    """A step in which somebody else than the policy acted, or not every action was allowed.

    `actions` has what was done.
    """

    step: Annotated[StrictInt, Field(ge=0)] = Field(description="counts from 0")
    actor: Literal["policy", "client", "override", "fallback"] = Field(
        default="policy", description="who acted"
    )
    answered: Action | None = Field(
        default=None, description="what the policy chose; by default what was done"
    )
    allowed: Annotated[list[Action], Field(min_length=1, max_length=65_535)] | None = Field(
        default=None, description="the actions that the client allowed"
    )


class LoggedTrajectory(_Logged):
    """An episode that was played elsewhere; a line of an export is one too."""

    states: list[State] = Field(
        max_length=MOST_STEPS + 1, description="one more than actions where the end is known"
    )
    actions: list[Action] = Field(max_length=MOST_STEPS, description="one for every step")
    label: Label | None = Field(default=None, description="its verdict, if there is one")
    terminated: StrictBool | None = Field(
        default=None, description="by default whether it is shorter than the horizon"
    )
    status: Status | None = Field(
        default=None, description="`completed` or `abandoned` keep it out of the labelling queue"
    )
    mode: Literal["learn", "exploit", "evaluate", "imported"] | None = Field(
        default=None,
        description="with `evaluate` the agent does not learn its label",
    )
    learn_transitions: StrictBool = Field(
        default=True, description="false with the mode `evaluate` learns nothing from it"
    )
    external_id: ShortText | None = Field(default=None, description="your own name for it")
    labeller: ShortText | None = Field(default=None, description="who gave `label`")
    verdicts: list[LoggedLabel] = Field(
        default=[],
        max_length=20,
        description="where several judged it, in place of `labeller`; with a `label`, which is "
        "their majority, no more are waited for",
    )
    undecided: list[LoggedCannotTell] = Field(
        default=[], max_length=20, description="labellers who could not tell"
    )
    labels_wanted: LabelsWanted | None = Field(
        default=None, description="by default as the agent says, or as many as there are"
    )
    metadata: Metadata = Field(default={}, description="anything of yours, kept as it is")
    step_details: list[LoggedStepDetail] = Field(
        default=[],
        max_length=MOST_STEPS,
        description="of steps in which somebody else than the policy acted, or not every action "
        "was allowed",
    )


class Trajectories(Wire):
    """Logged episodes: all are taken, or none."""

    trajectories: list[LoggedTrajectory] = Field(
        min_length=1, max_length=100_000, description="all are taken, or none"
    )


class TrajectoriesAnswer(Answer):
    """Where logged episodes went."""

    agent: str = Field(description="the id of the agent")
    imported: int = Field(description="how many")
    first: str = Field(description="the id of the first")
    last: str = Field(description="the id of the last")
    learning: Learning
