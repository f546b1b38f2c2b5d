"""Steps: a state in, an action out, one or many at a time."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictBool, StrictInt, StrictStr

from app.wire.base import Action, Answer, State, Wire
from app.wire.problems import Problem

_ACTION = "the client acts itself and does this now, as a demonstration does; it is recorded"
_EXECUTED = "what was done in the step before, where it was not the answer"
_ALLOWED = "the actions that are possible now; none but these is answered"

AllowedNow = Annotated[list[Action], Field(min_length=1, max_length=65_535)]


class Step(Wire):
    """A state, to be answered with an action; or with the action that the client does itself."""

    state: State = Field(description="where the environment is now, as `states` of the agent says")
    step: Annotated[StrictInt, Field(ge=0)] | None = Field(
        default=None, description="makes a retry safe: the same step is answered the same"
    )
    explain: StrictBool = Field(default=False, description="also say why this action")
    action: Action | None = Field(default=None, description=_ACTION)
    executed: Action | None = Field(default=None, description=_EXECUTED)
    allowed: AllowedNow | None = Field(default=None, description=_ALLOWED)


class ExplanationView(Answer):
    """Why this action."""

    visits: int = Field(
        description="how often this action was taken in this state before; where numbers are "
        "observed, within a tenth of their ranges, in labelled episodes"
    )
    success_probability: float = Field(
        description="probability of a good label if the policy continues, by 200 rollouts in the "
        "learned model; where numbers are observed, by what was observed so far"
    )
    bonus_share: float = Field(description="share of the bonus in what this step promises")


class StepAnswer(Answer):
    """The action to take."""

    step: int = Field(description="the step that this answers")
    action: Action = Field(description="what to do now; where the client acts itself, its action")
    last: bool = Field(description="whether this is the last step of the horizon")


class ExplainedStepAnswer(StepAnswer):
    """The action to take, and why."""

    explanation: ExplanationView | None = Field(
        default=None, description="where it was asked for; null where the agent has no beliefs"
    )


class EpisodeStep(Wire):
    """One step of many."""

    episode: StrictStr = Field(max_length=100, description="its id")
    state: State = Field(description="where its environment is now")
    step: Annotated[StrictInt, Field(ge=0)] | None = Field(
        default=None, description="makes a retry safe"
    )
    action: Action | None = Field(default=None, description=_ACTION)
    executed: Action | None = Field(default=None, description=_EXECUTED)
    allowed: AllowedNow | None = Field(default=None, description=_ALLOWED)


class ManySteps(Wire):
    """Steps of many episodes, one call."""

    steps: list[EpisodeStep] = Field(
        min_length=1, max_length=1000, description="of any episodes of any agents"
    )


class ManyStepsEntry(Answer):
    """The result of one entry, or its problem."""

    episode: str = Field(description="its id, as it was sent")
    step: int | None = Field(default=None, description="the step that this answers")
    action: Action | None = Field(default=None, description="what to do now")
    last: bool | None = Field(
        default=None, description="whether this is the last step of the horizon"
    )
    problem: Problem | None = Field(
        default=None, description="what went wrong, in place of an action"
    )


class ManyStepsAnswer(Answer):
    """One result for each entry, in their order."""

    results: list[ManyStepsEntry] = Field(description="in the order of the entries")
