"""The registry of policy kinds, which restores stored policies."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from app.errors import InvalidValue, SnapshotError
from app.learning.arrays import pack_arrays, unpack_arrays
from app.learning.world.policy import Policy
from app.planning.policies.grid import GridPolicy
from app.planning.policies.history import HistoryPolicy
from app.planning.policies.markov import MarkovPolicy
from app.planning.policies.mixture import MixturePolicy
from app.planning.policies.net import NetPolicy
from app.planning.policies.network import NetworkPolicy
from app.planning.policies.reward import RewardPolicy
from app.planning.policies.tracked import TrackedPolicy
from app.planning.policies.uniform import UniformPolicy
from app.planning.reference.paper import PaperPolicy

POLICY_KINDS: Mapping[str, Any] = MappingProxyType(
    {
        kind.kind: kind
        for kind in (
            GridPolicy,
            HistoryPolicy,
            MarkovPolicy,
            MixturePolicy,
            NetPolicy,
            NetworkPolicy,
            PaperPolicy,
            RewardPolicy,
            TrackedPolicy,
            UniformPolicy,
        )
    }
)

_KIND = "kind"  # the entry that names the policy's kind

State = int | tuple[float, ...]  # a state's number, or the numbers that are seen


def act_in(
    policy: Policy, step: int, state: State, memory: tuple[int, ...], uniform: float
) -> tuple[int, tuple[int, ...]]:
    """`Policy.act`, for a caller that has both numbered states and observations."""
    if isinstance(policy, NetPolicy | NetworkPolicy | UniformPolicy):
        return policy.act(step, state, memory, uniform)
    if not isinstance(state, int):
        raise InvalidValue("state", "the number of a state")
    return policy.act(step, state, memory, uniform)


def pack_policy(policy: Policy) -> bytes:
    """Pack a policy's kind and arrays as bytes."""
    return pack_arrays({_KIND: np.array(policy.kind), **policy.arrays()})


def unpack_policy(packed: bytes) -> Policy:
    """Unpack the policy that `pack_policy` packed."""
    arrays = unpack_arrays(packed, "policy")
    try:
        policy: Policy = POLICY_KINDS[str(arrays.pop(_KIND))].from_arrays(arrays)
    except (KeyError, ValueError, TypeError) as error:
        raise SnapshotError(f"cannot read the policy: {error!r}") from error
    return policy
