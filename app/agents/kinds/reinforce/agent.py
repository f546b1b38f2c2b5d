"""REINFORCE with Adam: the paper's experiment, for agents that observe numbers.

Every batch of labels gives one gradient step. The default settings learn; the paper's literal ones,
`configuration: "literal"`, do not (docs/reinforce.md). Learning is a function of the episodes,
their labels and the parameters that played them: `Chain` replays the updates that a late or
corrected label changes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from app.agents.base import Agent, Mode
from app.agents.insight import Insight
from app.agents.kinds.reinforce.authorship import Authorship
from app.agents.kinds.reinforce.chain import Chain, NumberedLabel
from app.agents.kinds.reinforce.insight import ObservationInsight
from app.agents.kinds.reinforce.options import ReinforceOptions
from app.agents.spec import AgentSpec
from app.errors import BudgetExceeded, InvalidValue, SnapshotError
from app.learning.arrays import Arrays
from app.learning.network.adam import Adam
from app.learning.network.input_scaling import InputScaling
from app.learning.network.network import Network
from app.learning.network.policy_gradient import LabelledEpisode, batch_gradient
from app.learning.randomness import generator
from app.learning.trajectory import Trajectory
from app.learning.world.policy import Policy
from app.planning.policies.network import NetworkPolicy
from app.planning.problem import Plan, PlanBudget
from app.wire.base import JsonObject

_WEIGHTS = 3  # address of the generator
_VERSIONS = 1000  # sets of parameters that must fit the budget: a good 30 000 episodes


class Reinforce(Agent[ReinforceOptions]):
    """A policy network trained by policy gradients."""

    insight_type: ClassVar[type[Insight]] = ObservationInsight

    def __init__(self, spec: AgentSpec, budget: PlanBudget | None = None) -> None:
        super().__init__(spec, budget)
        bounds, o = spec.observations, self.options
        assert bounds is not None  # the base class has refused a specification without observations
        self.low, self.high = np.array(bounds.low), np.array(bounds.high)
        self.scaling = InputScaling(self.low, self.high, o.inputs == "scaled")
        sizes = (bounds.size, *o.hidden, spec.actions)
        self.network = Network(sizes, o.activation)
        self.check_budget()
        first = self.network.initial(generator(spec.seed, _WEIGHTS), o.output_scale)
        self.chain = Chain(Adam.at(first), o.batch, self._update)
        self.authorship = Authorship()
        self._planned_at = 0

    def check_budget(self) -> None:
        """Refuse a network whose stored versions could not fit the budget."""
        needed = 8.0 * self.network.parameters * _VERSIONS
        if needed > self.budget.bytes:
            what, lower = "bytes for the network's past", "lower algorithm.hidden"
            raise BudgetExceeded(what, needed, self.budget.bytes, lower)

    def planned(self, episode: int) -> None:
        """Remember the parameters of the plan made at this point of the log."""
        self.authorship.plan(episode, self.chain.follow(self.experience.changes).theta)

    def plays(self, episode: int, planned: int) -> None:
        """Record that an episode plays the plan that was made for another number."""
        self.authorship.plays(episode, planned)

    def finish(self, episode: int, trajectory: Trajectory) -> None:
        """Add a finished episode, and keep the parameters that played it."""
        super().finish(episode, trajectory)
        self.authorship.finish(episode)

    def refit(self) -> None:
        """Take the gradient steps of all full batches."""
        self.chain.follow(self.experience.changes)

    def patience(self) -> int:
        """The number of labels missing from the current batch when the last plan was made."""
        return self.chain.batch - self._planned_at % self.chain.batch

    def plan(
        self,
        episode: int,
        mode: Mode = "learn",
        pending: Sequence[Policy] = (),  # noqa: ARG002 - every kind takes them
        certify: bool = True,  # noqa: ARG002
    ) -> Plan:
        """The network after all full batches, as a policy.

        The policy samples its actions in ``exploit`` too: it was trained with sampled actions, and
        its most probable actions alone may not succeed. There is no model, so nothing is certified;
        ``value`` is the share of good labels in the last batch.
        """
        began = time.perf_counter()
        self.planned(episode)
        theta = self.chain.newest.theta
        if mode == "learn":
            self._planned_at = len(self.chain.order)
        policy = NetworkPolicy(self.network, theta, self.scaling)
        seconds = time.perf_counter() - began
        return Plan("network", policy, self._success(), 1.0, 0.0, 0, theta.nbytes, seconds)

    def _success(self) -> float:
        """The share of good labels in the last full batch; one half before the first."""
        last = self.chain.members(self.chain.length - 1) if self.chain.length else []
        return sum(label for _, label in last) / len(last) if last else 0.5

    def _update(self, state: Adam, labels: Sequence[NumberedLabel]) -> Adam:
        """Take one gradient step; imported episodes count as played by the current parameters."""
        examples = [self.example(pair, state) for pair in labels]
        gradient = batch_gradient(self.network, examples, self.options.advantages, self.scaling)
        return state.climb(gradient, self.options.step_size)

    def example(self, pair: NumberedLabel, state: Adam) -> LabelledEpisode:
        """A labelled episode with the parameters that played it; those of ``state`` if imported.

        Steps in which somebody else acted are left out: they do not depend on the parameters, and
        without them the gradient is still unbiased.
        """
        episode, label = pair
        trajectory, player = self.experience.episodes[episode], self.authorship.of(episode)
        observations, actions = trajectory.observations, trajectory.actions
        allowed = trajectory.allowed
        assert observations is not None  # the experience has refused the others
        if trajectory.foreign is not None:
            own = ~trajectory.foreign
            observations, actions = observations[own], actions[own]
            allowed = None if allowed is None else allowed[own]
        theta = state.theta if player is None else player
        return LabelledEpisode(observations, actions, label, theta, allowed)

    def insight(self) -> ObservationInsight | None:
        """A logistic model of the labels over observations; None before the first label."""
        played, labels = self.experience.episodes, self.experience.sorted_labels()
        known = [(played[episode], label) for episode, label in labels if len(played[episode])]
        return ObservationInsight.of(InputScaling(self.low, self.high), known) if known else None

    def progress(self) -> JsonObject:
        """The number of gradient steps taken, and the labels in the next batch."""
        return {
            "gradient_steps": self.chain.length,
            "batch": self.chain.batch,
            "waiting": len(self.experience.labels) % self.chain.batch,
            "parameters": self.network.parameters,
        }

    def warnings(self) -> dict[str, str]:
        """Warn about specifications that this kind learns little from."""
        warnings = {}
        if self.options.configuration == "literal":
            warnings["literal_configuration"] = (
                "The paper's literal configuration is not expected to learn."
            )
        labelled = {episode for episode, _ in self.experience.labels}
        foreign = labelled - self.authorship.played.keys()
        if foreign:
            warnings["episodes_of_others"] = (
                f"{len(foreign)} labelled episodes were not played on this agent's plans; "
                "they are learned from as if they had been."
            )
        assisted = [n for n in labelled if self.experience.episodes[n].foreign is not None]
        if assisted:
            warnings["steps_of_others"] = (
                f"In {len(assisted)} labelled episodes somebody else acted in some steps; those "
                "steps are left out of the gradient."
            )
        return warnings

    def _own_arrays(self) -> Arrays:
        """The stored states of the chain, and the parameters that played each episode."""
        kept = list(self.chain.states.values())
        authorship = {f"authorship.{key}": value for key, value in self.authorship.arrays().items()}
        return authorship | {
            "steps": np.array([state.steps for state in kept], dtype=np.int64),
            "theta": np.array([state.theta for state in kept]),
            "mean": np.array([state.mean for state in kept]),
            "square": np.array([state.square for state in kept]),
            "order": np.array(self.chain.order, dtype=np.int64).reshape(-1, 2),
            "seen": np.array([self.chain.seen, self._planned_at]),
        }

    def _load_own(self, arrays: Arrays) -> None:
        try:
            if arrays["theta"].shape[1] != self.network.parameters:
                raise InvalidValue("theta", f"{self.network.parameters} parameters")
            kept = zip(*(arrays[key] for key in ("theta", "mean", "square", "steps")), strict=True)
            self.chain.states = {int(n): Adam(theta, m, s, int(n)) for theta, m, s, n in kept}
            self.chain.order = [(episode, label) for episode, label in arrays["order"].tolist()]
            self.chain.seen, self._planned_at = (int(n) for n in arrays["seen"])
            prefix = "authorship."
            authorship = {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}
            self.authorship.load(authorship)
        except (KeyError, ValueError, IndexError, InvalidValue) as error:
            raise SnapshotError(f"reinforce: {error!r}") from error
