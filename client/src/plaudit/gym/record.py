"""Recording: the frames that an environment renders, for the people who judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium

from plaudit.errors import InvalidArgument
from plaudit.gym.apng import animated_png

_DEFAULT_FPS = 10


class RecordFrames(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Keeps the frames of an episode; `train` uploads them as the episode's recording.

    The environment must render arrays: ``gymnasium.make(…, render_mode="rgb_array")``. An episode
    of more than ``most_frames`` frames, or more than ``most_bytes`` bytes, is shown in larger
    steps.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        *,
        most_frames: int = 200,
        most_bytes: int = 10_000_000,
    ) -> None:
        super().__init__(env)
        if env.render_mode != "rgb_array":
            raise InvalidArgument(
                f"RecordFrames needs arrays, and the environment renders {env.render_mode!r}. Make "
                'it with render_mode="rgb_array".'
            )
        self._most_frames, self._most_bytes = most_frames, most_bytes
        self._frames: list[Any] = []

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Reset the environment, and begin a new recording."""
        result = self.env.reset(**options)
        self._frames = []
        self._keep()
        return result

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step the environment, and keep a frame."""
        result = self.env.step(action)
        self._keep()
        return result

    def picture(self) -> bytes:
        """The frames so far as an animated PNG, which every browser plays."""
        frames = thinned(self._frames, self._most_frames)
        content = self._encoded(frames)
        while len(content) > self._most_bytes and len(frames) > 1:
            frames = thinned(frames, len(frames) // 2)
            content = self._encoded(frames)
        return content

    def _keep(self) -> None:
        frame: Any = self.env.render()
        if getattr(frame, "ndim", 0) != 3 or frame.shape[2] not in (3, 4):
            raise InvalidArgument("The environment rendered no picture of RGB values.")
        self._frames.append(frame.astype("uint8"))

    def _encoded(self, frames: Sequence[Any]) -> bytes:
        fps = self.metadata.get("render_fps") or _DEFAULT_FPS
        shown = 1000 * len(self._frames) / (fps * len(frames))
        return animated_png(frames, min(round(shown), 60_000))


def thinned(frames: Sequence[Any], most: int) -> list[Any]:
    """At most ``most`` frames, evenly spaced, including the first and the last."""
    if len(frames) <= most:
        return list(frames)
    if most < 2:
        return [frames[-1]]
    last = len(frames) - 1
    return [frames[round(i * last / (most - 1))] for i in range(most)]


def recorder_of(env: Any) -> RecordFrames | None:
    """The recorder among the wrappers of an environment, if there is one."""
    while env is not None:
        if isinstance(env, RecordFrames):
            return env
        env = getattr(env, "env", None)
    return None
