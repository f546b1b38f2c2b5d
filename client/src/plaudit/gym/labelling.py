"""Labels for episodes that were played: from a function, from people, or later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from plaudit._core.values import plain
from plaudit.errors import InvalidArgument, LabelFailed
from plaudit.gym.rollout import Rollout

LabelFunction = Callable[[Rollout], object]
Labeller = LabelFunction | Literal["human"] | None
"""A function of the episode; "human" waits for people at the desk; None leaves labels for later."""


def check_labeller(label: Labeller) -> Labeller:
    """Refuse what can label nothing, before anything is played."""
    if label is None or label == "human" or callable(label):
        return label
    raise InvalidArgument(
        f'label is {label!r}. Give a function of the episode, "human" to wait for people at the '
        "desk, or None to label later."
    )


def judge(label: LabelFunction, rollout: Rollout) -> bool | None:
    """The label that a function gives; None leaves the episode to people.

    What the function raises is raised as `LabelFailed`, which names the episode.
    """
    try:
        given = plain(label(rollout), "label")
        if given in (0, 1, None):  # False and True too
            return None if given is None else bool(given)
        raise InvalidArgument(f"it returned {given!r} instead of True, False or None")
    except Exception as error:
        raise LabelFailed(rollout.id or "", error) from error
