"""The settings of a Plaudit process, from `PLAUDIT_*` in the environment or a `.env` file."""

from __future__ import annotations

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.errors import InvalidValue
from app.learning.planning.problem import PlanBudget


class Settings(BaseSettings):
    """Read once where a process starts, and passed on from there."""

    model_config = SettingsConfigDict(
        env_prefix="PLAUDIT_", env_file=".env", frozen=True, extra="ignore"
    )

    plan_cells: float = Field(default=2e8, gt=0, description="grid points one plan may use")
    plan_bytes: float = Field(default=2e9, gt=0, description="memory one plan may use")

    @property
    def plan_budget(self) -> PlanBudget:
        """What one plan may use."""
        return PlanBudget(cells=self.plan_cells, bytes=self.plan_bytes)


def load_settings() -> Settings:
    """The settings of this process; a bad one is named as it stands in the environment."""
    try:
        return Settings()
    except ValidationError as error:
        problem = error.errors()[0]
        name = "PLAUDIT_" + "_".join(str(part) for part in problem["loc"]).upper()
        raise InvalidValue(name, problem["msg"].removeprefix("Input should be ")) from error
