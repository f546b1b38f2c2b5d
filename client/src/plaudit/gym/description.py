"""An agent described by an environment: spaces, horizon, and how pages draw its states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plaudit._core.values import plain
from plaudit.answers.agents import Space
from plaudit.errors import InvalidArgument
from plaudit.gym.adapter import METADATA, adapt
from plaudit.gym.display import display_of
from plaudit.gym.spaces import Cut


@dataclass(frozen=True)
class Described:
    """What an environment says about its agent."""

    states: Space
    actions: Space
    horizon: int
    display: Mapping[str, object] | None
    metadata: Mapping[str, object]


def describe(env: Any, cut: Cut, algorithm: object, horizon: int | None) -> Described:
    """The agent for an environment; ``horizon`` goes before the environment's own limit."""
    adapter = adapt(env, cut, algorithm)
    kept = {name: plain(value) for name, value in vars(cut).items() if value is not None}
    return Described(
        states=adapter.states,
        actions=adapter.actions,
        horizon=horizon if horizon is not None else _horizon(env),
        display=display_of(env, adapter.states, adapter.actions),
        metadata={METADATA: kept} if kept else {},
    )


def _horizon(env: Any) -> int:
    """The limit of steps that an environment was registered or wrapped with."""
    spec = getattr(env, "spec", None)
    found = getattr(spec, "max_episode_steps", None)
    if found is None:
        raise InvalidArgument(
            "The environment does not say after how many steps an episode is cut. Pass "
            "horizon=…, the most steps that an episode may have."
        )
    return int(found)
