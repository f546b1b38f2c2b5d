"""Queries of webhooks and of the deliveries to them."""

from __future__ import annotations

from sqlalchemy import Connection, select

from app.storage.rows import DeliveryRow, WebhookRow, columns_of, typed, typed_or_none
from app.storage.schema import deliveries, webhooks

_webhooks = select(*columns_of(WebhookRow, webhooks))
_deliveries = select(*columns_of(DeliveryRow, deliveries))


def webhook_rows(connection: Connection) -> list[WebhookRow]:
    """Every webhook, oldest first."""
    query = _webhooks.order_by(webhooks.c.created_at, webhooks.c.id)
    return typed(WebhookRow, connection.execute(query).all())


def webhook_row(connection: Connection, webhook: str) -> WebhookRow | None:
    """One webhook."""
    query = _webhooks.where(webhooks.c.id == webhook)
    return typed_or_none(WebhookRow, connection.execute(query).one_or_none())


def deliveries_due(connection: Connection, now: int, limit: int) -> list[DeliveryRow]:
    """Deliveries whose next attempt is due, the longest due first."""
    query = _deliveries.where(deliveries.c.due_at <= now).order_by(deliveries.c.due_at)
    return typed(DeliveryRow, connection.execute(query.limit(limit)).all())


def delivery_page(
    connection: Connection, webhook: str, before: int | None, limit: int
) -> list[DeliveryRow]:
    """Deliveries to a webhook, newest first."""
    query = _deliveries.where(deliveries.c.webhook == webhook)
    if before is not None:
        query = query.where(deliveries.c.id < before)
    query = query.order_by(deliveries.c.id.desc()).limit(limit)
    return typed(DeliveryRow, connection.execute(query).all())
