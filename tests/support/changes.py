"""Changes to a forked server that a test asks for, made before it serves."""

import asyncio
import time
from pathlib import Path


def change(learning=True, early=False, clock=None):
    """Leave out learning, acknowledge before the commit, or read a clock that a file sets wrong."""
    if not learning:
        _leave_out_learning()
    if early:
        _acknowledge_early()
    if clock is not None:
        _move_clock(Path(clock))


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
