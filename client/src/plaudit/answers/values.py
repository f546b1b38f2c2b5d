"""The words and values that answers share."""

from __future__ import annotations

from typing import Any, Literal, Union

State = Union[int, str, "list[float]"]
Action = int | str
Label = Literal[0, 1]
Status = Literal["running", "awaiting_label", "labelled", "completed", "abandoned"]
Learning = Literal["idle", "queued", "running", "failed"]
Mode = Literal["learn", "exploit", "evaluate", "imported"]
Wait = bool | Literal["adaptive"]
PlayMode = Literal["learn", "exploit", "evaluate"]
Role = Literal["admin", "operator", "robot", "actor", "labeller", "viewer"]
Actor = Literal["policy", "client", "override", "fallback"]
Metadata = dict[str, Any]
