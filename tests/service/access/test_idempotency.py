"""Idempotency keys: a request is carried out once, also when its retries arrive together."""

import asyncio

import pytest

from app.errors import Conflict, InvalidValue
from app.service.access.idempotency import Idempotency
from app.storage.commands.access import AddAnswer
from tests.support.service import run_service


class Creation:
    """Creates an object under an id, and counts how often."""

    def __init__(self, container):
        self._database = container.database
        self.created = 0

    async def act(self, remember):
        self.created += 1
        await asyncio.sleep(0.01)
        await self._database.commit(AddAnswer(remember(f"id-{self.created}")))
        return f"id-{self.created}"

    async def again(self, created_id):
        return created_id


def test_retries_get_the_first_result_even_after_a_restart(tmp_path):
    async def first(container):
        creation = Creation(container)
        keys = Idempotency(container.database)
        calls = [keys.once("s", "k", b"body", creation.act, creation.again) for _ in range(5)]
        assert await asyncio.gather(*calls) == ["id-1"] * 5
        assert creation.created == 1
        assert await keys.once("s", "other", b"body", creation.act, creation.again) == "id-2"

    async def second(container):
        creation = Creation(container)
        keys = Idempotency(container.database)
        assert await keys.once("s", "k", b"body", creation.act, creation.again) == "id-1"
        assert creation.created == 0

    run_service(tmp_path, first)
    run_service(tmp_path, second)


def test_another_body_under_the_same_key_is_a_conflict(tmp_path):
    async def use(container):
        creation = Creation(container)
        keys = Idempotency(container.database)
        await keys.once("s", "k", b"one", creation.act, creation.again)
        with pytest.raises(Conflict) as refused:
            await keys.once("s", "k", b"two", creation.act, creation.again)
        assert refused.value.code == "idempotency_key_reused"
        await keys.once("another scope", "k", b"two", creation.act, creation.again)
        assert creation.created == 2

    run_service(tmp_path, use)


def test_a_failed_request_may_be_sent_again(tmp_path):
    async def use(container):
        creation = Creation(container)
        keys = Idempotency(container.database)

        async def fails(_remember):
            raise RuntimeError("no")

        with pytest.raises(RuntimeError):
            await keys.once("s", "k", b"body", fails, creation.again)
        assert await keys.once("s", "k", b"body", creation.act, creation.again) == "id-1"

    run_service(tmp_path, use)


@pytest.mark.parametrize("key", ["", "x" * 256, "line\nbreak"])
def test_a_key_that_is_not_printable_text_is_refused(tmp_path, key):
    async def use(container):
        creation = Creation(container)
        with pytest.raises(InvalidValue, match="Idempotency-Key"):
            await Idempotency(container.database).once("s", key, b"", creation.act, creation.again)
        assert creation.created == 0

    run_service(tmp_path, use)
