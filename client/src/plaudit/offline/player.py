"""Playing episodes with a policy document: the actions that the server would choose."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from plaudit.answers.insight import PolicyView
from plaudit.answers.values import Action
from plaudit.errors import InvalidArgument
from plaudit.offline.alternatives import SECOND_NUMBER, another_action
from plaudit.offline.generator import uniform
from plaudit.offline.policies import policy_of
from plaudit.offline.spaces import action_of, index_of, state_reader

GENERATOR = "splitmix64"


class Player:
    """Runs a policy here. `play(number)` begins an episode with its own random numbers."""

    def __init__(self, view: PolicyView) -> None:
        if view.generator != GENERATOR:
            raise InvalidArgument(
                f"This client cannot make the random numbers of {view.generator!r}. "
                "Upgrade plaudit-client."
            )
        self.view = view
        self._policy = policy_of(view.policy)
        self._read = state_reader(view.states)
        self._seed = int(view.seed)

    def play(self, number: int | None = None) -> Playing:
        """An episode with a number; by default the one that the policy was made for."""
        return Playing(self, self.view.episode_number if number is None else number)

    def choose(
        self,
        number: int,
        step: int,
        state: object,
        memory: Any,
        done: object = None,
        allowed: Iterable[object] | None = None,
    ) -> tuple[Action, Any]:
        """The action at a step of an episode, and the memory after it.

        With ``done``, the action that somebody else did, it is the memory after that.
        """
        luck, seen = uniform(self._seed, number, step), self._read(state)
        other = None if done is None else index_of(self.view.actions, done)
        if other is None and allowed is not None:
            possible = self._possible(seen, allowed)
            chosen, _ = self._policy.act(step, seen, memory, luck)
            again = uniform(self._seed, number, step + SECOND_NUMBER)
            other = chosen
            if chosen not in possible:
                other = another_action(self._policy, step, seen, memory, again, possible)
        index, memory = self._policy.act(step, seen, memory, luck, other)
        return action_of(self.view.actions, index), memory

    def _possible(self, seen: object, allowed: Iterable[object]) -> list[int]:
        """The allowed actions that the agent's specification allows too, in ascending order."""
        given = {index_of(self.view.actions, action) for action in allowed}
        limits = {limit.state: limit.actions for limit in self.view.allowed}
        if isinstance(seen, int) and seen in limits:
            given &= set(limits[seen])
        if not given:
            raise InvalidArgument("None of the allowed actions is possible in this state.")
        return sorted(given)


class Playing:
    """One episode that is played here."""

    def __init__(self, player: Player, number: int) -> None:
        self._player = player
        self._memory: Any = None
        self._before: tuple[object, Any] | None = None  # the last state, and the memory then
        self.number = number
        self.length = 0

    @property
    def over(self) -> bool:
        """Whether the horizon is reached."""
        return self.length >= self._player.view.horizon

    def act(
        self,
        state: object,
        *,
        action: object = None,
        executed: object = None,
        allowed: Iterable[object] | None = None,
    ) -> Action:
        """The action to do now.

        With ``action`` the caller acts itself. ``executed`` is what was done in the step before,
        where it was not the answer; the policy goes on from what was done. ``allowed`` are the
        actions that are possible now.
        """
        if self.over:
            raise InvalidArgument("The episode is over: its horizon is reached. Start another.")
        memory = self._memory if executed is None else self._corrected(executed)
        number, step = self.number, self.length
        chosen, after = self._player.choose(number, step, state, memory, action, allowed)
        self._before, self._memory = (state, memory), after
        self.length += 1
        return chosen

    def _corrected(self, executed: object) -> Any:
        """The memory where another action was done in the step before."""
        if self._before is None:
            raise InvalidArgument("No action was done before the first step.")
        state, memory = self._before
        return self._player.choose(self.number, self.length - 1, state, memory, executed)[1]
