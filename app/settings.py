"""The settings of a Plaudit process, from `PLAUDIT_*` in the environment or a `.env` file."""

from __future__ import annotations

import ipaddress
import os
import re
from difflib import get_close_matches
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, DotEnvSettingsSource, SettingsConfigDict

from app.cpus import usable_cpus
from app.errors import InvalidValue

PREFIX = "PLAUDIT_"
SHORTEST_ADMIN_KEY = 16
_DAY, _YEAR = 86_400.0, 31_536_000.0

# A duration in seconds. Infinity is refused, because no limit can be turned off.
Seconds = Annotated[float, Field(ge=0, le=_DAY, allow_inf_nan=False)]


class Settings(BaseSettings):
    """The settings of one process: read once when it starts, then passed on."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_file=".env",
        frozen=True,
        extra="ignore",
        hide_input_in_errors=True,
    )

    database_url: str = Field(
        default="sqlite:///data/plaudit.db",
        description="where everything is kept: a SQLite file, or "
        "`postgresql+psycopg://user:password@host/name`",
    )
    recordings_folder: str | None = Field(
        default=None,
        description="folder of the recordings, used by this database alone; by default beside the "
        "database, such as `data/plaudit.db.recordings`",
    )
    synchronous: Literal["FULL", "NORMAL"] = Field(
        default="FULL",
        description="FULL survives a power cut, NORMAL only a crash of the process; faster",
    )
    busy_seconds: float = Field(
        default=1.0,
        ge=0,
        le=60,
        allow_inf_nan=False,
        description="longest a write waits for another process that holds the database; after "
        "that it is 503",
    )
    host: str = Field(default="127.0.0.1", description="address to listen on")
    port: int = Field(default=8000, ge=0, le=65535, description="port to listen on; 0 is any")
    root_path: str = Field(
        default="", description="path under which a proxy serves it, such as `/plaudit`"
    )
    trusted_proxies: str = Field(
        default="127.0.0.1",
        description="addresses or networks, separated by commas, whose `X-Forwarded-For` and "
        "`X-Forwarded-Proto` are believed",
    )
    admin_key: SecretStr | None = Field(
        default=None,
        description=f"an admin key of {SHORTEST_ADMIN_KEY} characters or more; turns keys on",
    )
    allow_anyone: bool = Field(
        default=False,
        description="serve without keys on any address: everyone may do everything",
    )
    log_format: Literal["text", "json"] = Field(default="text", description="form of log lines")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="lowest level that is logged"
    )
    header_bytes: int = Field(
        default=64_000, ge=1000, le=1_000_000, description="largest request line and headers"
    )
    body_bytes: int = Field(default=8_000_000, ge=1000, description="largest body of a request")
    recording_bytes: int = Field(
        default=50_000_000, ge=1000, le=500_000_000, description="largest recording of an episode"
    )
    metadata_bytes: int = Field(default=16_000, ge=2, description="largest metadata, as JSON")
    header_seconds: Seconds = Field(
        default=20.0, gt=0, description="longest that the headers of a request may take to arrive"
    )
    body_seconds: Seconds = Field(
        default=30.0,
        gt=0,
        description="longest that a body may take to arrive, and one second more for each 1000 "
        "bytes of it; also the longest that a client may read nothing of a response",
    )
    keep_alive_seconds: Seconds = Field(
        default=75.0, gt=0, description="longest that a connection may stay open without a request"
    )
    connections: int = Field(
        default=4000, ge=1, le=1_000_000, description="connections open at the same time"
    )
    connections_per_address: int = Field(
        default=1000,
        ge=1,
        le=1_000_000,
        description="of them, from one address; behind a proxy all have the address of the proxy",
    )
    sign_in_attempts: int = Field(
        default=10,
        ge=1,
        description="failed attempts to sign in within a minute, from one address or with keys "
        "that begin alike",
    )
    max_states: int = Field(
        default=100_000, ge=1, le=10_000_000, description="states an agent may have"
    )
    max_horizon: int = Field(
        default=100_000, ge=1, le=1_000_000, description="steps an episode may have"
    )
    max_cells: int = Field(
        default=20_000_000, ge=1, description="horizon x states x actions an agent may have"
    )
    max_features: int = Field(
        default=4096, ge=1, le=100_000, description="features of a table or an automaton"
    )
    plan_cells: float = Field(
        default=5e7, gt=0, le=1e12, allow_inf_nan=False, description="grid points one plan may use"
    )
    plan_bytes: float = Field(
        default=2e9, gt=0, le=1e15, allow_inf_nan=False, description="memory one plan may use"
    )
    job_seconds: Seconds = Field(
        default=20.0,
        gt=0,
        description="predicted seconds of one learning job; an agent or an import that needs more "
        "is refused",
    )
    job_bytes: float = Field(
        default=2e9,
        gt=0,
        le=1e15,
        allow_inf_nan=False,
        description="predicted memory of one learning job; an agent that needs more is refused",
    )
    warm_bytes: float = Field(
        default=1e9,
        ge=0,
        le=1e15,
        allow_inf_nan=False,
        description="memory of the agents that one learning process keeps between its jobs; the "
        "least recently used leave first",
    )
    learning_processes: int = Field(
        default_factory=lambda: max(1, usable_cpus() - 1),
        ge=1,
        le=256,
        description="processes that learn; by default one fewer than the processors that this "
        "process may use (affinity mask and cgroup quota)",
    )
    long_learning_processes: int = Field(
        default=1,
        ge=0,
        le=64,
        description="more processes, for learning jobs longer than a second, so that they hold up "
        "no short ones",
    )
    learning_seconds: Seconds = Field(
        default=120.0, gt=0, description="longest one learning job may take"
    )
    wait_seconds: Seconds = Field(
        default=30.0, description="longest an episode's start waits for learning"
    )
    ranking_seconds: Seconds = Field(
        default=1.0,
        description="longest `order=informative` waits for a new ranking; after that it answers "
        "with the last one",
    )
    most_plans: int = Field(
        default=16, ge=1, le=256, description="plans of one version, for episodes side by side"
    )
    webhook_private_addresses: bool = Field(
        default=False,
        description="whether webhooks may be at private, link-local and loopback addresses",
    )
    webhook_retry_seconds: float = Field(
        default=10.0,
        gt=0,
        le=3600,
        allow_inf_nan=False,
        description="pause after the first failed attempt to deliver a webhook; each later one is "
        "four times as long, at most 12 hours",
    )
    idle_seconds: float = Field(
        default=900.0,
        gt=0,
        le=_YEAR,
        allow_inf_nan=False,
        description="agents and episodes that are unused for this long leave memory",
    )
    drain_seconds: Seconds = Field(
        default=10.0, description="longest a shutdown waits for requests under way"
    )

    @field_validator("host")
    @classmethod
    def _check_host(cls, host: str) -> str:
        """Accept addresses and names; whether a name resolves is known when the server binds."""
        if not _is_address(host) and not re.fullmatch(
            r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?", host
        ):
            raise ValueError(
                "an address or a host name, without scheme, port or brackets, such as 0.0.0.0"
            )
        return host

    @field_validator("root_path")
    @classmethod
    def _check_root_path(cls, path: str) -> str:
        if path and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", path):
            raise ValueError(
                "a path that starts with a slash and does not end with one, such as /plaudit"
            )
        return path

    @field_validator("trusted_proxies")
    @classmethod
    def _check_proxies(cls, proxies: str) -> str:
        for proxy in filter(None, map(str.strip, proxies.split(","))):
            try:
                ipaddress.ip_network(proxy, strict=False)
            except ValueError as error:
                raise ValueError(
                    "addresses or networks separated by commas, such as 127.0.0.1,10.0.0.0/8"
                ) from error
        return proxies

    @field_validator("admin_key")
    @classmethod
    def _check_admin_key(cls, key: SecretStr | None) -> SecretStr | None:
        """Refuse a key that can be guessed; never repeat it in the message."""
        if key is not None and len(key.get_secret_value()) < SHORTEST_ADMIN_KEY:
            length = len(key.get_secret_value())
            raise ValueError(
                f"at least {SHORTEST_ADMIN_KEY} characters, got {length}; "
                "make one with `openssl rand -hex 24`"
            )
        return key

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        if self.host == "localhost":
            return True
        return _is_address(self.host) and ipaddress.ip_address(self.host).is_loopback


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def load_settings(**changes: Any) -> Settings:
    """Read the settings of this process; an error names the variable and what it may be.

    ``changes`` come from the command line and override the environment; None changes nothing.
    """
    for name in unknown_variables():
        if meant := get_close_matches(name, _variables(), n=1, cutoff=0.85):
            raise InvalidValue(name, f"a known setting; did you mean {meant[0]}?")
    try:
        return Settings(**{key: value for key, value in changes.items() if value is not None})
    except ValidationError as error:
        problem = error.errors()[0]
        name = PREFIX + "_".join(str(part) for part in problem["loc"]).upper()
        expected = problem["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
        raise InvalidValue(name, expected) from error


def unknown_variables() -> list[str]:
    """Names in the environment and in `.env` that look like settings and are not."""
    file = DotEnvSettingsSource(Settings, case_sensitive=True).env_vars
    names = {name.upper() for name in (*os.environ, *file)}
    return sorted(name for name in names - set(_variables()) if name.startswith(PREFIX))


def _variables() -> list[str]:
    return [PREFIX + name.upper() for name in Settings.model_fields]


def settings_table() -> str:
    """Every setting as a row of a Markdown table, which docs/settings.md holds."""
    rows = ["| variable | default | what it is |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        words = field.description or ""
        if get_origin(field.annotation) is Literal:
            choices = " or ".join(f"`{choice}`" for choice in get_args(field.annotation))
            words = f"{choices}: {words}"
        rows.append(f"| `{PREFIX}{name.upper()}` | {_default(field)} | {words} |")
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
