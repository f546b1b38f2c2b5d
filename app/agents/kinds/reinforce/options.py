"""The options of `reinforce`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from app.agents.options import Options

Width = Annotated[int, Field(ge=1, le=1024, strict=True)]
Activation = Literal["tanh", "relu"]
Advantages = Literal["normalised", "centred", "raw"]

LITERAL: dict[
    str, Any
] = {  # the text of the paper, and the usual choice for ReLU where the paper says nothing
    "hidden": (4,) * 10,
    "activation": "relu",
    "inputs": "raw",
    "advantages": "raw",
    "step_size": 1.0,
    "output_scale": 1.0,
}


class ReinforceOptions(Options):
    """How `reinforce` learns. The literal configuration changes the other defaults."""

    observes: ClassVar[bool] = True
    needs_bounds: ClassVar[bool] = True

    kind: Literal["reinforce"] = Field(default="reinforce", description="this agent kind")
    configuration: Literal["working", "literal"] = Field(
        default="working", description='"literal" is the paper\'s text; it does not learn'
    )
    batch: int = Field(default=30, strict=True, ge=1, le=10_000, description="labels per step")
    hidden: tuple[Width, ...] = Field(
        default=(64, 64), max_length=12, description="widths of the hidden layers"
    )
    activation: Activation = Field(default="tanh", description="of the hidden layers")
    inputs: Literal["scaled", "raw"] = Field(
        default="scaled", description="to [-1, 1] by the bounds of the observations"
    )
    advantages: Advantages = Field(
        default="normalised",
        description='labels less their mean over the batch ("centred"), also divided by their '
        'deviation ("normalised"), or as they are ("raw")',
    )
    step_size: float = Field(default=2e-3, strict=True, ge=1e-12, le=10, description="of Adam")
    output_scale: float = Field(
        default=0.01, strict=True, ge=0, le=10, description="of the last layer's first weights"
    )

    @model_validator(mode="before")
    @classmethod
    def _literal(cls, data: Any) -> Any:
        literal = isinstance(data, dict) and data.get("configuration") == "literal"
        return LITERAL | data if literal else data
