"""Training on a vector environment: all its environments act in one call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from plaudit.endpoints.fleets import Step, step_many
from plaudit.episode import Episode
from plaudit.gym.progress import Progress
from plaudit.gym.rollout import Rollout
from plaudit.gym.train import Run, end, give_up

_AT_ONCE = 1000  # steps that the server takes in one call


@dataclass
class Slot:
    """An episode that one environment of the vector plays."""

    episode: Episode
    rollout: Rollout = field(default_factory=Rollout)


class SideBySide:
    """Plays episodes in the environments of a vector.

    An environment begins an episode after a reset. If the agent's horizon ends the episode first,
    the environment continues without an episode until its next reset.
    """

    def __init__(self, plan: Run, envs: Any, indices: Sequence[int], bar: Progress) -> None:
        self._plan, self._envs, self._bar = plan, envs, bar
        self._indices: Iterator[int] = iter(indices)
        self._slots: list[Slot | None] = [None] * envs.num_envs
        self._resets = Resets(envs)
        self.labels: list[bool | None] = []

    def play(self) -> list[bool | None]:
        """Play until every episode is over; their labels, in the order in which they ended."""
        observations, infos = self._envs.reset(seed=self._plan.seed)
        try:
            self._begin(self._parts(observations), infos)
            while any(self._slots):
                self._begin(*self._step())
        except BaseException:
            self._abandon_all()
            raise
        return self.labels

    def _begin(self, observations: Sequence[Any], infos: dict[str, Any]) -> None:
        """Begin an episode in every environment that was reset and plays none."""
        for i, slot in enumerate(self._slots):
            if slot is not None or not self._resets.fresh[i]:
                continue
            index = next(self._indices, None)
            if index is None:
                return
            name = self._plan.external_id(index)
            new = Slot(self._plan.agent.episode(external_id=name, wait=self._plan.wait))
            new.rollout.id = new.episode.start().id
            new.rollout.begin(observations[i], info_of(infos, i))
            self._slots[i] = new

    def _step(self) -> tuple[Sequence[Any], dict[str, Any]]:
        """One step of every environment; what they show now."""
        actions = self._actions()
        observations, rewards, terminated, truncated, infos = self._envs.step(self._joined(actions))
        shown = self._parts(observations)
        done = [bool(a or b) for a, b in zip(terminated, truncated, strict=True)]
        for i, slot in enumerate(self._slots):
            if slot is not None:
                final, info = self._resets.last(i, done[i], shown[i], infos)
                flags = bool(terminated[i]), bool(truncated[i])
                slot.rollout.add(actions[i], final, rewards[i], *flags, info)
                self._end_if_over(i, slot)
        return self._resets.after(done, shown, infos, self._parts)

    def _actions(self) -> list[Any]:
        """What each environment does; those without an episode do the first action."""
        adapter = self._plan.adapter
        actions = [adapter.action(0)] * len(self._slots)
        playing = [(i, slot) for i, slot in enumerate(self._slots) if slot is not None]
        for begin in range(0, len(playing), _AT_ONCE):
            part = playing[begin : begin + _AT_ONCE]
            answers = self._asked([slot for _, slot in part])
            for (i, _), answer in zip(part, answers, strict=True):
                actions[i] = adapter.action(answer)
        return actions

    def _asked(self, slots: list[Slot]) -> list[int | str]:
        """The actions of some episodes, in one call."""
        steps = [
            Step(
                slot.episode.id,
                self._plan.adapter.state(slot.rollout.observations[-1]),
                slot.episode.length,
            )
            for slot in slots
        ]
        results = self._plan.agent._session.run(step_many(steps))
        return [
            slot.episode.took(result.answer()) for slot, result in zip(slots, results, strict=True)
        ]

    def _end_if_over(self, i: int, slot: Slot) -> None:
        if not (slot.rollout.over or slot.episode.over):
            return
        end(self._plan, slot.episode, slot.rollout)
        self._slots[i] = None
        self.labels.append(self._plan.judged(slot.episode, slot.rollout, self._bar))
        self._bar.episode(self.labels[-1])

    def _abandon_all(self) -> None:
        for slot in self._slots:
            if slot is not None:
                give_up(self._plan, slot.episode)

    def _parts(self, observations: Any) -> list[Any]:
        """The observations of the environments, one by one."""
        from gymnasium.vector.utils import iterate

        return list(iterate(self._envs.observation_space, observations))

    def _joined(self, actions: list[Any]) -> Any:
        """The actions of all environments, as the vector takes them."""
        from gymnasium.vector.utils import concatenate, create_empty_array

        space: Any = self._envs.single_action_space
        joined: Any = create_empty_array(space, len(actions))
        return concatenate(space, actions, joined)


class Resets:
    """When the environments of a vector are reset, in Gymnasium's three modes.

    NextStep: the step after the end resets and ignores its action. SameStep: the step that ends
    also resets, and its own observation is in the infos. Disabled: the caller resets.
    """

    def __init__(self, envs: Any) -> None:
        self._envs = envs
        mode = envs.metadata.get("autoreset_mode")
        self._mode = str(getattr(mode, "value", mode or "NextStep"))
        self.fresh = [True] * envs.num_envs
        self._pending = [False] * envs.num_envs

    def last(
        self, i: int, done: bool, shown: Any, infos: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """What an environment showed at the end of a step, before any reset."""
        if done and self._mode == "SameStep":
            return infos["final_obs"][i], info_of(infos["final_info"], i)
        return shown, info_of(infos, i)

    def after(
        self, done: list[bool], shown: Sequence[Any], infos: dict[str, Any], parts: Any
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        """Reset what is to be reset now; what the environments show then."""
        if self._mode == "NextStep":
            self.fresh, self._pending = self._pending, done
            return shown, infos
        self.fresh = done
        if self._mode == "SameStep" or not any(done):
            return shown, infos
        import numpy as np

        observations, infos = self._envs.reset(options={"reset_mask": np.array(done)})
        return parts(observations), infos


def info_of(infos: dict[str, Any], i: int) -> dict[str, Any]:
    """The infos of one environment, from the infos of the vector."""
    return {
        name: info_of(values, i) if isinstance(values, dict) else values[i]
        for name, values in infos.items()
        if not name.startswith(("_", "final_")) and bool(infos.get(f"_{name}", _ALL)[i])
    }


class _All:
    def __getitem__(self, _: int) -> bool:
        return True


_ALL = _All()
