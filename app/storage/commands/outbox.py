"""The outbox: events for webhooks, stored in the transaction in which they happen."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, insert, or_, select

from app.storage.rows import DeliveryStatus, JsonObject, WebhookEvent
from app.storage.schema import deliveries, webhooks


def notify(
    connection: Connection,
    event: WebhookEvent,
    agent: int,
    at: int,
    episodes: Sequence[int | None] = (None,),
    code: str | None = None,
    **data: object,
) -> None:
    """Store a delivery of the event for each webhook that wants it, and for each episode."""
    rows = [
        _delivery(webhook, event, agent, episode, at, code, data)
        for webhook in _interested(connection, event, agent)
        for episode in episodes
        if code is None or not _is_known(connection, webhook, agent, code)
    ]
    if rows:
        connection.execute(insert(deliveries), rows)


def _interested(connection: Connection, event: WebhookEvent, agent: int) -> list[str]:
    query = select(webhooks.c.id, webhooks.c.events).where(
        or_(webhooks.c.agent.is_(None), webhooks.c.agent == agent)
    )
    return [row.id for row in connection.execute(query) if event in row.events]


def _is_known(connection: Connection, webhook: str, agent: int, code: str) -> bool:
    """Whether a webhook was told of this warning before."""
    query = select(deliveries.c.id).where(
        deliveries.c.webhook == webhook, deliveries.c.agent == agent, deliveries.c.code == code
    )
    return connection.execute(query.limit(1)).first() is not None


def _delivery(
    webhook: str,
    event: WebhookEvent,
    agent: int,
    episode: int | None,
    at: int,
    code: str | None,
    data: JsonObject,
) -> JsonObject:
    return {
        "webhook": webhook,
        "event": event,
        "agent": agent,
        "episode": episode,
        "code": code,
        "data": data,
        "created_at": at,
        "status": DeliveryStatus.pending,
        "due_at": at,
        "attempts": 0,
    }


def notify_waiting(connection: Connection, agent: int, episode: int, at: int, waiting: int) -> None:
    """Tell webhooks that an episode begins to wait for a label (``waiting`` is 1).

    Where it no longer waits (-1), what was not sent yet is dropped.
    """
    if waiting > 0:
        notify(connection, WebhookEvent.label_wanted, agent, at, [episode])
    elif waiting < 0:
        _drop_unsent(connection, agent, episode)


def _drop_unsent(connection: Connection, agent: int, episode: int) -> None:
    connection.execute(
        delete(deliveries).where(
            deliveries.c.agent == agent,
            deliveries.c.episode == episode,
            deliveries.c.event == WebhookEvent.label_wanted,
            deliveries.c.attempts == 0,
        )
    )
