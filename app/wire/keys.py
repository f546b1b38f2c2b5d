"""API keys. The secret is shown once, when a key is created."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from app.wire.base import Answer, ShortText, Wire
from app.wire.roles import Role


class NewKey(Wire):
    """A key to create."""

    name: ShortText = Field(description="for people: who or what it is for")
    role: Role = Field(description="what it may do")
    agents: list[ShortText] | None = Field(
        default=None,
        max_length=1000,
        description="ids of the agents that it is bound to: it sees no other; by default all",
    )


class KeyView(Answer):
    """A key without its secret."""

    id: str = Field(description="opaque")
    name: str = Field(description="for people")
    role: Role = Field(description="what it may do")
    agents: list[str] | None = Field(description="that it is bound to; null where it sees all")
    created_at: datetime = Field(description="when it was created")
    revoked_at: datetime | None = Field(description="when it was revoked; null while it works")


class CreatedKey(KeyView):
    """A key with its secret, which is shown this once."""

    secret: str | None = Field(description="null if a repeated request created no new key")


class KeyList(Answer):
    """Every key."""

    items: list[KeyView] = Field(description="oldest first")
