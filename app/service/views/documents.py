"""An agent's model and policy as plain JSON, for people and for clients that act by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.agents.tabular_insight import Insight
from app.service.agents.hosted_agent import HostedAgent, HostedPlan

GENERATOR = "splitmix64"


def model_document(agent: HostedAgent, insight: Insight | None) -> dict[str, Any]:
    """The learned weights, visits, transition estimate and bonuses."""
    head: dict[str, Any] = {"agent": agent.id, "policy_version": agent.version}
    if insight is None:
        return head | dict.fromkeys(
            ("features", "weights", "intercept", "visits", "bonuses", "start", "transitions")
        )
    return head | {
        "features": insight.description,
        "weights": insight.feature_weights.tolist(),
        "intercept": insight.offset,
        "visits": insight.visits.tolist(),
        "bonuses": insight.bonuses.max(axis=0).tolist(),
        "start": insight.start.tolist(),
        "transitions": _transitions(agent, insight),
    }


def _transitions(agent: HostedAgent, insight: Insight) -> list[dict[str, Any]]:
    """What follows each state and action that was tried."""
    _, S, A = insight.weights.shape
    states, actions = agent.states, agent.actions
    rows = []
    for row in np.flatnonzero(np.diff(insight.indptr)):
        entries = slice(int(insight.indptr[row]), int(insight.indptr[row + 1]))
        pairs = zip(
            insight.columns[entries].tolist(), insight.probabilities[entries].tolist(), strict=True
        )
        followers = [_follower(states, column, chance, S) for column, chance in pairs]
        state, action = divmod(int(row), A)
        rows.append(
            {
                "state": states.decode(state),
                "action": actions.decode(action),
                "followers": followers,
            }
        )
    return rows


def _follower(states: Any, column: int, chance: float, S: int) -> dict[str, Any]:
    ended = column >= S
    place = column - S if ended else column
    known = states.decode(place) if place < S else None
    return {"state": known, "ended": ended, "probability": chance}


def policy_document(agent: HostedAgent, plan: HostedPlan, episode: int) -> dict[str, Any]:
    """A policy that a client can run by itself; docs/policy.md says how."""
    policy = plan.policy
    return {
        "agent": agent.id,
        "policy_version": plan.version,
        "episode_number": episode,
        "label_required": plan.label_required,
        "horizon": agent.horizon,
        "seed": str(agent.seed),  # 63 bits: more than a JSON number is sure to keep
        "generator": GENERATOR,
        "states": agent.specification.states.model_dump(mode="json"),
        "actions": agent.specification.actions.model_dump(mode="json"),
        "policy": {
            "kind": policy.kind,
            **{name: array.tolist() for name, array in policy.arrays().items()},
        },
    }
