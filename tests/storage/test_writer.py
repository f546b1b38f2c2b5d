"""The group-commit writer by itself, on a real database."""

import asyncio
import threading
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from sqlalchemy import Column, Integer, MetaData, String, Table, event, insert

from app.errors import Overloaded, Stale, StorageUnavailable
from app.storage.backend import backend_of
from app.storage.unit_of_work import UnitOfWork
from app.storage.writer import Writer
from tests.support.databases import be_impatient, database_url, held, writing_engine

notes = Table(
    "notes",
    MetaData(),
    Column("id", Integer, primary_key=True),
    Column("text", String, unique=True),
)


@dataclass(frozen=True)
class Add:
    """Adds a note; returns the texts of all notes before it."""

    text: object

    def apply(self, connection):
        before = [row.text for row in connection.execute(notes.select().order_by(notes.c.id))]
        connection.execute(insert(notes), {"text": self.text})
        return before


class Kept:
    """A database with one table, read past the writer."""

    def __init__(self, url):
        self.url = url

    @property
    def texts(self):
        """What is on disk, in the order it got there."""
        reader = backend_of(self.url).reading_engine(self.url, 1)
        with reader.connect() as connection:
            found = connection.execute(notes.select().order_by(notes.c.id)).all()
        reader.dispose()
        return [row.text for row in found]

    @asynccontextmanager
    async def writer(self, **options):
        """A writer, closed at the end."""
        with writing_engine(self.url) as engine:
            writer = Writer(engine, **options)
            try:
                yield writer
            finally:
                await writer.close()

    @asynccontextmanager
    async def held(self):
        """The write lock is somebody else's meanwhile."""
        with writing_engine(self.url) as engine, held(engine, ["notes"]):
            yield


@pytest.fixture
def kept(tmp_path):
    kept = Kept(database_url(tmp_path))
    with writing_engine(kept.url) as engine, engine.begin() as connection:
        notes.create(connection)
    return kept


@pytest.fixture
def impatient(monkeypatch):
    """A lock is waited for only shortly."""
    be_impatient(monkeypatch)


def add(*texts):
    return UnitOfWork(commands=[Add(text) for text in texts])


def numbers(count):
    return [str(i) for i in range(count)]


def test_what_is_done_is_on_disk(kept):
    async def run():
        async with kept.writer() as writer:
            for text in numbers(3):
                await writer.submit(add(text))
                assert kept.texts[-1] == text

    asyncio.run(run())
    assert kept.texts == numbers(3)


def test_nothing_is_done_before_it_is_on_disk(kept):
    async def run():
        async with kept.writer() as writer:
            async with kept.held():
                done = writer.submit(add("late"))
                await asyncio.sleep(0.3)
                assert not done.done()
                assert kept.texts == []
            await done
            assert kept.texts == ["late"]

    asyncio.run(run())


def test_writes_reach_the_disk_in_the_order_they_were_submitted(kept):
    async def run():
        settled = []
        async with kept.writer() as writer:
            for text in numbers(500):
                done = writer.submit(add(text))
                done.add_done_callback(lambda _, text=text: settled.append(text))
            await done
            await asyncio.sleep(0)
        return settled

    assert asyncio.run(run()) == numbers(500)
    assert kept.texts == numbers(500)


def test_many_submissions_share_few_commits(kept):
    async def run():
        async with kept.writer() as writer:
            async with kept.held():  # the first is under way, the rest gather behind it
                waiting = [writer.submit(add(text)) for text in numbers(1000)]
                await asyncio.sleep(0.2)
            await asyncio.gather(*waiting)
            return writer.commits

    assert asyncio.run(run()) <= 2
    assert kept.texts == numbers(1000)


@pytest.mark.parametrize(
    "bad",
    [
        add("1"),  # is there already
        add("new", "1"),  # half of it could be stored
        # Does not fit into any column: not even an error of the database.
        pytest.param(add(2**70), marks=pytest.mark.sqlite),
        pytest.param(add("\0"), marks=pytest.mark.postgres),
        add("\ud800"),  # is no text
        add(object()),
    ],
)
def test_one_bad_submission_does_not_harm_the_others(kept, bad):
    async def run():
        async with kept.writer() as writer:
            await writer.submit(add("1"))
            async with kept.held():
                first = [writer.submit(add(text)) for text in ("2", "3")]
                refused = writer.submit(bad)
                after = writer.submit(add("4"))
                await asyncio.sleep(0.1)
            await asyncio.gather(*first, after)
            with pytest.raises((StorageUnavailable, Stale)):
                await refused
            await writer.submit(add("5"))

    asyncio.run(asyncio.wait_for(run(), 60))
    assert kept.texts == ["1", "2", "3", "4", "5"]


def test_a_command_that_raises_harms_nobody(kept):
    class Broken:
        def apply(self, connection):
            Add("half").apply(connection)
            raise RuntimeError("could not be made")

    async def run():
        async with kept.writer() as writer:
            with pytest.raises(StorageUnavailable):
                await writer.submit(UnitOfWork(commands=[Broken()]))
            await writer.submit(add("whole"))

    asyncio.run(asyncio.wait_for(run(), 60))
    assert kept.texts == ["whole"]


def test_a_domain_error_of_a_command_reaches_its_caller_as_it_is(kept):
    class Outdated:
        def apply(self, connection):
            Add("half").apply(connection)
            raise Stale("decided from an old state")

    async def run():
        async with kept.writer() as writer:
            async with kept.held():  # both in one batch
                good, refused = writer.submit(add("good")), writer.submit(outdated)
                await asyncio.sleep(0.1)
            await good
            with pytest.raises(Stale, match="decided from an old state"):
                await refused

    outdated = UnitOfWork(commands=[Outdated()])
    asyncio.run(asyncio.wait_for(run(), 60))
    assert kept.texts == ["good"]


def test_the_caller_gets_what_its_commands_returned(kept):
    async def run():
        async with kept.writer() as writer:
            return await writer.submit(add("a", "b")), await writer.submit(add("c"))

    assert asyncio.run(run()) == ([[], ["a"]], [["a", "b"]])


def test_memory_is_brought_up_to_date_in_commit_order_even_if_the_caller_has_gone(kept):
    seen = []

    async def run():
        async with kept.writer() as writer:
            async with kept.held():
                first = writer.submit(add("1"), lambda results: seen.append(("1", results)))
                gone = writer.submit(add("2"), lambda results: seen.append(("2", results)))
                gone.cancel()
                last = writer.submit(add("3"), lambda results: seen.append(("3", results)))
            await last
            assert first.done()

    asyncio.run(run())
    assert seen == [("1", [[]]), ("2", [["1"]]), ("3", [["1", "2"]])]


def test_what_was_not_stored_is_not_applied_in_memory(kept):
    seen = []

    async def run():
        async with kept.writer() as writer:
            await writer.submit(add("1"))
            with pytest.raises(Stale):  # the text is unique
                await writer.submit(add("1"), seen.append)

    asyncio.run(run())
    assert seen == []


def test_close_commits_what_waits_and_takes_no_more(kept):
    async def run():
        async with kept.writer() as writer:
            waiting = [writer.submit(add(text)) for text in numbers(200)]
            await writer.close()
            assert all(done.done() for done in waiting)
            with pytest.raises(StorageUnavailable):
                writer.submit(add("too late"))

    asyncio.run(run())
    assert kept.texts == numbers(200)


def test_too_much_at_once_is_refused_and_not_stored(kept):
    async def run():
        async with kept.writer(most_waiting=10) as writer:
            async with kept.held():
                first = writer.submit(add("first"))
                while writer.waiting:  # the writer has taken it
                    await asyncio.sleep(0.01)
                waiting = [writer.submit(add(text)) for text in numbers(10)]
                with pytest.raises(Overloaded):
                    writer.submit(add("too many"))
            await asyncio.gather(first, *waiting)
            await writer.submit(add("room again"))

    asyncio.run(run())
    assert kept.texts == ["first", *numbers(10), "room again"]


@pytest.mark.usefixtures("impatient")
def test_a_lock_that_is_held_too_long_fails_all_that_wait_at_once(kept):
    async def run():
        async with kept.writer() as writer:
            async with kept.held():
                first = writer.submit(add("first"))
                while writer.waiting:
                    await asyncio.sleep(0.01)
                waiting = [writer.submit(add(text)) for text in numbers(100)]
                began = time.monotonic()
                ends = await asyncio.gather(first, *waiting, return_exceptions=True)
                seconds = time.monotonic() - began
            await writer.submit(add("free again"))
            return ends, seconds

    ends, seconds = asyncio.run(run())
    assert {type(end) for end in ends} == {StorageUnavailable}
    assert seconds < 5.0  # not one after the other
    assert kept.texts == ["free again"]


def test_who_gave_up_waiting_stops_nobody(kept):
    async def run():
        async with kept.writer() as writer:
            async with kept.held():
                gone, stays = writer.submit(add("gone")), writer.submit(add("stays"))
                gone.cancel()
            await stays

    asyncio.run(run())
    assert kept.texts == ["gone", "stays"]


def test_a_commit_that_fails_leaves_nothing_behind(kept):
    async def run():
        async with kept.writer() as writer:
            fail = threading.Event()

            @event.listens_for(writer._engine, "commit")
            def _no_room(_connection):
                if fail.is_set():
                    raise OSError("no room")

            await writer.submit(add("before"))
            fail.set()
            with pytest.raises(StorageUnavailable) as failed:
                await writer.submit(add("lost"))
            assert "no room" in str(failed.value.__cause__)
            fail.clear()
            await writer.submit(add("after"))

    asyncio.run(run())
    assert kept.texts == ["before", "after"]
