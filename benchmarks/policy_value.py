"""What a policy is worth in a model: every trajectory and every outcome of its own dice."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from app.errors import BudgetExceeded, InvalidValue
from app.learning.arrays import Floats, Integers
from app.learning.world.model import Successors
from app.learning.world.policy import Policy
from app.planning.problem import PlanningProblem
from benchmarks.exact import Space

PATHS = 5e6
_LOWER = "lower the horizon, or take a policy with fewer outcomes"

Branch = tuple[float, int, tuple[int, ...]]


def policy_value(
    problem: PlanningProblem, policy: Policy, space: Space = "logit", most: float = PATHS
) -> float:
    """The expected worth of ``policy``, by enumeration; refuses more than ``most`` paths.

    In logit space an episode is worth mu(offset + sum w) + sum b, in reward space
    min(mu(offset + sum w) + sum v, 1) + sum b.
    """
    if space not in ("logit", "reward"):
        raise InvalidValue("space", "logit or reward")
    widths, ended_widths = problem.widths, problem.ended_widths
    if space == "logit" or widths is None or ended_widths is None:
        widths, ended_widths = np.zeros_like(problem.weights), np.zeros_like(problem.ended_weights)
    successors = Successors(problem.transitions)
    paths, total = _Paths.begin(problem), 0.0
    for h in range(problem.horizon):
        paths, actions = _act(paths, policy, h, most)
        taken = (h, paths.states, actions)
        total += float(paths.chances @ problem.bonuses[taken])
        x, y = paths.x + problem.weights[taken], paths.y + widths[taken]
        paths = replace(paths, x=x, y=y)
        if h < problem.horizon - 1:
            rows = paths.states * problem.actions + actions
            _check(successors.counts(rows).sum(), most)
            origins, columns, chances = successors.follow(rows)
            paths = paths.split(origins, chances)
            live, over = np.flatnonzero(columns < problem.states), columns >= problem.states
            rest = (h + 1, columns[over] - problem.states)
            x = paths.x[over] + problem.ended_weights[rest]
            y = paths.y[over] + ended_widths[rest]
            total += float(paths.chances[over] @ np.minimum(expit(x) + y, 1.0))
            paths = replace(paths.split(live), states=columns[live])
    return total + float(paths.chances @ np.minimum(expit(paths.x) + paths.y, 1.0))


@dataclass(frozen=True)
class _Paths:
    """All paths of one length, side by side."""

    states: Integers
    memories: list[tuple[int, ...]]  # the different ones
    memory: Integers  # which of them
    chances: Floats
    x: Floats  # offset + sum of w so far
    y: Floats  # sum of v so far

    @classmethod
    def begin(cls, problem: PlanningProblem) -> _Paths:
        """One path for each first state."""
        states = np.flatnonzero(problem.start > 0)
        nothing = np.zeros(len(states))
        x = nothing + problem.offset
        return cls(states, [()], nothing.astype(np.int64), problem.start[states], x, nothing)

    def split(self, origins: Integers, chances: Floats | float = 1.0) -> _Paths:
        """Copies of the paths ``origins``, less likely by ``chances``."""
        return _Paths(
            self.states[origins],
            self.memories,
            self.memory[origins],
            self.chances[origins] * chances,
            self.x[origins],
            self.y[origins],
        )


def _act(paths: _Paths, policy: Policy, h: int, most: float) -> tuple[_Paths, Integers]:
    """Split every path by what the policy may do there; with the actions."""
    pairs = np.stack([paths.states, paths.memory], axis=1)
    kinds, which = np.unique(pairs, axis=0, return_inverse=True)
    which = which.ravel()
    ways = [policy.branches(h, int(s), paths.memories[m]) for s, m in kinds]
    counts = np.array([len(way) for way in ways], dtype=np.int64)
    _check(counts[which].sum(), most)
    # Branch number n of kind k is entry first[k] + n of the flat lists.
    first = np.cumsum(counts) - counts
    copies = counts[which]
    origins = np.repeat(np.arange(len(which)), copies)
    number = np.arange(len(origins)) - np.repeat(np.cumsum(copies) - copies, copies)
    entries = first[which][origins] + number
    places: dict[tuple[int, ...], int] = {}
    after = [places.setdefault(memory, len(places)) for way in ways for _, _, memory in way]
    chances = np.array([chance for way in ways for chance, _, _ in way])
    actions = np.array([action for way in ways for _, action, _ in way], dtype=np.int64)
    split = paths.split(origins, chances[entries])
    memory = np.array(after, dtype=np.int64)[entries]
    return replace(split, memories=list(places), memory=memory), actions[entries]


def _check(count: float, most: float) -> None:
    if count > most:
        raise BudgetExceeded("policy value: paths", count, most, _LOWER)
