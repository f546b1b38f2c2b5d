"""Webhooks: URLs that are told of what happens."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field, StrictStr, field_validator

from app.wire.base import Answer, JsonObject, ShortText, Wire

EventName = Literal["label.wanted", "policy.replaced", "learning.failed", "warning"]


class NewWebhook(Wire):
    """A webhook to create."""

    url: StrictStr = Field(
        min_length=1,
        max_length=2000,
        description="where events are sent with POST: http or https",
        examples=["https://hooks.example/plaudit"],
    )
    events: list[EventName] = Field(
        min_length=1, max_length=4, description="what is sent, each once"
    )
    agent: ShortText | None = Field(
        default=None, description="the id of the agent that it is about; by default every agent"
    )

    @field_validator("events")
    @classmethod
    def _each_once(cls, events: list[EventName]) -> list[EventName]:
        if len(set(events)) < len(events):
            raise ValueError("each event once")
        return events


class WebhookView(Answer):
    """A webhook without its secret."""

    id: str = Field(description="opaque")
    url: str = Field(description="where events are sent")
    events: list[EventName] = Field(description="what is sent")
    agent: str | None = Field(description="the agent that it is about; null for every agent")
    created_at: datetime = Field(description="when it was created")
    old_secret_until: datetime | None = Field(
        description="until when the secret before the last rotation signs too; null without one"
    )


class CreatedWebhook(WebhookView):
    """A webhook with its secret, which is shown this once."""

    secret: str | None = Field(description="null if a repeated request created no new webhook")


class WebhookList(Answer):
    """Every webhook."""

    items: list[WebhookView] = Field(description="oldest first")


class DeliveryView(Answer):
    """An event on its way to a webhook."""

    id: str = Field(description="opaque; the `id` of the message")
    event: EventName = Field(description="what is sent")
    agent: str = Field(description="the id of the agent")
    episode: str | None = Field(description="the id of the episode, where there is one")
    status: Literal["pending", "delivered", "failed"] = Field(
        description="`failed` was given up after its last attempt"
    )
    attempts: int = Field(description="attempts so far")
    response_status: int | None = Field(description="of the last answer; null without one")
    error: str | None = Field(description="what was wrong with the last attempt")
    created_at: datetime = Field(description="when it happened")
    attempted_at: datetime | None = Field(description="when the last attempt began")
    next_attempt_at: datetime | None = Field(description="null once there is none")


class DeliveryPage(Answer):
    """Some deliveries, and where the next ones begin."""

    items: list[DeliveryView] = Field(description="newest first")
    next: str | None = Field(description="pass it as `cursor` to read on; null at the end")


class WebhookMessage(Answer):
    """What is sent to a webhook."""

    id: str = Field(description="the same for every attempt: a receiver that has seen it may stop")
    type: EventName = Field(description="what happened")
    created_at: datetime = Field(description="when it happened")
    agent: str = Field(description="the id of the agent")
    episode: str | None = Field(description="the id of the episode, where there is one")
    data: JsonObject = Field(description="more about the event, such as `policy_version`")
