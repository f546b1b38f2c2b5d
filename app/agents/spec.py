"""The specification of an agent, with states and actions as numbers. Light: no mathematics."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator, model_validator

from app.agents.kinds import AGENT_KINDS, DEFAULT_KIND, Algorithm
from app.errors import InvalidValue
from app.wire.base import Strict
from app.wire.specification.features import Features

UNBOUNDED = 1e9
"""The bound of a number that has none."""
Bound = Annotated[float, Field(ge=-UNBOUNDED, le=UNBOUNDED)]


class ObservationBounds(Strict):
    """The bounds of each number that an agent observes; inputs are scaled by them."""

    low: tuple[Bound, ...] = Field(min_length=1, max_length=1024)
    high: tuple[Bound, ...] = Field(min_length=1, max_length=1024)

    @field_validator("high")
    @classmethod
    def _above_low(cls, high: tuple[float, ...], info: ValidationInfo) -> tuple[float, ...]:
        low = info.data.get("low", high)
        if len(low) != len(high):
            raise ValueError(f"{len(low)} numbers, as many as low has")
        pairs = zip(low, high, strict=True)
        if "low" in info.data and not all(lowest < highest for lowest, highest in pairs):
            raise ValueError("numbers above those of low")
        return high

    @property
    def size(self) -> int:
        """The number of observed numbers."""
        return len(self.low)


class AgentSpec(Strict):
    """Everything that fixes an agent: with the same episodes and labels it acts the same.

    An agent acts in numbered ``states``, or sees ``observations``; then ``states`` is 1.
    """

    states: int = Field(ge=1, strict=True)
    observations: ObservationBounds | None = None
    actions: int = Field(ge=1, strict=True)
    horizon: int = Field(ge=1, strict=True)
    features: Features | None = None
    algorithm: Algorithm = Field(default_factory=AGENT_KINDS[DEFAULT_KIND])
    seed: int = Field(default=0, ge=0, lt=2**63, strict=True)
    initial_states: tuple[float, ...] | None = None  # a distribution over the states
    allowed: tuple[tuple[int, tuple[int, ...]], ...] = ()  # states and their possible actions

    @model_validator(mode="before")
    @classmethod
    def _one_state(cls, data: Any) -> Any:
        """With observations there are no states to count."""
        if isinstance(data, dict) and data.get("observations") is not None:
            return {"states": 1} | data
        return data

    def check_states(self) -> None:
        """Refuse states that the kind cannot act on: numbered states, or observed numbers."""
        observes = self.algorithm.observes
        if observes and self.observations is None:
            raise InvalidValue("states", "numbers without bins: this kind sees them as they are")
        if not observes and self.observations is not None:
            raise InvalidValue("states", "bins for every number: this kind counts states")
        if observes and self.allowed:
            raise InvalidValue("allowed", "nothing: this kind sees numbers. Send it with each step")
        if observes and self.states != 1:
            raise InvalidValue("states", "1, because observations take their place")
