"""Every kind of policy by its name: what turns stored arrays into a policy again."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from app.errors import InvalidValue, SnapshotError
from app.planning.policies.grid import GridPolicy
from app.planning.policies.history import HistoryPolicy
from app.planning.policies.markov import MarkovPolicy
from app.planning.policies.network import NetworkPolicy
from app.planning.policies.reward import RewardPolicy
from app.planning.policies.tracked import TrackedPolicy
from app.planning.policies.uniform import UniformPolicy
from app.planning.problem import Policy
from app.planning.reference.paper import PaperPolicy

POLICY_KINDS: Mapping[str, Any] = MappingProxyType(
    {
        kind.kind: kind
        for kind in (
            GridPolicy,
            HistoryPolicy,
            MarkovPolicy,
            NetworkPolicy,
            PaperPolicy,
            RewardPolicy,
            TrackedPolicy,
            UniformPolicy,
        )
    }
)

State = int | tuple[float, ...]  # a state's number, or the numbers that are seen


def act_in(
    policy: Policy, step: int, state: State, memory: tuple[int, ...], uniform: float
) -> tuple[int, tuple[int, ...]]:
    """`Policy.act`, for a caller that has both numbered states and observations."""
    if isinstance(policy, NetworkPolicy):
        return policy.act(step, state, memory, uniform)
    if not isinstance(state, int):
        raise InvalidValue("state", "the number of a state")
    return policy.act(step, state, memory, uniform)


def pack_policy(policy: Policy) -> bytes:
    """The arrays of a policy and its kind, as a compressed npz file."""
    buffer = io.BytesIO()
    arrays = {"kind": np.array(policy.kind), **policy.arrays()}
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def unpack_policy(packed: bytes) -> Policy:
    """The policy that `pack_policy` was given."""
    try:
        with np.load(io.BytesIO(packed), allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in stored.files}
        policy: Policy = POLICY_KINDS[str(arrays.pop("kind"))].from_arrays(arrays)
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise SnapshotError(f"not a policy: {error!r}") from error
    return policy
