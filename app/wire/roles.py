"""The roles of keys. This module imports nothing, so that the command line starts quickly."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a key may be used for."""

    admin = "admin"
    operator = "operator"
    robot = "robot"
    actor = "actor"
    labeller = "labeller"
    viewer = "viewer"
