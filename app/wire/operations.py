"""Whether the server is alive, or ready."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.wire.base import Answer


class Health(Answer):
    """Whether the server is alive, or ready."""

    status: Literal["ok", "starting", "unavailable"] = Field(description="`ok` or not")
    version: str = Field(description="of the server")
    reason: str | None = Field(default=None, description="why it is not ready; null if it is")
