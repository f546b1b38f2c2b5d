"""The insight of `smooth`: its label model and its exploit plan on the centres of the net."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from app.agents.insight import Axis, Insight, ModelDocument, Shares, StepExplanation, SuccessMap
from app.agents.kinds.smooth.decision import Planner
from app.learning.arrays import Arrays, Floats, Integers
from app.learning.continuous.interpolation import interpolate, neighbours
from app.learning.continuous.scaling import Scaling
from app.learning.trajectory import Trajectory
from app.learning.world.policy import Policy
from app.planning.policies.net import NetPolicy

CELLS = 12  # per axis of the map
_WIDEST = 1e6  # a box that is wider is drawn by the centres instead


@dataclass(frozen=True)
class SmoothInsight(Insight):
    """The posterior mean of the label model on the centres, and values of the exploit plan."""

    description: str
    centre: Floats  # (d,), with `unit` the scaling of observations
    unit: Floats  # (d,)
    relevance: Floats  # (d,)
    low: Floats  # (d,): the bounds that maps are drawn between
    high: Floats  # (d,)
    centres: Floats  # (K, d), scaled
    values: Floats  # (K,): what a state that counts adds to the log-odds, over all of them
    success: Floats  # (K,): the chance of success of an episode that starts there
    visits: Floats  # (K, A): visits near the place that an action leads to
    bonuses: Floats  # (K,): what exploring from there is worth
    best_actions: Integers  # (K,)
    span: Integers  # [first state that counts, horizon]
    logits: Floats  # [intercept, flag of an early end]

    @classmethod
    def of(cls, planner: Planner) -> SmoothInsight:
        """Build the insight of a planner."""
        belief, world, decision = planner.belief, planner.belief.world, planner.exploit
        verdict, seen = belief.mean(), world.scaling.back(world.fine)
        wide = world.bounds.high - world.bounds.low > _WIDEST
        policy = decision.policy
        best = [int(policy.qualities(0, row, ())[0].argmax()) for row in seen.tolist()]
        return cls(
            description=_describe(belief.best.name, world.scaling.relevance),
            centre=world.scaling.centre,
            unit=world.scaling.unit,
            relevance=world.scaling.relevance,
            low=np.where(wide, seen.min(axis=0), world.bounds.low),
            high=np.where(wide, seen.max(axis=0) + 1e-9, world.bounds.high),
            centres=world.fine,
            values=verdict.values,
            success=decision.centres,
            visits=world.visits,
            bonuses=planner.bonuses.max(axis=1),
            best_actions=np.array(best, dtype=np.int64),
            span=np.array([verdict.first, belief.horizon]),
            logits=np.array([verdict.intercept, verdict.flag]),
        )

    def _scaled(self, observations: Floats) -> Floats:
        return Scaling(self.centre, self.unit, self.relevance)(observations)

    def _at(self, z: Floats, values: Floats) -> Floats:
        """Interpolate values of the centres at points (n, d)."""
        chosen, weights = interpolate(z, self.centres, neighbours(z.shape[1]))
        return np.asarray((values[chosen] * weights).sum(axis=1))

    def share(self, trajectory: Trajectory) -> Shares | None:
        """The contribution of the state after each step; an early end contributes the rest."""
        if not len(trajectory) or trajectory.observations is None:
            return None
        first, horizon = self.span.tolist()
        seen, last = trajectory.observations, trajectory.final_observation
        after = np.vstack([seen[1:], seen[-1] if last is None else last])
        gains = self._at(self._scaled(after), self.values) / max(horizon + 1 - first, 1)
        counts = np.arange(1, len(after) + 1) >= first
        end = 0.0
        if trajectory.ended:
            left = max(horizon + 1 - max(len(after) + 1, first), 0)
            end = float(self.logits[1]) + left * float(gains[-1])
        return Shares(float(self.logits[0]), np.where(counts, gains, 0.0), end)

    def explain(
        self,
        policy: Policy | None,
        played: Trajectory,
        memory: tuple[int, ...],
        rng: np.random.Generator,  # noqa: ARG002 - nothing is drawn
    ) -> StepExplanation | None:
        """The success that the plan expects of the action, and visits near its outcome."""
        if not len(played) or played.observations is None:
            return None
        row, action = played.observations[-1], int(played.actions[-1])
        near = int(((self.centres - self._scaled(row)) ** 2).sum(axis=1).argmin())
        visits = round(float(self.visits[near, action]))
        if not isinstance(policy, NetPolicy):
            return StepExplanation(visits, self.predict(played) or 0.0, 0.0)
        quality = float(policy.qualities(len(played) - 1, row.tolist(), memory)[0][action])
        bonus = float(policy.bonuses[near, action])
        share = min(bonus / quality, 1.0) if quality > 0.0 else 0.0
        return StepExplanation(visits, min(max(quality - bonus, 0.0), 1.0), share)

    def success_map(self, dimensions: tuple[int, int] | None = None) -> SuccessMap | None:
        """Means over the centres in each cell of two numbers, by default the most relevant."""
        chosen = dimensions or tuple(np.argsort(-self.relevance, kind="stable")[:2].tolist())
        axes = tuple(Axis(d, float(self.low[d]), float(self.high[d]), CELLS) for d in chosen)
        cells, size = self._cells(axes), CELLS ** len(axes)
        counts = np.bincount(cells, minlength=size)
        empty = counts == 0

        def mean(values: Floats) -> Floats:
            total = np.bincount(cells, values, minlength=size)
            return np.where(empty, np.nan, total / np.maximum(counts, 1))

        actions = np.full(size, -1)
        actions[cells] = self.best_actions
        visits = np.bincount(cells, self.visits.mean(axis=1), minlength=size)
        return SuccessMap(
            success=mean(self.success),
            effects=np.nan_to_num(mean(self.values)),
            visits=np.round(visits).astype(np.int64),
            bonuses=np.nan_to_num(mean(self.bonuses)),
            best_actions=actions,
            axes=axes,
        )

    def _cells(self, axes: tuple[Axis, ...]) -> Integers:
        """The cell of every centre; centres outside the bounds go to the nearest cell."""
        seen = Scaling(self.centre, self.unit, self.relevance).back(self.centres)
        cells = np.zeros(len(seen), dtype=np.int64)
        for axis in axes:
            place = (seen[:, axis.dimension] - axis.low) / (axis.high - axis.low)
            cells = cells * CELLS + np.clip(np.floor(place * CELLS), 0, CELLS - 1).astype(np.int64)
        return cells

    def document(self) -> ModelDocument | None:
        """The values of the label model on the centres."""
        return ModelDocument(self.description, self.values, float(self.logits[0]))

    def arrays(self) -> Arrays:
        """All fields by name."""
        return {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Restore an insight from what ``arrays`` returned."""
        named: dict[str, Any] = dict(arrays)
        return cls(**named | {"description": str(named["description"])})


def _describe(verdict: str, relevance: Floats) -> str:
    parts = ", ".join(f"{part:.2f}" for part in relevance)
    return (
        f"the log-odds of a good label at each centre by {verdict}; relevance of numbers: {parts}"
    )
