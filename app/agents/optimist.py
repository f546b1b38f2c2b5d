"""What the kinds that are optimistic by the paper's formulas share."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeVar

import numpy as np
from pydantic import Field

from app.agents.belief import Belief, Learned, Prior
from app.agents.model_based import ModelBased, TunedOptions
from app.agents.spec import AutoFeatures, Features, OneHotFeatures
from app.errors import InvalidValue
from app.learning.arrays import Floats
from app.learning.logistic.posterior import Posterior
from app.learning.paper.confidence import beta, kappa, xi

_DIRECT = OneHotFeatures(over=("step", "state", "action"))  # the paper's direct parametrisation


class OptimistOptions(TunedOptions):
    """The paper's constants, and the scales that replace them when tuned."""

    constants: Literal["tuned", "paper"] = Field(
        default="tuned", description="what works, or the paper's formulas to the letter"
    )
    radius: float = Field(
        default=0.5,
        strict=True,
        ge=0,
        le=100,
        description="optimism in deviations of the posterior (tuned)",
    )
    episodes: int = Field(default=1000, strict=True, ge=1, description="N of the paper's constants")
    delta: float = Field(
        default=0.05, strict=True, gt=0, lt=1, description="chance that a bound fails (paper)"
    )
    norm_bound: float = Field(
        default=5.0, strict=True, gt=0, le=100, description="B, bounds the weights (paper)"
    )


AnyOptions = TypeVar("AnyOptions", bound=OptimistOptions)


class Optimist(ModelBased[AnyOptions]):
    """Believes one feature map, and adds to its estimate what the data leave possible."""

    default_features: ClassVar[Features | None] = _DIRECT

    def _make_beliefs(self) -> list[Belief]:
        if isinstance(self.spec.features, AutoFeatures):
            raise InvalidValue("features.kind", "one_hot, table or events: auto is for thompson")
        variance = self.options.prior_deviation**2
        prior = Prior(None, None) if self._paper else Prior((variance,), variance)
        return [Belief(self.given_features or _DIRECT.build(self.spec.spaces), prior)]

    @property
    def _paper(self) -> bool:
        return self.options.constants == "paper"

    def patience(self) -> int:
        """The paper plans anew for every episode."""
        return 1 if self._paper else super().patience()

    def best(self) -> Belief:
        """The only one."""
        return self.beliefs[0]

    def bonuses(self) -> Floats:
        """xi with the paper's constants, else the visit bonus."""
        if self._paper:
            return self.exploration_bonus()
        room = self.room(self.best().follow(self.experience))
        return self.visit_bonus(self.options.visit_bonus * room, 0, ())

    def design(self, learned: Learned) -> Posterior:
        """Sigma_t = kappa I + sum phi phi^T, in the scale of the raw features."""
        data, scale = learned.belief.data, learned.belief.features.largest_norm() or 1.0
        counts, _ = data.counts()
        k = float(kappa(self.options.norm_bound))
        return Posterior(np.full(data.dimension, k * scale**2), data.design(), counts)

    def confidence_radius(self) -> float:
        """sqrt(kappa) beta_t(delta), t the episode about to be played."""
        o, t = self.options, self._episode_number()
        radius = beta(self.beliefs[0].features.dimension, t, self.episodes, o.delta, o.norm_bound)
        return float(np.sqrt(kappa(o.norm_bound)) * radius)

    @property
    def episodes(self) -> int:
        """N of the paper's constants."""
        return self.options.episodes

    def _episode_number(self) -> int:
        """t, counted from 1: one more than the labels so far."""
        return len(self.experience.labels) + 1

    def exploration_bonus(self) -> Floats:
        """xi(s, a) at every step but the last, shape (H, S, A)."""
        H, S, A = self.spec.spaces.shape
        visits = self.experience.transitions.visits.reshape(S, A)
        table = np.zeros((H, S, A))
        table[: H - 1] = xi(visits, S, A, H, self.episodes, self.options.delta)
        return table
