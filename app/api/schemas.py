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
Learning = Annotated[
    Literal["idle", "queued", "running", "failed"],
    Field(
        description="what learning is doing: `queued` waits for its turn, `failed` tries again at "
        "the next label"
    ),
]
ShortText = Annotated[StrictStr, Field(min_length=1, max_length=200)]


class Wire(Strict):
    """A body that a client sends, with an example that works when pasted."""


class Answer(BaseModel):
    """A body that the server sends."""

    model_config = ConfigDict(extra="forbid")


class NewAgent(Specification):
    """An agent to create."""

    name: ShortText = Field(description="for people", examples=["lake"])
    metadata: Metadata = Field(default={}, description="anything of yours, kept as it is")
    display: Display | None = Field(default=None, description="how pages draw a state")


class AgentChanges(Wire):
    """What can be changed of an agent: nothing that touches learning. What is left out stays."""

    # The defaults only stand for what was left out; they are made, so that none is shown as one.
    name: ShortText = Field(default_factory=str, description="for people")
    metadata: Metadata = Field(
        default_factory=dict, description="anything of yours; replaces what there was"
    )
    display: Display | None = Field(
        default=None, description="how pages draw a state; null draws it plainly"
    )
    paused: StrictBool = Field(
        default_factory=bool, description="a paused agent starts no episodes; it still learns"
    )


class EpisodeCounts(Answer):
    """How many episodes an agent has, by status."""

    running: int = Field(description="still being played")
    awaiting_label: int = Field(description="over, and nobody has judged them")
    labelled: int = Field(description="judged")
    completed: int = Field(description="over, and no label is needed")
    abandoned: int = Field(description="given up")


class PlanView(Answer):
    """The plan in force."""

    planner: str = Field(description="what made it")
    value: float = Field(description="the optimistic value at the start")
    gap: float = Field(description="certified distance to the best policy of the learned model")
    seconds: float = Field(description="how long that took")


class AgentView(Specification):
    """An agent: its specification and where it stands."""

    id: str = Field(examples=["agt_0123456789"], description="opaque")
    name: str = Field(description="for people")
    metadata: Metadata = Field(description="yours, as it was given")
    display: Display | None = Field(description="how pages draw a state")
    paused: bool = Field(description="whether it starts no episodes")
    created_at: datetime = Field(description="when it was created")
    episodes: EpisodeCounts = Field(description="how many it has, by status")
    policy_version: int = Field(
        description="the number of the last event (episode over, label given or taken back) that "
        "the policy in force has learned from; it never goes back"
    )
    learning: Learning
    learning_error: str | None = Field(description="why learning failed, if it did")
    success_rate: float | None = Field(description="share of good labels")
    plan: PlanView | None = Field(description="the plan in force; null before the first")
    progress: dict[str, Any] = Field(description="where the agent kind is on its way")
    warnings: list[str] = Field(description="what is allowed but likely not meant")


class AgentPage(Answer):
    """Some agents, and where the next ones begin."""

    items: list[AgentView] = Field(description="in the order they were created")
    next: str | None = Field(description="pass it as `cursor` to read on; null at the end")


class NewEpisode(Wire):
    """An episode to start."""

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

    id: str = Field(examples=["eps_0123456789_17"], description="opaque")
    agent: str = Field(description="the id of its agent")
    number: int = Field(description="counts from 0 within the agent")
    external_id: str | None = Field(description="your own name for it")
    mode: Literal["learn", "exploit", "imported"] = Field(
        description="how it is played; `imported` was played elsewhere"
    )
    status: Status = Field(description="where it stands")
    label_required: bool = Field(description="whether it waits for a label once it is over")
    label: Literal[0, 1] | None = Field(description="its verdict: 1 good, 0 bad, null none")
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


class StepView(Answer):
    """One step of an episode."""

    step: int = Field(description="counts from 0")
    state: State = Field(description="as it was sent")
    action: Action = Field(description="what was answered")
    share: float | None = Field(
        description="what it adds to the predicted log-odds of a good label"
    )


class LabelChange(Answer):
    """A label that an episode was given; null where one was withdrawn."""

    label: Literal[0, 1] | None = Field(description="1 good, 0 bad, null withdrawn")
    labeller: str | None = Field(description="who judged")
    comment: str | None = Field(description="what they said")
    at: datetime = Field(description="when")


class EpisodeView(EpisodeSummary):
    """An episode with all there is to know of it."""

    steps: list[StepView] = Field(description="in their order")
    final: State | None = Field(description="the state it ended in or led to, where reported")
    terminated: bool = Field(description="whether the environment ended it in `final`")
    labels: list[LabelChange] = Field(description="oldest first")
    predicted: float | None = Field(description="probability of a good label, by what is learned")
    after_end: float | None = Field(description="the share of the steps after its end")


class EpisodePage(Answer):
    """Some episodes, and where the next ones begin."""

    items: list[EpisodeSummary] = Field(description="in the order that was asked for")
    next: str | None = Field(description="pass it as `cursor` to read on; null at the end")


class Step(Wire):
    """A state, to be answered with an action."""

    state: State = Field(description="where the environment is now, as `states` of the agent says")
    step: Annotated[StrictInt, Field(ge=0)] | None = Field(
        default=None, description="makes a retry safe: the same step is answered the same"
    )
    explain: StrictBool = Field(default=False, description="also say why this action")


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

    step: int = Field(description="the step that this answers")
    action: Action = Field(description="what to do now")
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


class Finish(Wire):
    """The end of an episode before the horizon, or where its last step led to."""

    state: State | None = Field(default=None, description="the state it ended in")
    terminated: StrictBool | None = Field(
        default=None,
        description="whether the environment ended it there (by default before the horizon, not "
        "after the last step); false means that it was only cut off",
    )


class Verdict(Wire):
    """Good or bad."""

    label: Label = Field(description="1 or true is good, 0 or false is bad")
    comment: Annotated[StrictStr, Field(max_length=4000)] | None = Field(
        default=None, description="why, for people"
    )
    labeller: ShortText | None = Field(
        default=None, description="who judged; by default the name of the key"
    )


class VerdictAnswer(Answer):
    """A label that is stored."""

    episode: str = Field(description="its id")
    label: Literal[0, 1] | None = Field(
        description="the verdict that holds now; null where it was withdrawn"
    )
    status: Status = Field(description="where the episode stands now")
    learning: Learning
    policy_version: int = Field(
        description="the version in force; not yet the one that knows this label"
    )


class RecordingView(Answer):
    """A recording that is stored."""

    episode: str = Field(description="the id of its episode")
    media_type: str = Field(description="what it is, by its content", examples=["video/mp4"])
    size: int = Field(description="in bytes", examples=[48213])
    at: datetime = Field(description="when it was attached")


class LoggedTrajectory(BaseModel):
    """An episode that was played elsewhere; a line of an export is one too."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    states: list[State] = Field(description="one more than actions where the end is known")
    actions: list[Action] = Field(description="one for every step")
    label: Label | None = Field(default=None, description="its verdict, if there is one")
    terminated: StrictBool | None = Field(
        default=None, description="by default whether it is shorter than the horizon"
    )
    status: Status | None = Field(
        default=None, description="`completed` or `abandoned` keep it out of the labelling queue"
    )
    external_id: ShortText | None = Field(default=None, description="your own name for it")
    labeller: ShortText | None = Field(default=None, description="who judged")
    metadata: Metadata = Field(default={}, description="anything of yours, kept as it is")


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


class NewKey(Wire):
    """A key to create."""

    name: ShortText = Field(description="for people: who or what it is for")
    role: Role = Field(description="what it may do")


class KeyView(Answer):
    """A key without its secret."""

    id: str = Field(description="opaque")
    name: str = Field(description="for people")
    role: Role = Field(description="what it may do")
    created_at: datetime = Field(description="when it was made")
    revoked_at: datetime | None = Field(
        description="since when it opens nothing; null while it works"
    )


class CreatedKey(KeyView):
    """A key with its secret, which is shown this once."""

    secret: str | None = Field(description="null where a repeated request made no new key")


class KeyList(Answer):
    """Every key."""

    items: list[KeyView] = Field(description="oldest first")


class Health(Answer):
    """Whether the server is alive, or ready."""

    status: Literal["ok", "starting", "unavailable"] = Field(description="`ok`, or why not")
    version: str = Field(description="of the server")


class Follower(Answer):
    """What may follow a state and an action."""

    state: State | None = Field(description="null where an episode ended and nobody said where")
    ended: bool = Field(description="whether the episode ends there")
    probability: float = Field(description="by the estimate")


class TransitionView(Answer):
    """The estimate for one state and action that was tried."""

    state: State = Field(description="where")
    action: Action = Field(description="what was tried there")
    followers: list[Follower] = Field(description="what came of it")


class ModelView(Answer):
    """What an agent believes; null where its kind has no such thing."""

    agent: str = Field(description="the id of the agent")
    policy_version: int = Field(description="the version that these belong to")
    features: str | None = Field(description="what the weights belong to")
    weights: list[float] | None = Field(
        description="one for each feature, in log-odds of a good label"
    )
    intercept: float | None = Field(description="log-odds of a good label with all features zero")
    visits: list[list[int]] | None = Field(description="per state and action")
    bonuses: list[list[float]] | None = Field(description="per state and action, at most")
    start: list[float] | None = Field(description="probability of each first state")
    transitions: list[TransitionView] | None = Field(description="of what was tried")


class PolicyView(Answer):
    """A policy that a client can run by itself."""

    agent: str = Field(description="the id of the agent")
    policy_version: int = Field(description="its version")
    episode_number: int = Field(description="the episode number that its random numbers are for")
    label_required: bool = Field(description="whether an episode played with it waits for a label")
    horizon: int = Field(description="steps of an episode")
    seed: str = Field(description="a whole number of up to 63 bits")
    generator: Literal["splitmix64"] = Field(description="how random numbers are made")
    states: dict[str, Any] = Field(description="how states are sent")
    actions: dict[str, Any] = Field(description="what the numbers of actions stand for")
    policy: dict[str, Any] = Field(description="`kind` and its arrays")


class ObservedPoint(Answer):
    """A group of labelled episodes."""

    episode: int = Field(description="the number of its last episode")
    labels: int = Field(description="labels up to its end")
    success: float = Field(description="share of good labels in the group")
    low: float = Field(description="of its 95 % interval")
    high: float = Field(description="of its 95 % interval")


class PolicyPoint(Answer):
    """One policy that was in force."""

    version: int = Field(description="its number")
    episodes: int = Field(description="episodes that it knew")
    labels: int = Field(description="labels that it knew")
    planner: str = Field(description="what made it")
    value: float = Field(description="the optimistic value at the start")
    gap: float = Field(description="certified distance to the best policy of the learned model")
    predicted: float | None = Field(description="success of the policy without bonuses")
    seconds: float = Field(description="how long planning took")
    at: datetime = Field(description="when it came into force")


class CurveView(Answer):
    """How an agent has been doing."""

    agent: str = Field(description="the id of the agent")
    observed: list[ObservedPoint] = Field(description="in the order of episodes")
    policies: list[PolicyPoint] = Field(description="in the order they came into force")
