"""Playing episodes with a policy document: the actions that the server would choose."""

from __future__ import annotations

from typing import Any

from plaudit.answers.insight import PolicyView
from plaudit.answers.values import Action
from plaudit.errors import InvalidArgument
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
        self, number: int, step: int, state: object, memory: Any, done: object = None
    ) -> tuple[Action, Any]:
        """The action at a step of an episode, and the memory after it.

        With ``done``, the action that somebody else did, it is the memory after that.
        """
        luck = uniform(self._seed, number, step)
        other = None if done is None else index_of(self.view.actions, done)
        index, memory = self._policy.act(step, self._read(state), memory, luck, other)
        return action_of(self.view.actions, index), memory


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

    def act(self, state: object, *, action: object = None, executed: object = None) -> Action:
        """The action to do now.

        With ``action`` the caller acts itself. ``executed`` is what was done in the step before,
        where it was not the answer. The policy goes on from what was done.
        """
        if self.over:
            raise InvalidArgument("The episode is over: its horizon is reached. Start another.")
        memory = self._memory if executed is None else self._corrected(executed)
        chosen, after = self._player.choose(self.number, self.length, state, memory, action)
        self._before, self._memory = (state, memory), after
        self.length += 1
        return chosen

    def _corrected(self, executed: object) -> Any:
        """The memory where another action was done in the step before."""
        if self._before is None:
            raise InvalidArgument("No action was done before the first step.")
        state, memory = self._before
        return self._player.choose(self.number, self.length - 1, state, memory, executed)[1]
