"""The options of `uniform`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.agents.options import Options


class UniformOptions(Options):
    """`uniform` has no options."""

    kind: Literal["uniform"] = Field(default="uniform", description="this agent kind")
