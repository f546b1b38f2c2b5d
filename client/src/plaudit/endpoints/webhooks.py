"""Webhooks: create, list, read, rotate the secret, delete; the log of deliveries."""

from __future__ import annotations

from collections.abc import Iterable

from plaudit._core.flow import Flow, Reply, Request, json_request
from plaudit._core.parsing import parse
from plaudit._core.session import Page, Pager
from plaudit.answers.webhooks import CreatedWebhook, DeliveryView, EventName, WebhookView
from plaudit.endpoints.body import check_removed, given, idempotent, path
from plaudit.endpoints.paging import page_request, read_page


def create_webhook(
    url: str, events: Iterable[EventName], *, agent: str | None = None
) -> Flow[CreatedWebhook]:
    """Have events sent to a URL; of one agent, or of every agent. The secret is shown this once.

    A secret whose answer was lost cannot be read again: that webhook is deleted, and another made.
    """
    body = given(url=url, events=list(events), agent=agent)
    while True:
        reply: Reply = yield json_request("POST", path("webhooks"), body, idempotent(None))
        webhook = parse(CreatedWebhook, reply.json())
        if webhook.secret is not None or not reply.retried:
            return webhook
        yield from delete_webhook(webhook.id)


def list_webhooks() -> Pager[WebhookView]:
    """Iterate over every webhook without its secret."""

    def page(_: str | None) -> Flow[Page[WebhookView]]:
        reply = yield Request("GET", path("webhooks"))
        return read_page(WebhookView, reply.json())

    return Pager(page)


def read_webhook(webhook: str) -> Flow[WebhookView]:
    """Read a webhook without its secret."""
    reply = yield Request("GET", path("webhooks", webhook))
    return parse(WebhookView, reply.json())


def rotate_webhook_secret(webhook: str) -> Flow[CreatedWebhook]:
    """Replace the secret. For a day deliveries are signed with the old one too."""
    reply = yield Request("POST", path("webhooks", webhook, "secret"), safe=False)
    return parse(CreatedWebhook, reply.json())


def delete_webhook(webhook: str) -> Flow[None]:
    """Delete a webhook; what was not sent is dropped."""
    reply = yield Request("DELETE", path("webhooks", webhook))
    check_removed(reply)


def list_deliveries(webhook: str, page_size: int = 100) -> Pager[DeliveryView]:
    """Iterate over the deliveries to a webhook, newest first."""

    def page(cursor: str | None) -> Flow[Page[DeliveryView]]:
        where = path("webhooks", webhook, "deliveries")
        reply = yield page_request(where, page_size, cursor)
        return read_page(DeliveryView, reply.json())

    return Pager(page)
