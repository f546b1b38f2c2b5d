"""Webhooks: create, list, read, rotate the secret, delete; the log of deliveries."""

from __future__ import annotations

import logging
from typing import Annotated, Any

from fastapi import APIRouter, Path

from app.api.http.auth import Administrator
from app.api.http.dependencies import Webhooks
from app.api.http.idempotency import Once
from app.api.http.json_body import JsonRoute
from app.api.http.parameters import Cursor, Limit, read_cursor
from app.api.openapi.responses import declared
from app.service.access.idempotency import Remember
from app.service.runtime.ids import agent_id, episode_id
from app.service.runtime.times import moment, moment_or_none
from app.service.webhooks.webhooks import DeliveryRow, WebhookEvent, WebhookRow
from app.wire.webhooks import (
    CreatedWebhook,
    DeliveryPage,
    DeliveryView,
    NewWebhook,
    WebhookList,
    WebhookView,
)

log = logging.getLogger(__name__)

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"], route_class=JsonRoute)

WebhookId = Annotated[
    str, Path(description="the id of a webhook", examples=["whk_0123456789abcdef"])
]


@router.post(
    "", status_code=201, summary="Create a webhook", responses=declared(404, 409, 413, 422, 503)
)
async def create_webhook(
    body: NewWebhook, webhooks: Webhooks, caller: Administrator, once: Once
) -> CreatedWebhook:
    """Create a webhook. Its secret, which signs every delivery, is shown once."""

    async def create(remember: Remember | None) -> CreatedWebhook:
        events = [WebhookEvent(event) for event in body.events]
        row = await webhooks.create(body.url, events, body.agent, remember)
        log.info("webhook created", extra={"webhook": row.id, "by": caller.key})
        return CreatedWebhook(**_fields(row), secret=row.secret)

    async def created_before(id_: str) -> CreatedWebhook:
        return CreatedWebhook(**_fields(await webhooks.find(id_)), secret=None)

    return await once.run(caller, create, created_before)


@router.get("", summary="List webhooks", responses=declared(503))
async def list_webhooks(webhooks: Webhooks, _: Administrator) -> WebhookList:
    """Every webhook without its secret."""
    return WebhookList(items=[WebhookView(**_fields(row)) for row in await webhooks.all()])


@router.get("/{webhook}", summary="Read a webhook", responses=declared(404, 503))
async def read_webhook(webhook: WebhookId, webhooks: Webhooks, _: Administrator) -> WebhookView:
    """A webhook without its secret."""
    return WebhookView(**_fields(await webhooks.find(webhook)))


@router.post(
    "/{webhook}/secret", summary="Rotate the secret of a webhook", responses=declared(404, 503)
)
async def rotate_webhook_secret(
    webhook: WebhookId, webhooks: Webhooks, caller: Administrator
) -> CreatedWebhook:
    """A new secret, shown once. For a day deliveries are signed with the old one too."""
    row = await webhooks.rotate(webhook)
    log.info("webhook secret rotated", extra={"webhook": webhook, "by": caller.key})
    return CreatedWebhook(**_fields(row), secret=row.secret)


@router.delete(
    "/{webhook}", status_code=204, summary="Delete a webhook", responses=declared(404, 503)
)
async def delete_webhook(webhook: WebhookId, webhooks: Webhooks, caller: Administrator) -> None:
    """Delete a webhook. What was not sent is dropped."""
    await webhooks.delete(webhook)
    log.info("webhook deleted", extra={"webhook": webhook, "by": caller.key})


@router.get(
    "/{webhook}/deliveries", summary="The log of deliveries", responses=declared(404, 422, 503)
)
async def list_deliveries(
    webhook: WebhookId,
    webhooks: Webhooks,
    _: Administrator,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> DeliveryPage:
    """Deliveries, newest first, with the answer to the last attempt. They are kept for 30 days."""
    before = None if cursor is None else read_cursor(cursor, 1)[0]
    rows = await webhooks.deliveries(webhook, before, limit + 1)
    following = str(rows[limit - 1].id) if len(rows) > limit else None
    return DeliveryPage(items=[_delivery(row) for row in rows[:limit]], next=following)


def _fields(row: WebhookRow) -> dict[str, Any]:
    """A webhook without its secret."""
    return {
        "id": row.id,
        "url": row.url,
        "events": row.events,
        "agent": None if row.agent is None else agent_id(row.agent),
        "created_at": moment(row.created_at),
        "old_secret_until": moment_or_none(row.old_until),
    }


def _delivery(row: DeliveryRow) -> DeliveryView:
    return DeliveryView(
        id=f"dlv_{row.id}",
        event=row.event.value,
        agent=agent_id(row.agent),
        episode=None if row.episode is None else episode_id(row.agent, row.episode),
        status=row.status.value,
        attempts=row.attempts,
        response_status=row.response_status,
        error=row.error,
        created_at=moment(row.created_at),
        attempted_at=moment_or_none(row.attempted_at),
        next_attempt_at=moment_or_none(row.due_at),
    )
