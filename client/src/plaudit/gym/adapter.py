"""Adapters: an environment's observations and actions in the words of an agent."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from plaudit.answers.agents import AgentView, Space
from plaudit.errors import InvalidArgument
from plaudit.gym.codecs import Codec
from plaudit.gym.spaces import Cut, action_codec, bounds, counts, open_bounds, state_codec

METADATA = "gymnasium"
"""Where an agent's metadata keep how its environment's numbers are cut."""


class OutOfBounds(UserWarning):
    """An observation outside the bounds of its space; it counts to the edge."""


class Numbers:
    """A Box whose numbers are sent as they are: the server bins them, or the agent takes them."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._warned = space.bins is None  # without bins there is no edge to count to

    def encode(self, value: Any) -> list[float]:
        """The numbers of an observation as a list."""
        numbers = [float(x) for x in value.ravel().tolist()]
        if not self._warned:
            self._check(numbers)
        return numbers

    def _check(self, numbers: list[float]) -> None:
        limits = zip(numbers, self.space.low or (), self.space.high or (), strict=True)
        for i, (x, low, high) in enumerate(limits):
            if low is None or high is None:  # only without bins
                continue
            if not low <= x <= high and x == x:  # NaN is refused later, with its own words
                self._warned = True
                message = (
                    f"The observation left its bounds: number {i} is {x:g}, outside {low:g} to "
                    f"{high:g}. It counts to the edge. Give wider bounds with low=… and high=…, "
                    "or correct the environment. This is said once."
                )
                warnings.warn(message, OutOfBounds, stacklevel=4)
                return


class Adapter:
    """What an environment gives and takes, as states and actions of an agent."""

    def __init__(self, states: Numbers | Codec, actions: Codec) -> None:
        self._states, self._actions = states, actions

    @property
    def states(self) -> Space:
        """The states of the agent."""
        if isinstance(self._states, Numbers):
            return self._states.space
        return Space("discrete", n=self._states.size)

    @property
    def actions(self) -> Space:
        """The actions of the agent."""
        return Space("discrete", n=self._actions.size)

    def state(self, observation: Any) -> int | list[float]:
        """The state that an observation is."""
        return self._states.encode(observation)

    def action(self, answer: int | str) -> Any:
        """What the environment does for an action of the agent."""
        return self._actions.decode(int(answer))


def observation_space(env: Any) -> Any:
    """The space of one environment's observations, also of a vector of environments."""
    return getattr(env, "single_observation_space", None) or env.observation_space


def action_space(env: Any) -> Any:
    """The space of one environment's actions, also of a vector of environments."""
    return getattr(env, "single_action_space", None) or env.action_space


def adapt(env: Any, cut: Cut, algorithm: object = None) -> Adapter:
    """The adapter of an environment for an agent that is to be created."""
    from gymnasium import spaces

    space = observation_space(env)
    actions = action_codec(action_space(env), cut)
    if not isinstance(space, spaces.Box):
        return Adapter(state_codec(space, cut), actions)
    kind = algorithm.get("kind") if isinstance(algorithm, Mapping) else algorithm
    if cut.bins is None and kind in (None, "smooth"):
        lowest, highest = open_bounds(space, cut)
        return Adapter(Numbers(Space("box", low=lowest, high=highest)), actions)
    low, high = bounds(space, cut, "observation space")
    as_numbers = cut.bins is None and kind == "reinforce"
    bins = None if as_numbers else list(counts(cut.bins, len(low), "bins"))
    return Adapter(Numbers(Space("box", low=list(low), high=list(high), bins=bins)), actions)


def adapt_to(view: AgentView, env: Any) -> Adapter:
    """The adapter of an environment for an agent that exists; they must fit."""
    from gymnasium import spaces

    kept = view.metadata.get(METADATA)
    cut = Cut(**kept) if isinstance(kept, dict) else Cut()
    space, actions = observation_space(env), action_codec(action_space(env), cut)
    states: Numbers | Codec
    if isinstance(space, spaces.Box) and view.states.kind == "box":
        states = Numbers(view.states)
    else:
        states = state_codec(space, cut)
    adapter = Adapter(states, actions)
    _check("states", adapter.states, view.states, view)
    _check("actions", adapter.actions, view.actions, view)
    return adapter


def _check(what: str, of_env: Space, of_agent: Space, view: AgentView) -> None:
    if of_env != of_agent:
        raise InvalidArgument(
            f"The environment does not fit agent {view.name!r} ({view.id}): it has "
            f"{what} {_shown(of_env)}, the agent {_shown(of_agent)}. Use the environment that the "
            "agent was made for, or an agent with another name."
        )


def _shown(space: Space) -> str:
    return str({name: value for name, value in vars(space).items() if value is not None})
