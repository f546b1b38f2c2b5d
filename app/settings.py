"""The settings of a Plaudit process, from `PLAUDIT_*` in the environment or a `.env` file."""

from __future__ import annotations

import ipaddress
import os
from typing import Any, Literal, get_args, get_origin

from pydantic import Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.errors import InvalidValue


class Settings(BaseSettings):
    """Read once where a process starts, and passed on from there."""

    model_config = SettingsConfigDict(
        env_prefix="PLAUDIT_", env_file=".env", frozen=True, extra="ignore"
    )

    database_url: str = Field(
        default="sqlite:///data/plaudit.db", description="where everything is kept"
    )
    synchronous: Literal["FULL", "NORMAL"] = Field(
        default="FULL",
        description="FULL survives a power cut, NORMAL only a crash of the process; faster",
    )
    host: str = Field(default="127.0.0.1", description="address to listen on")
    port: int = Field(default=8000, ge=0, le=65535, description="port to listen on; 0 is any")
    root_path: str = Field(default="", description="path under which a proxy serves it")
    admin_key: SecretStr | None = Field(
        default=None, min_length=16, description="an admin key; turns keys on"
    )
    allow_anyone: bool = Field(
        default=False, description="serve without keys on any address: everybody may do everything"
    )
    log_format: Literal["text", "json"] = Field(default="text", description="one line an event")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="what is worth a line"
    )
    body_bytes: int = Field(default=8_000_000, ge=1000, description="largest body of a request")
    recording_bytes: int = Field(
        default=50_000_000, ge=1000, le=500_000_000, description="largest recording of an episode"
    )
    metadata_bytes: int = Field(default=16_000, ge=2, description="largest metadata, as JSON")
    max_states: int = Field(default=100_000, ge=1, description="states an agent may have")
    max_horizon: int = Field(default=100_000, ge=1, description="steps an episode may have")
    max_cells: int = Field(
        default=20_000_000, ge=1, description="horizon x states x actions an agent may have"
    )
    plan_cells: float = Field(default=5e7, gt=0, description="grid points one plan may use")
    plan_bytes: float = Field(default=2e9, gt=0, description="memory one plan may use")
    learning_processes: int = Field(
        default_factory=lambda: max(1, (os.cpu_count() or 2) - 1),
        ge=1,
        le=256,
        description="processes that learn; one fewer than cores by default",
    )
    learning_seconds: float = Field(
        default=120.0, gt=0, description="longest one learning job may take"
    )
    wait_seconds: float = Field(
        default=30.0, ge=0, description="longest an episode's start waits for learning"
    )
    most_plans: int = Field(
        default=16, ge=1, le=256, description="plans of one version, for episodes side by side"
    )
    idle_seconds: float = Field(
        default=900.0, gt=0, description="agents and episodes unused for so long leave memory"
    )
    drain_seconds: float = Field(
        default=10.0, ge=0, description="how long a shutdown waits for requests under way"
    )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def load_settings(**changes: Any) -> Settings:
    """The settings of this process; a bad one is named as it stands in the environment.

    ``changes`` come from the command line and go before the environment; None changes nothing.
    """
    try:
        return Settings(**{key: value for key, value in changes.items() if value is not None})
    except ValidationError as error:
        problem = error.errors()[0]
        name = "PLAUDIT_" + "_".join(str(part) for part in problem["loc"]).upper()
        raise InvalidValue(name, problem["msg"].removeprefix("Input should be ")) from error


def settings_table() -> str:
    """Every setting as the rows of a Markdown table; docs/settings.md holds it."""
    rows = ["| variable | default | what it is |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        words = field.description or ""
        if get_origin(field.annotation) is Literal:
            words = (
                f"{' or '.join(f'`{choice}`' for choice in get_args(field.annotation))}: {words}"
            )
        rows.append(f"| `PLAUDIT_{name.upper()}` | {_default(field)} | {words} |")
    return "\n".join(rows)


def _default(field: FieldInfo) -> str:
    value = field.default
    if field.default_factory is not None or value in (None, ""):
        return ""
    if isinstance(value, bool):
        return f"`{value}`".lower()
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


if __name__ == "__main__":
    print(settings_table())
