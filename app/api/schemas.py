"""What goes over the wire, beside an agent's specification."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
)

from app.agents.spec import Strict
from app.api.problems import Problem
from app.hosting.keys import Role
from app.hosting.specification import Display, Specification

Status = Literal["running", "awaiting_label", "labelled", "completed", "abandoned"]
Label = StrictBool | Annotated[StrictInt, Field(ge=0, le=1)]
State = StrictInt | StrictStr | list[StrictFloat]
Action = StrictInt | StrictStr
Metadata = dict[str, JsonValue]
ShortText = Annotated[StrictStr, Field(min_length=1, max_length=200)]

_AGENT: dict[str, Any] = {
    "name": "lake",
    "states": {"kind": "discrete", "n": 16},
    "actions": {"kind": "discrete", "n": 4},
    "horizon": 100,
    "features": {"kind": "one_hot", "over": ["state"], "steps": "last"},
    "algorithm": {"kind": "thompson"},
    "seed": 7,
}


class Wire(Strict):
    """A body that a client sends, with an example that works when pasted."""


class Answer(BaseModel):
    """A body that the server sends."""

    model_config = ConfigDict(extra="forbid")


class NewAgent(Specification):
    """An agent to create."""

    model_config = ConfigDict(json_schema_extra={"examples": [_AGENT]})

    name: ShortText = Field(description="for people", examples=["lake"])
    metadata: Metadata = Field(default={}, description="anything of yours, kept as it is")
    display: Display | None = Field(default=None, description="how pages draw a state")


class AgentChanges(Wire):
    """What can be changed of an agent: nothing that touches learning."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "pond", "paused": True}]})

    name: ShortText | None = None
    metadata: Metadata | None = None
    display: Display | None = None
    paused: StrictBool | None = Field(
        default=None, description="a paused agent starts no episodes; it still learns"
    )


class EpisodeCounts(Answer):
    """How many episodes an agent has, by status."""

    running: int
    awaiting_label: int
    labelled: int
    completed: int = Field(description="over, and no label is needed")
    abandoned: int


class PlanView(Answer):
    """The plan in force."""

    planner: str
    value: float = Field(description="the optimistic value at the start")
    gap: float = Field(description="certified distance to the best policy of the learned model")
    seconds: float


class AgentView(Specification):
    """An agent: its specification and where it stands."""

    id: str = Field(examples=["agt_0123456789"])
    name: str
    metadata: Metadata
    display: Display | None
    paused: bool
    created_at: datetime
    episodes: EpisodeCounts
    policy_version: int = Field(
        description="the number of the last event (episode over, label given or taken back) that "
        "the policy in force has learned from; it never goes back"
    )
    learning: Literal["idle", "queued", "running", "failed"]
    learning_error: str | None
    success_rate: float | None = Field(description="share of good labels")
    plan: PlanView | None
    progress: dict[str, Any] = Field(description="where the agent kind is on its way")
    warnings: list[str] = Field(description="what is allowed but likely not meant")


class AgentPage(Answer):
    """Some agents, and where the next ones begin."""

    items: list[AgentView]
    next: str | None = Field(description="pass it as `cursor` to read on; null at the end")


class NewEpisode(Wire):
    """An episode to start."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"external_id": "run-17"}]})

    external_id: ShortText | None = Field(default=None, description="your own name for it")
    mode: Literal["learn", "exploit"] = Field(
        default="learn", description="`exploit` plays without bonuses; it is learned from too"
    )
    metadata: Metadata = Field(default={}, description="anything of yours, kept as it is")
    wait: StrictBool = Field(
        default=True,
        description="wait, within bounds, for learning that is under way; false starts at once",
    )


class EpisodeSummary(Answer):
    """An episode without its steps."""

    id: str = Field(examples=["eps_0123456789_17"])
    agent: str
    number: int = Field(description="counts from 0 within the agent")
    external_id: str | None
    mode: Literal["learn", "exploit", "imported"]
    status: Status
    label_required: bool
    label: Literal[0, 1] | None
    policy_version: int
    horizon: int
    length: int = Field(description="steps taken")
    metadata: Metadata
    created_at: datetime
    finished_at: datetime | None
    labelled_at: datetime | None
    information: float | None = Field(
        default=None, description="nats that its label would teach, where that was asked for"
    )


class StepView(Answer):
    """One step of an episode."""

    step: int
    state: State
    action: Action
    share: float | None = Field(
        description="what it adds to the predicted log-odds of a good label"
    )


class LabelChange(Answer):
    """A label that an episode was given; null where one was withdrawn."""

    label: Literal[0, 1] | None
    labeller: str | None
    comment: str | None
    at: datetime


class EpisodeView(EpisodeSummary):
    """An episode with all there is to know of it."""

    steps: list[StepView]
    final: State | None = Field(description="the state it ended in or led to, where reported")
    terminated: bool = Field(description="whether the environment ended it in `final`")
    labels: list[LabelChange] = Field(description="oldest first")
    predicted: float | None = Field(description="probability of a good label, by what is learned")
    after_end: float | None = Field(description="the share of the steps after its end")


class EpisodePage(Answer):
    """Some episodes, and where the next ones begin."""

    items: list[EpisodeSummary]
    next: str | None = Field(description="pass it as `cursor` to read on; null at the end")


class Step(Wire):
    """A state, to be answered with an action."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"state": 3, "step": 0}]})

    state: State
    step: Annotated[StrictInt, Field(ge=0)] | None = Field(
        default=None, description="makes a retry safe: the same step is answered the same"
    )
    explain: StrictBool = False


class ExplanationView(Answer):
    """Why this action."""

    visits: int = Field(description="how often this action was taken in this state before")
    success_probability: float = Field(
        description="of a good label when the policy goes on from here, by 200 rollouts in the "
        "learned model"
    )
    bonus_share: float = Field(description="share of the bonus in what this step promises")


class StepAnswer(Answer):
    """The action to take."""

    step: int
    action: Action
    last: bool = Field(description="whether this is the last step of the horizon")


class ExplainedStepAnswer(StepAnswer):
    """The action to take, and why."""

    explanation: ExplanationView | None = None


class EpisodeStep(Wire):
    """One step of many."""

    episode: Annotated[StrictStr, Field(max_length=100)]
    state: State
    step: Annotated[StrictInt, Field(ge=0)] | None = None


class ManySteps(Wire):
    """Steps of many episodes, one call."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"steps": [{"episode": "eps_0123456789_0", "state": 3, "step": 0}]}]
        }
    )

    steps: list[EpisodeStep] = Field(min_length=1, max_length=1000)


class ManyStepsEntry(Answer):
    """The result of one entry, or its problem."""

    episode: str
    step: int | None = None
    action: Action | None = None
    last: bool | None = None
    problem: Problem | None = None


class ManyStepsAnswer(Answer):
    """One result for each entry, in their order."""

    results: list[ManyStepsEntry]


class Finish(Wire):
    """The end of an episode before the horizon, or where its last step led to."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"state": 15}]})

    state: State | None = Field(default=None, description="the state it ended in")
    terminated: StrictBool | None = Field(
        default=None,
        description="whether the environment ended it there (by default before the horizon, not "
        "after the last step); false means that it was only cut off",
    )


class Verdict(Wire):
    """Good or bad."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"label": 1, "comment": "clean grasp", "labeller": "Ada"}]}
    )

    label: Label
    comment: Annotated[StrictStr, Field(max_length=4000)] | None = None
    labeller: ShortText | None = Field(
        default=None, description="who judged; by default the name of the key"
    )


class VerdictAnswer(Answer):
    """A label that is stored."""

    episode: str
    label: Literal[0, 1] | None
    status: Status
    learning: Literal["idle", "queued", "running", "failed"]
    policy_version: int


class LoggedTrajectory(BaseModel):
    """An episode that was played elsewhere; a line of an export is one too."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    states: list[State] = Field(description="one more than actions where the end is known")
    actions: list[Action]
    label: Label | None = None
    terminated: StrictBool | None = Field(
        default=None, description="by default whether it is shorter than the horizon"
    )
    status: Status | None = Field(
        default=None, description="`completed` or `abandoned` keep it out of the labelling queue"
    )
    external_id: ShortText | None = None
    labeller: ShortText | None = None
    metadata: Metadata = {}


class Trajectories(Wire):
    """Logged episodes: all are taken, or none."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"trajectories": [{"states": [0, 4, 8], "actions": [1, 1], "label": 0}]},
            ]
        }
    )

    trajectories: list[LoggedTrajectory] = Field(min_length=1, max_length=100_000)


class TrajectoriesAnswer(Answer):
    """Where logged episodes went."""

    agent: str
    imported: int
    first: str = Field(description="the id of the first")
    last: str
    learning: Literal["idle", "queued", "running", "failed"]


class NewKey(Wire):
    """A key to create."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "arm-3", "role": "actor"}]})

    name: ShortText
    role: Role


class KeyView(Answer):
    """A key without its secret."""

    id: str
    name: str
    role: Role
    created_at: datetime
    revoked_at: datetime | None


class CreatedKey(KeyView):
    """A key with its secret, which is shown this once."""

    secret: str | None = Field(description="null where a repeated request made no new key")


class KeyList(Answer):
    """Every key."""

    items: list[KeyView]


class Health(Answer):
    """Whether the server is alive, or ready."""

    status: Literal["ok", "starting", "unavailable"]
    version: str


class Follower(Answer):
    """What may follow a state and an action."""

    state: State | None = Field(description="null where an episode ended and nobody said where")
    ended: bool
    probability: float


class TransitionView(Answer):
    """The estimate for one state and action that was tried."""

    state: State
    action: Action
    followers: list[Follower]


class ModelView(Answer):
    """What an agent believes; null where its kind has no such thing."""

    agent: str
    policy_version: int
    features: str | None = Field(description="what the weights belong to")
    weights: list[float] | None
    intercept: float | None
    visits: list[list[int]] | None = Field(description="per state and action")
    bonuses: list[list[float]] | None = Field(description="per state and action, at most")
    start: list[float] | None = Field(description="probability of each first state")
    transitions: list[TransitionView] | None


class PolicyView(Answer):
    """A policy that a client can run by itself."""

    agent: str
    policy_version: int
    episode_number: int = Field(description="the episode number that its random numbers are for")
    label_required: bool
    horizon: int
    seed: str = Field(description="a whole number of up to 63 bits")
    generator: Literal["splitmix64"]
    states: dict[str, Any]
    actions: dict[str, Any]
    policy: dict[str, Any] = Field(description="`kind` and its arrays")


class ObservedPoint(Answer):
    """A group of labelled episodes."""

    episode: int = Field(description="the number of its last episode")
    labels: int = Field(description="labels up to its end")
    success: float
    low: float
    high: float


class PolicyPoint(Answer):
    """One policy that was in force."""

    version: int
    episodes: int
    labels: int
    planner: str
    value: float
    gap: float
    predicted: float | None = Field(description="success of the policy without bonuses")
    seconds: float
    at: datetime


class CurveView(Answer):
    """How an agent has been doing."""

    agent: str
    observed: list[ObservedPoint]
    policies: list[PolicyPoint]
