"""Commands on webhooks and on the deliveries to them."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sqlalchemy import Connection, delete, insert, update

from app.storage.commands.outbox import notify
from app.storage.rows import DeliveryStatus, WebhookEvent, WebhookRow
from app.storage.schema import deliveries, webhooks


@dataclass(frozen=True, slots=True)
class AddWebhook:
    """Add a webhook."""

    row: WebhookRow

    def apply(self, connection: Connection) -> None:
        """Insert the row."""
        connection.execute(insert(webhooks), asdict(self.row))


@dataclass(frozen=True, slots=True)
class RotateSecret:
    """Give a webhook a new secret; the one before signs too for a while."""

    webhook: str
    secret: str
    until: int

    def apply(self, connection: Connection) -> bool:
        """Update the row; false if it is gone."""
        query = update(webhooks).where(webhooks.c.id == self.webhook)
        values = {
            "old_secret": webhooks.c.secret,
            "old_until": self.until,
            "secret": self.secret,
        }
        return connection.execute(query.values(values)).rowcount == 1


@dataclass(frozen=True, slots=True)
class DeleteWebhook:
    """Delete a webhook and its deliveries."""

    webhook: str

    def apply(self, connection: Connection) -> bool:
        """Delete the rows; false if there is no such webhook."""
        connection.execute(delete(deliveries).where(deliveries.c.webhook == self.webhook))
        query = delete(webhooks).where(webhooks.c.id == self.webhook)
        return connection.execute(query).rowcount == 1


@dataclass(frozen=True, slots=True)
class NotifyWarning:
    """Tell webhooks of a warning about an agent, once for each code."""

    agent: int
    code: str
    detail: str
    at: int

    def apply(self, connection: Connection) -> None:
        """Store the deliveries."""
        notify(
            connection,
            WebhookEvent.warning,
            self.agent,
            self.at,
            code=self.code,
            detail=self.detail,
        )


@dataclass(frozen=True, slots=True)
class ClaimDelivery:
    """Begin an attempt: if this process dies, another attempt is due at ``until``."""

    delivery: int
    due_at: int  # as it was read
    now: int
    until: int

    def apply(self, connection: Connection) -> bool:
        """Update the row; false if another process was faster, or it is gone."""
        query = update(deliveries).where(
            deliveries.c.id == self.delivery, deliveries.c.due_at == self.due_at
        )
        values = {
            "due_at": self.until,
            "attempts": deliveries.c.attempts + 1,
            "attempted_at": self.now,
        }
        return connection.execute(query.values(values)).rowcount == 1


@dataclass(frozen=True, slots=True)
class SettleDelivery:
    """Note how an attempt ended, and when the next one is due."""

    delivery: int
    status: DeliveryStatus
    due_at: int | None
    response_status: int | None
    error: str | None

    def apply(self, connection: Connection) -> None:
        """Update the row."""
        values = {
            name: getattr(self, name) for name in ("status", "due_at", "response_status", "error")
        }
        query = update(deliveries).where(deliveries.c.id == self.delivery)
        connection.execute(query.values(values))


@dataclass(frozen=True, slots=True)
class ForgetDeliveries:
    """Remove deliveries that ended before a time."""

    before: int

    def apply(self, connection: Connection) -> None:
        """Delete the rows."""
        ended = deliveries.c.due_at.is_(None) & (deliveries.c.created_at < self.before)
        connection.execute(delete(deliveries).where(ended))
