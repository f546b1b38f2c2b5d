"""The webhooks of a server: create, list, rotate their secrets, delete."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

from app.errors import InvalidValue, NotFound
from app.service.access.idempotency import Remember
from app.service.runtime.ids import read_agent_id
from app.service.webhooks.addresses import AddressRefused, HostNotFound, resolve
from app.service.webhooks.signature import new_secret
from app.storage.commands.access import Answered
from app.storage.commands.webhooks import AddWebhook, DeleteWebhook, RotateSecret
from app.storage.database import Database, now_milliseconds
from app.storage.queries import webhooks
from app.storage.queries.agents import existing
from app.storage.rows import DeliveryRow as DeliveryRow
from app.storage.rows import WebhookEvent as WebhookEvent
from app.storage.rows import WebhookRow as WebhookRow
from app.storage.unit_of_work import Command

OLD_SECRET_MS = 24 * 3600 * 1000  # that a replaced secret signs too
MOST_WEBHOOKS = 100
PORTS = {"http": 80, "https": 443}


class Webhooks:
    """Creates, reads and deletes webhooks."""

    def __init__(self, database: Database, allow_private: bool) -> None:
        self._database = database
        self._allow_private = allow_private

    async def create(
        self,
        url: str,
        events: Sequence[WebhookEvent],
        agent: str | None,
        remember: Remember | None = None,
    ) -> WebhookRow:
        """Add a webhook, with a new secret."""
        await self._check(url)
        number = None if agent is None else await self._agent(agent)
        if len(await self.all()) >= MOST_WEBHOOKS:
            raise InvalidValue("url", f"at most {MOST_WEBHOOKS} webhooks. Delete one first")
        row = WebhookRow(
            id=f"whk_{secrets.token_hex(8)}",
            agent=number,
            url=url,
            events=[event.value for event in events],
            secret=new_secret(),
            old_secret=None,
            old_until=None,
            created_at=now_milliseconds(),
        )
        command: Command[None] = AddWebhook(row)
        if remember is not None:
            command = Answered(command, lambda _: remember(row.id))
        await self._database.commit(command)
        return row

    async def all(self) -> list[WebhookRow]:
        """Every webhook, oldest first."""
        return await self._database.read(webhooks.webhook_rows)

    async def find(self, webhook: str) -> WebhookRow:
        """A webhook by its id."""
        row = await self._database.read(webhooks.webhook_row, webhook)
        if row is None:
            raise NotFound("webhook", webhook[:80])
        return row

    async def rotate(self, webhook: str) -> WebhookRow:
        """Replace the secret. For a day deliveries are signed with both."""
        until = now_milliseconds() + OLD_SECRET_MS
        if not await self._database.commit(RotateSecret(webhook, new_secret(), until)):
            raise NotFound("webhook", webhook[:80])
        return await self.find(webhook)

    async def delete(self, webhook: str) -> None:
        """Delete a webhook; what was not sent is dropped."""
        if not await self._database.commit(DeleteWebhook(webhook)):
            raise NotFound("webhook", webhook[:80])

    async def deliveries(self, webhook: str, before: int | None, limit: int) -> list[DeliveryRow]:
        """Deliveries to a webhook, newest first."""
        await self.find(webhook)
        return await self._database.read(webhooks.delivery_page, webhook, before, limit)

    async def _agent(self, agent: str) -> int:
        number = read_agent_id(agent)
        if not await self._database.read(existing, {number}):
            raise NotFound("agent", agent)
        return number

    async def _check(self, url: str) -> None:
        parts = split_url(url)
        try:
            await resolve(parts.hostname or "", port_of(parts), self._allow_private)
        except HostNotFound:
            pass  # it may be found later; the log of deliveries says if it is not
        except AddressRefused as error:
            raise InvalidValue("url", f"an address that this server sends to. {error}") from error


def split_url(url: str) -> SplitResult:
    """The parts of a URL that a webhook may have."""
    expected = "an http or https URL with a host, without a user, a password or a fragment"
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in PORTS and parts.hostname and port_of(parts) > 0
    except ValueError as error:
        raise InvalidValue("url", expected) from error
    if not is_good or parts.username is not None or parts.fragment or not url.isascii():
        raise InvalidValue("url", expected)
    if any(character.isspace() or not character.isprintable() for character in url):
        raise InvalidValue("url", expected)
    return parts


def port_of(parts: SplitResult) -> int:
    """The port of a URL, by default that of its scheme."""
    return PORTS[parts.scheme] if parts.port is None else parts.port
