"""Deliveries: what hangs holds up no other, what fails is given up, what died is sent again."""

import asyncio
import time

import pytest

from app.service.runtime.ids import agent_id
from app.service.webhooks import sender as sender_module
from app.service.webhooks import webhooks as webhooks_module
from app.storage.commands.learning import NoteFailure
from app.storage.commands.webhooks import ClaimDelivery, NotifyWarning
from app.storage.database import now_milliseconds
from app.storage.queries import webhooks as queries
from app.storage.rows import WebhookEvent
from tests.support.receiver import Receiver
from tests.support.service import finished_episode, new_agent, run_service

OPEN = {"webhook_private_addresses": True, "webhook_retry_seconds": 0.05}
EVERY = list(WebhookEvent)


@pytest.fixture
def receiver():
    with Receiver() as receiver:
        yield receiver


async def rows_of(container, webhook):
    return await container.database.read(queries.delivery_page, webhook.id, None, 100)


async def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not (found := await condition()):
        assert time.monotonic() < end
        await asyncio.sleep(0.05)
    return found


def test_a_webhook_that_hangs_times_out_and_holds_up_no_other(tmp_path, receiver, monkeypatch):
    monkeypatch.setattr(sender_module, "SECONDS", 1.0)
    with Receiver() as other:
        receiver.answers = [0] * 100

        async def use(container):
            slow = await container.webhooks.create(receiver.url, [EVERY[0]], None)
            quick = await container.webhooks.create(other.url, [EVERY[0]], None)
            agent = await new_agent(container)
            for _ in range(6):
                await finished_episode(container, agent)

            async def delivered():
                found = await rows_of(container, quick)
                return all(row.status == "delivered" for row in found)

            await until(delivered)

            async def timed_out():
                return [row for row in await rows_of(container, slow) if row.error]

            [row, *_] = await until(timed_out)
            assert row.error == "No answer within 1 s."
            assert row.status == "pending"
            assert len(receiver.received) <= sender_module._PER_WEBHOOK * 3

        run_service(tmp_path, use, **OPEN)


def test_a_delivery_that_fails_too_often_is_given_up(tmp_path, receiver, monkeypatch):
    monkeypatch.setattr(sender_module, "MOST_ATTEMPTS", 3)
    receiver.answers = [503] * 100

    async def use(container):
        webhook = await container.webhooks.create(receiver.url, [EVERY[0]], None)
        await finished_episode(container, await new_agent(container))

        async def given_up():
            return [row for row in await rows_of(container, webhook) if row.status == "failed"]

        [row] = await until(given_up)
        assert (row.attempts, row.due_at, row.response_status) == (3, None, 503)
        assert row.error == "The answer was 503."
        await asyncio.sleep(1.2)
        assert len(receiver.received) == 3

    run_service(tmp_path, use, **OPEN)


def test_an_attempt_that_died_is_made_again(tmp_path, receiver, monkeypatch):
    async def use(container):
        monkeypatch.setattr(container.sender, "_send_due", asyncio.sleep)
        webhook = await container.webhooks.create(receiver.url, [EVERY[0]], None)
        await finished_episode(container, await new_agent(container))
        [row] = await rows_of(container, webhook)
        now = now_milliseconds()
        claim = ClaimDelivery(row.id, row.due_at, now, now + 1)
        assert await container.database.commit(claim)  # and the process dies here
        assert not await container.database.commit(claim)  # which no other process repeats
        await asyncio.sleep(0.05)
        await sender_module.Sender._send_due(container.sender)
        await asyncio.gather(*container.sender._tasks.values())
        [row] = await rows_of(container, webhook)
        assert (row.status, row.attempts) == ("delivered", 2)

    run_service(tmp_path, use, **OPEN)


def test_the_connection_goes_to_the_checked_address_with_the_name_as_host(
    tmp_path, receiver, monkeypatch
):
    async def resolved(host, port, allow_private):
        assert (host, port, allow_private) == ("hook.example", receiver.port, True)
        return "127.0.0.1"

    monkeypatch.setattr(sender_module, "resolve", resolved)
    monkeypatch.setattr(webhooks_module, "resolve", resolved)

    async def use(container):
        url = f"http://hook.example:{receiver.port}/x"
        await container.webhooks.create(url, [EVERY[0]], None)
        await finished_episode(container, await new_agent(container))
        [(headers, _)] = await asyncio.to_thread(receiver.wait, 1)
        assert headers["Host"] == f"hook.example:{receiver.port}"

    run_service(tmp_path, use, **OPEN)


def test_an_address_that_became_private_gets_nothing(tmp_path, receiver):
    """The webhook was created when that was allowed."""

    async def create(container):
        await container.webhooks.create(receiver.url, [EVERY[0]], None)

    async def use(container):
        [webhook] = await container.webhooks.all()
        await finished_episode(container, await new_agent(container))

        async def refused():
            return [row for row in await rows_of(container, webhook) if row.error]

        [row] = await until(refused)
        assert "private or link-local" in row.error
        assert receiver.received == []

    run_service(tmp_path, create, **OPEN)
    run_service(tmp_path, use)


def test_failures_of_learning_and_warnings_are_told_once(tmp_path, receiver):
    async def use(container):
        agent = await new_agent(container)
        webhook = await container.webhooks.create(receiver.url, EVERY[2:], agent.id)
        for _ in range(2):
            failure = NoteFailure(agent.number, "It ran out of memory.", now_milliseconds())
            await container.database.commit(failure)
            warning = NotifyWarning(agent.number, "no_good_label", "None is good.", 5)
            await container.database.commit(warning)
        found = [sender_module.message(row) for row in await rows_of(container, webhook)]
        assert {message.agent for message in found} == {agent_id(agent.number)}
        assert sorted((message.type, str(message.data)) for message in found) == [
            ("learning.failed", str({"reason": "It ran out of memory."})),
            ("warning", str({"code": "no_good_label", "detail": "None is good."})),
        ]

    run_service(tmp_path, use, **OPEN)
