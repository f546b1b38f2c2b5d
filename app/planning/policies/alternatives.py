"""Another action where a policy's own choice is not among those that a client allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.learning.world.policy import Policy
from app.planning.policies.net import NetPolicy
from app.planning.policies.network import NetworkPolicy


def another_action(
    policy: Policy,
    step: int,
    state: Any,
    memory: tuple[int, ...],
    uniform: float,
    allowed: Sequence[int],
) -> int:
    """An action of ``allowed``, in ascending order; ``uniform`` is the step's second number.

    A net takes the best of them, and a network draws one by its probabilities. The tables of the
    other kinds hold the best action alone, so they draw any of them.
    """
    if isinstance(policy, NetPolicy):
        qualities, _ = policy.qualities(step, state, memory)
        return max(allowed, key=lambda action: float(qualities[action]))
    weights = [1.0] * len(allowed)
    if isinstance(policy, NetworkPolicy):
        chances = [chance for chance, _, _ in policy.branches(step, state, memory)]
        weights = [chances[action] for action in allowed]
    return _drawn(allowed, weights, uniform)


def _drawn(allowed: Sequence[int], weights: Sequence[float], uniform: float) -> int:
    """The first action whose summed weight is beyond ``uniform`` times the sum of all."""
    aim, total = uniform * sum(weights), 0.0
    for action, weight in zip(allowed, weights, strict=True):
        total += weight
        if aim < total:
            return action
    return allowed[-1]
