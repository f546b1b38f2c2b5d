"""Another action where a policy's own choice is not allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plaudit.offline.policies import Policy

SECOND_NUMBER = 1 << 32
"""Added to a step's number: the address of its second random number."""


def another_action(
    policy: Policy, step: int, state: Any, memory: Any, u: float, allowed: Sequence[int]
) -> int:
    """An allowed action, in ascending order; ``u`` is the step's second number.

    A net takes the best of them, a network draws one by its probabilities, and the other kinds
    draw any of them.
    """
    from plaudit.offline.net import Net
    from plaudit.offline.network import Network

    if isinstance(policy, Net):
        return policy.within(step, state, memory, allowed)
    weights = [1.0] * len(allowed)
    if isinstance(policy, Network):
        chances = policy.chances(state)
        weights = [chances[action] for action in allowed]
    aim, total = u * sum(weights), 0.0
    for action, weight in zip(allowed, weights, strict=True):
        total += weight
        if aim < total:
            return action
    return allowed[-1]
