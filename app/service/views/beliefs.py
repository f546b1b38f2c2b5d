"""What an agent believes, prepared for its page: the worth of states and what follows actions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.agents.insight import Follower, Insight, Pair, SuccessMap

_UNCERTAIN = 8  # least tried actions that are listed
_FOLLOWERS = 20  # likeliest next states that are listed
_LISTED = 20  # states that are listed where no grid is drawn


@dataclass(frozen=True)
class StateBelief:
    """What an agent believes of one state."""

    state: int
    weight: float
    visits: int
    bonus: float


@dataclass(frozen=True)
class Beliefs:
    """What an agent believes of its states, and of what follows one chosen state and action."""

    features: str  # a description
    states: int
    unvisited: int
    largest: float  # the largest absolute weight
    grid: list[StateBelief]  # the first states in order; empty where no grid is drawn
    listed: list[StateBelief]  # the states with the largest weights
    uncertain: list[Pair]
    state: int  # the chosen one
    action: int
    tried: int
    followers: list[Follower]


def beliefs_of(
    insight: Insight, squares: int, state: int | None, action: int | None
) -> Beliefs | None:
    """The beliefs for an agent's page; None for an agent that sees numbers.

    ``squares`` is how many states are drawn as a grid, 0 for none. Without a ``state``, the least
    tried state and action are chosen.
    """
    places = insight.success_map()
    if places is None or places.axes:
        return None
    count = len(places.visits)
    order = np.lexsort((-places.visits, -np.abs(places.effects)))[:_LISTED]
    uncertain = insight.least_known(_UNCERTAIN)
    state, action = _chosen(uncertain, state, action)
    return Beliefs(
        features=insight.description,
        states=count,
        unvisited=int((places.visits == 0).sum()),
        largest=float(np.abs(places.effects).max(initial=0.0)),
        grid=[_belief(places, i) for i in range(min(count, squares))],
        listed=[_belief(places, i) for i in order.tolist()],
        uncertain=uncertain,
        state=state,
        action=action,
        tried=insight.tried(state, action),
        followers=insight.followers(state, action, _FOLLOWERS),
    )


def _chosen(uncertain: list[Pair], state: int | None, action: int | None) -> tuple[int, int]:
    """The state and action to show; by default the least tried pair."""
    if state is not None:
        return state, action or 0
    usual = (uncertain[0].state, uncertain[0].action) if uncertain else (0, 0)
    return usual[0], usual[1] if action is None else action


def _belief(places: SuccessMap, state: int) -> StateBelief:
    return StateBelief(
        state,
        float(places.effects[state]),
        int(places.visits[state]),
        float(places.bonuses[state]),
    )
