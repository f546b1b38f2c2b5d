"""The base class of agents: they learn from episodes and labels, and plan policies.

An agent uses no files and no network. Its random numbers are addressed by its seed and an episode's
number: the same specification, episodes and labels give the same policies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Generic, Literal, TypeVar, cast

import numpy as np

from app.agents.build_features import build_features
from app.agents.cost import Cost
from app.agents.experience import Experience
from app.agents.insight import Insight, pack_insight
from app.agents.options import Options
from app.agents.spec import AgentSpec
from app.errors import InvalidValue
from app.learning.arrays import Arrays, Booleans, Floats, pack_arrays, unpack_arrays
from app.learning.features.base import FeatureMap
from app.learning.spaces import Spaces
from app.learning.trajectory import Trajectory
from app.learning.world.policy import Policy
from app.planning.problem import Plan, PlanBudget
from app.wire.base import JsonObject

SNAPSHOT_FORMAT = 1
MODEL_TOLERANCE = 1e-9
"""How far two models of the same log may differ, relative to 1 + the largest weight.

A fit starts at the previous weights. After other fits, a restart or a corrected label the solver
starts elsewhere and reaches the same minimum up to its last digits. Everything else is the same to
the bit for the same log and the same fits.
"""

Mode = Literal["learn", "exploit"]


AnyOptions = TypeVar("AnyOptions", bound=Options)


class Agent(ABC, Generic[AnyOptions]):
    """One learning agent. A kind is a subclass with its own options and its own ``plan``."""

    insight_type: ClassVar[type[Insight]]  # of what `insight` returns, where it returns any

    def __init__(self, spec: AgentSpec, budget: PlanBudget | None = None) -> None:
        self.spec = spec
        self.budget = budget or PlanBudget()
        self.options = cast(AnyOptions, spec.algorithm)
        spec.check_states()
        self.spaces = Spaces(spec.states, spec.actions, spec.horizon)
        observed = spec.observations
        self.experience = Experience(self.spaces, None if observed is None else observed.size)
        self.given_start = _start(spec)
        self.allowed = _allowed(spec)  # (S, A): the possible actions; None: every action
        self.given_features: FeatureMap | None = None  # None also where the client chose `auto`
        if spec.features is not None:
            self.given_features = build_features(spec.features, self.spaces)

    @property
    def observes(self) -> bool:
        """Whether the agent acts on observed numbers instead of numbered states."""
        return self.options.observes

    def planned(self, episode: int) -> None:
        """Record that a plan was made for an episode, when a log is replayed.

        Only kinds that need to know which plan an episode played use this and `plays`.
        """

    def plays(self, episode: int, planned: int) -> None:
        """Record, before the episode finishes, that it plays the plan made for ``planned``."""

    def finish(self, episode: int, trajectory: Trajectory) -> None:
        """Learn the transitions of a finished episode; its label may come later."""
        self.experience.finish(episode, trajectory)

    def report(
        self, episode: int, final: int, ended: bool = False, observation: Floats | None = None
    ) -> None:
        """Learn the state that the last action led to, reported after the episode ended."""
        self.experience.report(episode, final, ended, observation)

    def abandon(self, trajectory: Trajectory) -> None:
        """Learn the transitions of an episode that never gets a label."""
        self.experience.abandon(trajectory)

    def label(self, episode: int, label: int, slot: int = 0) -> None:
        """Set the label in one slot of an episode, replacing an earlier one."""
        self.experience.set_label(episode, label, slot)

    def remove_label(self, episode: int, slot: int = 0) -> None:
        """Remove the label of an episode in one slot, as if it had never been given."""
        self.experience.remove_label(episode, slot)

    @abstractmethod
    def plan(
        self,
        episode: int,
        mode: Mode = "learn",
        pending: Sequence[Policy] = (),
        certify: bool = True,
    ) -> Plan:
        """Plan the policy of an episode from what is known now.

        ``exploit`` plans for success alone, without bonuses or sampling. ``pending`` are the
        policies of episodes that are still running. Without ``certify`` a plan is faster: it is not
        refined on a finer grid when its certified gap is too large.
        """

    def patience(self) -> int:
        """The number of new labels that justify a new plan; 0 plans for every episode."""
        return 1

    def refit(self) -> None:
        """Fit the model to the new labels now, so that the next `plan` is faster."""

    def insight(self) -> Insight | None:
        """The insight of the agent's model; None for a kind without a model."""
        return None

    def packed_insight(self) -> bytes | None:
        """The insight as bytes; `unpack_insight` reads them."""
        insight = self.insight()
        return None if insight is None else pack_insight(self.options.kind, insight)

    def information(self, episodes: Sequence[int]) -> Floats:
        """The expected information of each finished episode's label, in nats, shape (n,)."""
        return np.zeros(len(episodes))

    def check_budget(self) -> None:
        """Refuse a specification whose plans could not fit the budget."""

    def job_cost(self) -> Cost:
        """The predicted cost of a learning job that makes one plan to learn with.

        The successors of states are assumed to be few; more of them make it slower.
        """
        return Cost()

    def progress(self) -> JsonObject:
        """The progress of this kind, as plain JSON."""
        return {}

    def warnings(self) -> dict[str, str]:
        """Warnings about what is valid and probably a mistake: a code and a sentence for each."""
        return {}

    def snapshot(self) -> bytes:
        """Everything learned, packed as bytes."""
        extra = {f"own.{key}": value for key, value in self._own_arrays().items()}
        return pack_arrays(self.experience.arrays() | extra, SNAPSHOT_FORMAT)

    @classmethod
    def restore(
        cls, spec: AgentSpec, snapshot: bytes, budget: PlanBudget | None = None
    ) -> Agent[AnyOptions]:
        """Restore the agent that ``snapshot`` was taken from."""
        arrays = unpack_arrays(snapshot, "snapshot", SNAPSHOT_FORMAT)
        agent = cls(spec, budget)
        agent.experience.load(arrays)
        agent._load_own({k[4:]: v for k, v in arrays.items() if k.startswith("own.")})
        return agent

    def _own_arrays(self) -> Arrays:
        """The arrays of this kind that a snapshot keeps because they are slow to compute."""
        return {}

    def _load_own(self, arrays: Arrays) -> None:
        """Load what ``_own_arrays`` returned."""


def _allowed(spec: AgentSpec) -> Booleans | None:
    """The possible actions of each state; None where every action is."""
    if not spec.allowed:
        return None
    allowed = np.ones((spec.states, spec.actions), dtype=np.bool_)
    for state, actions in spec.allowed:
        if not 0 <= state < spec.states:
            raise InvalidValue("allowed", f"states from 0 to {spec.states - 1}")
        if not actions or not all(0 <= action < spec.actions for action in actions):
            raise InvalidValue("allowed", f"for each state at least one of {spec.actions} actions")
        allowed[state] = False
        allowed[state, list(actions)] = True
    return allowed


def _start(spec: AgentSpec) -> Floats | None:
    """The distribution of the first state, when the client knows it."""
    if spec.initial_states is None:
        return None
    start = np.array(spec.initial_states)
    if start.shape != (spec.states,) or (start < 0).any() or abs(start.sum() - 1.0) > 1e-9:
        raise InvalidValue("initial_states", f"{spec.states} probabilities that sum to one")
    return start
