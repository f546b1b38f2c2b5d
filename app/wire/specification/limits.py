"""Limits of a robot: possible actions, a fallback action, and a bound on exploration."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.wire.base import MOST_ITEMS, Action, State, Strict

MOST_ACTIONS = 65_535


class AllowedActions(Strict):
    """The actions that are possible in one state."""

    state: State = Field(description="as it is sent in steps", examples=[3])
    actions: Annotated[tuple[Action, ...], Field(min_length=1, max_length=MOST_ACTIONS)] = Field(
        description="never another one is chosen there", examples=[[0, 2]]
    )


class StateAction(Strict):
    """The fallback action of one state."""

    state: State = Field(description="as it is sent in steps", examples=[3])
    action: Action = Field(description="what is done there", examples=[0])


Allowed = Annotated[tuple[AllowedActions, ...], Field(max_length=MOST_ITEMS)]
Fallback = Action | Annotated[tuple[StateAction, ...], Field(min_length=1, max_length=MOST_ITEMS)]
