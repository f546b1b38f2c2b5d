"""Sends deliveries to webhooks: from the database, signed, with retries.

A delivery is sent at least once. Before an attempt its next one falls due later, so that a process
that dies in the middle loses nothing.
"""

from __future__ import annotations

import asyncio
import logging
import random
import ssl
import time
from collections import Counter

import httpx

from app.errors import PlauditError
from app.service.runtime.ids import agent_id, episode_id
from app.service.runtime.times import moment
from app.service.webhooks.addresses import AddressRefused, resolve
from app.service.webhooks.signature import HEADER, signature
from app.service.webhooks.webhooks import port_of, split_url
from app.storage.commands.webhooks import ClaimDelivery, ForgetDeliveries, SettleDelivery
from app.storage.database import Database, now_milliseconds
from app.storage.queries import webhooks
from app.storage.rows import DeliveryRow, DeliveryStatus, WebhookRow
from app.wire.webhooks import WebhookMessage

log = logging.getLogger(__name__)

MOST_ATTEMPTS = 8
GROWTH = 4.0  # of the pause after every failed attempt
LONGEST_PAUSE = 12 * 3600.0
SECONDS = 10.0  # that one attempt may take
KEPT_MS = 30 * 24 * 3600 * 1000  # that the log keeps deliveries
_CLAIM_MS = 60_000
_TICK_SECONDS = 0.5
_AT_ONCE = 32
_PER_WEBHOOK = 4  # at once, so that one that hangs holds up no other
_CLEAN_TICKS = int(3600 / _TICK_SECONDS)


class Sender:
    """Sends what is due, for as long as the server runs."""

    def __init__(self, database: Database, pause_seconds: float, allow_private: bool) -> None:
        self._database = database
        self._pause = pause_seconds  # after the first failed attempt
        self._allow_private = allow_private
        self._tasks: dict[int, asyncio.Task[None]] = {}  # by delivery
        self._busy: Counter[str] = Counter()  # attempts under way, by webhook
        self._tls: ssl.SSLContext | None = None

    async def run(self) -> None:
        """Repeat until cancelled; a failure is logged and never ends it."""
        ticks = 0
        try:
            while True:
                await asyncio.sleep(_TICK_SECONDS)
                try:
                    await self._send_due()
                    if ticks % _CLEAN_TICKS == 0:
                        before = now_milliseconds() - KEPT_MS
                        await self._database.commit(ForgetDeliveries(before))
                except PlauditError as error:
                    log.warning("webhooks cannot be sent", extra={"reason": str(error)})
                except Exception:  # others must be sent for as long as the server runs
                    log.exception("webhooks failed unexpectedly")
                ticks += 1
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _send_due(self) -> None:
        """Begin an attempt of every delivery that is due, as far as there is room."""
        now = now_milliseconds()
        due = await self._database.read(webhooks.deliveries_due, now, 4 * _AT_ONCE)
        for row in due:
            if len(self._tasks) >= _AT_ONCE:
                return
            if row.id not in self._tasks and self._busy[row.webhook] < _PER_WEBHOOK:
                self._busy[row.webhook] += 1
                task = asyncio.create_task(self._attempt(row))
                self._tasks[row.id] = task
                task.add_done_callback(lambda _, row=row: self._done(row))  # type: ignore[misc]

    def _done(self, row: DeliveryRow) -> None:
        del self._tasks[row.id]
        self._busy[row.webhook] -= 1
        if not self._busy[row.webhook]:
            del self._busy[row.webhook]

    async def _attempt(self, row: DeliveryRow) -> None:
        """One attempt, and what follows from how it ended."""
        try:
            now = now_milliseconds()
            assert row.due_at is not None
            claim = ClaimDelivery(row.id, row.due_at, now, now + _CLAIM_MS)
            if not await self._database.commit(claim):
                return
            webhook = await self._database.read(webhooks.webhook_row, row.webhook)
            if webhook is None:
                return
            status, error = await self._post(webhook, row)
            await self._database.commit(self._settled(row, status, error))
        except PlauditError as failure:  # the claim runs out, and another attempt is due
            log.warning("a webhook cannot be settled", extra={"reason": str(failure)})

    def _settled(self, row: DeliveryRow, status: int | None, error: str | None) -> SettleDelivery:
        if error is None:
            return SettleDelivery(row.id, DeliveryStatus.delivered, None, status, None)
        attempts = row.attempts + 1
        log.warning(
            "a webhook was not delivered",
            extra={"webhook": row.webhook, "attempts": attempts, "reason": error},
        )
        if attempts >= MOST_ATTEMPTS:
            return SettleDelivery(row.id, DeliveryStatus.failed, None, status, error)
        pause = min(self._pause * GROWTH ** (attempts - 1), LONGEST_PAUSE)
        due = now_milliseconds() + int(1000 * pause * random.uniform(0.9, 1.1))
        return SettleDelivery(row.id, DeliveryStatus.pending, due, status, error)

    async def _post(self, webhook: WebhookRow, row: DeliveryRow) -> tuple[int | None, str | None]:
        """The status of the answer, and what is wrong; nothing is wrong with a status of 2xx."""
        try:
            async with asyncio.timeout(SECONDS):
                status = await self._answer(webhook, row)
        except TimeoutError:
            return None, f"No answer within {SECONDS:g} s."
        except AddressRefused as error:
            return None, str(error)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            return None, f"{type(error).__name__}: {error}"[:500]
        if 200 <= status < 300:
            return status, None
        if 300 <= status < 400:
            return status, f"The answer was {status}. Redirects are not followed."
        return status, f"The answer was {status}."

    async def _answer(self, webhook: WebhookRow, row: DeliveryRow) -> int:
        """Send a delivery to the address that its host has now; the body is not read."""
        parts = split_url(webhook.url)
        host = parts.hostname or ""
        address = await resolve(host, port_of(parts), self._allow_private)
        url = httpx.URL(webhook.url)
        body = message(row).model_dump_json().encode()
        seconds = int(time.time())
        headers = {
            "Host": url.netloc.decode("ascii"),
            "Content-Type": "application/json",
            "User-Agent": "Plaudit-Webhooks",
            HEADER: signature(body, seconds, _secrets(webhook)),
        }
        async with httpx.AsyncClient(
            verify=self._context(), trust_env=False, follow_redirects=False, timeout=SECONDS
        ) as client:
            request = client.build_request(
                "POST",
                url.copy_with(host=address),
                content=body,
                headers=headers,
                extensions={"sni_hostname": host},
            )
            response = await client.send(request, stream=True)
            await response.aclose()
            return response.status_code

    def _context(self) -> ssl.SSLContext:
        """The certificates to trust; loaded once, because that takes long."""
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls


def _secrets(webhook: WebhookRow) -> list[str]:
    """The secrets in force: the newest, and for a while the one before."""
    known = [webhook.secret]
    if webhook.old_secret is not None and (webhook.old_until or 0) > now_milliseconds():
        known.append(webhook.old_secret)
    return known


def message(row: DeliveryRow) -> WebhookMessage:
    """What is sent: the event, and where it happened."""
    code = {} if row.code is None else {"code": row.code}
    return WebhookMessage(
        id=f"dlv_{row.id}",
        type=row.event.value,
        created_at=moment(row.created_at),
        agent=agent_id(row.agent),
        episode=None if row.episode is None else episode_id(row.agent, row.episode),
        data=code | row.data,
    )
