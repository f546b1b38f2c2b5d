"""Changes to a forked server that a test asks for, made before it serves."""

import asyncio
import mmap
import time
from pathlib import Path


def change(learning=True, early=False, clock=None, power=None, twice=False, unchecked=False):
    """Leave out learning, set the clock by a file, note what is synced; or plant a fault.

    The faults: acknowledge before the commit, apply labels twice, decide changes at the same time
    without a check of the version.
    """
    if not learning:
        _leave_out_learning()
    if early:
        _acknowledge_early()
    if clock is not None:
        _move_clock(Path(clock))
    if power is not None:
        _note_what_is_synced(Path(power))
    if twice:
        _apply_labels_twice()
    if unchecked:
        _check_no_version()


def _leave_out_learning():
    from app.service.training.process_pool import ProcessPool

    async def start(self):
        return

    async def run(self, job, started=None):
        await asyncio.Event().wait()

    ProcessPool.start, ProcessPool.run = start, run


def _acknowledge_early():
    from app.storage.writer import Writer

    submit, commit = Writer.submit, Writer._commit

    def submit_early(self, unit, applied=None, failed=None):
        if unit.commands:
            return submit(self, unit, applied, failed)  # their results are needed
        submit(self, unit)
        applied([])
        acknowledged = self._loop.create_future()
        acknowledged.set_result([])
        return acknowledged

    def commit_late(self, batch):
        time.sleep(0.03)
        return commit(self, batch)

    Writer.submit, Writer._commit = submit_early, commit_late


def _move_clock(file):
    right = time.time_ns
    time.time_ns = lambda: right() + int(float(file.read_text()) * 1e9)


def _note_what_is_synced(file):
    """Write after each commit how much of the write-ahead log a power cut would leave."""
    from app.storage.writer import Writer

    attempt = Writer._attempt
    file.write_bytes(bytes(8))
    with file.open("r+b") as opened:
        length = mmap.mmap(opened.fileno(), 8)  # works on a full disk too

    def noted(self, units):
        outcome = attempt(self, units)
        with self._engine.connect() as connection:
            is_synced = connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        log = Path(f"{self._engine.url.database}-wal")
        if is_synced and not isinstance(outcome, Exception) and log.exists():
            length[:] = log.stat().st_size.to_bytes(8, "little")
        return outcome

    Writer._attempt = noted


def _apply_labels_twice():
    from app.storage.commands import labels

    apply = labels.SetLabels.apply

    def twice(self, connection):
        logged = apply(self, connection)
        if self.history:
            connection.execute(labels._ADD, [labels._added(row) for row in self.history])
        return logged

    labels.SetLabels.apply = twice


def _check_no_version():
    """Changes of an episode do not wait for each other, and no version is checked."""
    from sqlalchemy import select

    from app.service.runtime.commit import Commits
    from app.storage.commands import episodes, labels
    from app.storage.schema import episodes as table

    change_episode = episodes.change_episode

    async def at_once(self, episode_id):
        return await self._cache.episode(episode_id)

    def unchecked(connection, statement, agent, number, version, **values):
        query = select(table.c.version).where(table.c.agent == agent, table.c.number == number)
        current = connection.execute(query).scalar_one()
        change_episode(connection, statement, agent, number, current, **values)

    Commits.settled = at_once
    episodes.change_episode = labels.change_episode = unchecked
