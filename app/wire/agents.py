"""Agents, as clients create, change and see them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    StrictBool,
    StrictFloat,
    ValidationInfo,
    field_validator,
    model_validator,
)

from app.agents.kinds import AGENT_KINDS, Algorithm, FullAlgorithm, default_kind
from app.agents.kinds import DEFAULT_KIND as DEFAULT_KIND  # pages and the API ask for it here
from app.wire.base import (
    MOST_ITEMS,
    Answer,
    Duration,
    JsonObject,
    LabelsWanted,
    Learning,
    Metadata,
    ShortText,
    Strict,
    Wait,
    Wire,
)
from app.wire.evaluations import EvaluationView
from app.wire.guidelines import Examples, Guidelines, Question
from app.wire.specification.display import Display
from app.wire.specification.features import Features, NamedState
from app.wire.specification.limits import Allowed, Fallback
from app.wire.specification.spaces import ActionSpace, FullActionSpace, FullStateSpace, StateSpace


class Distribution(Strict):
    """First states with their probabilities."""

    states: tuple[NamedState, ...] = Field(
        min_length=1,
        max_length=MOST_ITEMS,
        description="as they are sent in steps",
        examples=[[0, 4]],
    )
    probabilities: tuple[StrictFloat, ...] = Field(
        min_length=1,
        max_length=MOST_ITEMS,
        description="one for each state; their sum is 1",
        examples=[[0.25, 0.75]],
    )


class Specification(Strict):
    """Everything that fixes how an agent learns and acts."""

    @field_validator("deadline_ms")
    @classmethod
    def _deadline_has_a_fallback(cls, deadline: int | None, info: ValidationInfo) -> int | None:
        if deadline is not None and info.data.get("fallback_action") is None:
            raise ValueError("a fallback_action too: it is what is done after the deadline")
        return deadline

    @model_validator(mode="before")
    @classmethod
    def _choose_kind(cls, data: Any) -> Any:
        """Insert the default kind for the states where the client names none."""
        states = data.get("states") if isinstance(data, dict) else None
        if not isinstance(states, dict) or states.get("kind") != "box" or states.get("bins"):
            return data
        given = data.get("algorithm", {})
        if not isinstance(given, dict) or "kind" in given:
            return data
        return data | {"algorithm": {"kind": default_kind(has_bins=False), **given}}

    states: StateSpace = Field(
        description="what the agent is told at every step; a number n is short for the whole "
        "numbers 0 .. n-1"
    )
    actions: ActionSpace = Field(
        description="what it can answer; a number n is short for the whole numbers 0 .. n-1"
    )
    horizon: int = Field(
        ge=1, le=2**31 - 1, strict=True, description="steps of an episode", examples=[100]
    )
    features: Features | None = Field(
        default=None,
        description="what a verdict may depend on; by default `auto` for `thompson`, "
        "one-hot over step, state and action for the paper's kinds",
    )
    algorithm: Algorithm = Field(
        default_factory=AGENT_KINDS[DEFAULT_KIND],
        description="the agent kind and its options; `thompson` by default, and `smooth` for a box "
        "without bins; the name of a kind is short for its defaults",
    )
    seed: int = Field(
        default=0,
        ge=0,
        lt=2**63,
        strict=True,
        description="the same seed and the same requests give the same actions",
    )
    initial_states: (
        Annotated[tuple[NamedState, ...], Field(max_length=MOST_ITEMS)]
        | Annotated[tuple[StrictFloat, ...], Field(max_length=MOST_ITEMS)]
        | Distribution
        | None
    ) = Field(
        default=None,
        description="where episodes start, where that is known: a list of states, all as likely; "
        "one probability for every state; or `states` with their `probabilities`",
    )
    labels_wanted: LabelsWanted = Field(
        default=1, description="labellers who judge each of its episodes; all of them count"
    )
    label_timeout: Duration | None = Field(
        default=None,
        description="ISO 8601 duration (weeks to seconds) after which `default_label` is given, or "
        "an episode that wants more labels is content with those it has",
        examples=["PT24H"],
    )
    default_label: Literal[0, 1] | None = Field(
        default=None,
        description="given when `label_timeout` has passed without any label; null gives the "
        "episode up",
    )
    running_timeout: Duration | None = Field(
        default=None,
        description="ISO 8601 duration after whose start an episode that still runs is abandoned; "
        "its transitions count",
        examples=["PT1H"],
    )
    allowed: Allowed = Field(
        default=(),
        description="the actions that are possible in some states; in all others every action is. "
        "Never another one is chosen or planned",
    )
    fallback_action: Fallback | None = Field(
        default=None,
        description="done where no policy is ready within `deadline_ms`: one action, or one for "
        "each state",
        examples=[0],
    )
    deadline_ms: Annotated[int, Field(ge=1, le=60_000, strict=True)] | None = Field(
        default=None,
        description="how long a start or a step waits for a policy; takes a `fallback_action`, "
        "where it is 100 by default",
        examples=[50],
    )
    max_exploration: Annotated[float, Field(ge=0, le=1)] = Field(
        default=1.0,
        description="the largest share of episodes that may play anything but the policy without "
        "exploration",
        examples=[0.1],
    )
    wait: Wait = Field(
        default=True,
        description="whether starts wait for learning under way, where they do not say: true, "
        "false, or `adaptive`, which waits only while learning is quicker than an episode",
    )


class NewAgent(Specification):
    """An agent to create."""

    name: ShortText = Field(description="for people", examples=["lake"])
    metadata: Metadata = Field(default={}, description="anything of yours, kept as it is")
    display: Display | None = Field(default=None, description="how pages draw a state")
    question: Question | None = Field(
        default=None, description="what labellers answer with good or bad, as one sentence"
    )
    guidelines: Guidelines | None = Field(
        default=None, description="how to judge, as plain text of a page or less"
    )


class AgentChanges(Wire):
    """What can be changed of an agent: nothing that touches learning. What is left out stays."""

    # A default means "left out". They are factories, so that OpenAPI shows no default.
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
    question: Question | None = Field(
        default=None, description="what labellers answer with good or bad, as one sentence"
    )
    guidelines: Guidelines | None = Field(
        default=None, description="how to judge, as plain text of a page or less"
    )
    examples: Examples | None = Field(
        default=None, description="episodes of this agent that are over; null shows none"
    )


class EpisodeCounts(Answer):
    """How many episodes an agent has, by status."""

    running: int = Field(description="still being played")
    awaiting_label: int = Field(description="over, and not all the labels that they want are there")
    labelled: int = Field(description="judged")
    completed: int = Field(description="over, and no label is needed")
    abandoned: int = Field(description="given up")


class PlanView(Answer):
    """The plan in force."""

    planner: str = Field(description="the planner")
    value: float = Field(
        description="probability of success of the policy without bonuses, by the learned model; "
        "0.5, with a gap of 1, where the kind predicts nothing"
    )
    optimistic_value: float = Field(
        description="the score that planning maximised: the value at the start with its bonuses"
    )
    gap: float = Field(description="certified distance to the best policy of the learned model")
    seconds: float = Field(description="how long that took")


class WarningView(Answer):
    """Something that is allowed but likely not meant."""

    code: str = Field(description="for programs", examples=["no_good_label"])
    detail: str = Field(description="what is likely wrong, and what to do")


class TimingView(Answer):
    """How long learning, playing and waiting took lately: moving averages; null without any."""

    learning_seconds: float | None = Field(
        description="from the request to learn to the policy that has learned"
    )
    episode_seconds: float | None = Field(description="from the start of an episode to its end")
    wait_seconds: float | None = Field(
        description="that starts which may wait for learning waited, since the server started"
    )


class AgentView(Specification):
    """An agent: its specification and where it stands."""

    states: FullStateSpace = Field(description="what the client sends at every step")
    actions: FullActionSpace = Field(description="what it can answer")
    algorithm: FullAlgorithm = Field(description="the agent kind and its options")
    id: str = Field(examples=["agt_0123456789"], description="opaque")
    name: str = Field(description="for people")
    metadata: Metadata = Field(description="yours, as it was given")
    display: Display | None = Field(description="how pages draw a state")
    question: Question | None = Field(description="what labellers answer with good or bad")
    guidelines: Guidelines | None = Field(description="how to judge")
    guidelines_version: int = Field(
        description="counts the changes of `question` and `guidelines`; 0 before the first"
    )
    examples: Examples = Field(description="episodes that show labellers what is good or bad")
    paused: bool = Field(description="whether it starts no episodes")
    created_at: datetime = Field(description="when it was created")
    episodes: EpisodeCounts = Field(description="how many it has, by status")
    policy_version: int = Field(
        description="the number of the last event (episode over, label given or taken back) that "
        "the policy in force has learned from; it never goes back"
    )
    pinned_version: int | None = Field(
        description="the version that episodes start on while it is pinned; null without a pin"
    )
    learning: Learning
    learning_error: str | None = Field(description="why learning failed, if it did")
    success_rate: float | None = Field(
        description="share of good labels; evaluations are not among them"
    )
    evaluation: EvaluationView | None = Field(
        description="success of the episodes played to evaluate; null before the first result"
    )
    plan: PlanView | None = Field(description="the plan in force; null before the first")
    timing: TimingView | None = Field(
        description="how long learning holds up play; null while the agent is not in memory"
    )
    progress: JsonObject = Field(
        description="the progress of the agent kind, such as its exploration"
    )
    warnings: list[WarningView] = Field(
        description="warnings about what is valid and may be a mistake"
    )
    shortened: list[str] = Field(
        default=[],
        description="in a list of agents: the long lists, such as `features.values`, that are cut "
        "after 100 entries; read the agent itself for all of them",
    )


class AgentPage(Answer):
    """Some agents, and where the next ones begin."""

    items: list[AgentView] = Field(description="in the order they were created")
    next: str | None = Field(description="pass it as `cursor` to read on; null at the end")
