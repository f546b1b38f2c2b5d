"""Keys, and whether the server is alive."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from plaudit.answers.values import Role


@dataclass(frozen=True)
class KeyView:
    """A key without its secret."""

    id: str
    name: str
    role: Role
    agents: list[str] | None
    created_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True)
class CreatedKey(KeyView):
    """A key with its secret, which is shown this once."""

    secret: str | None = field(repr=False)


@dataclass(frozen=True)
class Health:
    """Whether the server is alive, or ready: `ok`, `starting` or `unavailable`."""

    status: str
    version: str
    reason: str | None = None  # why it is not ready

    @property
    def ok(self) -> bool:
        """Whether it is."""
        return self.status == "ok"
