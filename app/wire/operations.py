"""Whether the server is alive, or ready."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.wire.base import Answer


class Health(Answer):
    """Whether the server is alive, or ready."""

    status: Literal["ok", "starting", "unavailable"] = Field(description="`ok`, or why not")
    version: str = Field(description="of the server")
