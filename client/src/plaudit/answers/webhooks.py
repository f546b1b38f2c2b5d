"""Webhooks, and the log of deliveries to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

EventName = Literal["label.wanted", "policy.replaced", "learning.failed", "warning"]


@dataclass(frozen=True)
class WebhookView:
    """A webhook without its secret."""

    id: str
    url: str
    events: list[EventName]
    agent: str | None
    created_at: datetime
    old_secret_until: datetime | None


@dataclass(frozen=True)
class CreatedWebhook(WebhookView):
    """A webhook with its secret, which is shown this once."""

    secret: str | None = field(repr=False)


@dataclass(frozen=True)
class DeliveryView:
    """An event on its way to a webhook, and how the last attempt ended."""

    id: str
    event: EventName
    agent: str
    episode: str | None
    status: Literal["pending", "delivered", "failed"]
    attempts: int
    response_status: int | None
    error: str | None
    created_at: datetime
    attempted_at: datetime | None
    next_attempt_at: datetime | None


@dataclass(frozen=True)
class WebhookMessage:
    """What a webhook receives. Every attempt has the same ``id``."""

    id: str
    type: EventName
    created_at: datetime
    agent: str
    episode: str | None
    data: dict[str, Any]
