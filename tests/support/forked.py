"""A server that starts at once: a process that has imported everything is forked for each start.

It is the same `serve` as that of the command, in a process of its own that can be killed. What a
test wants to be different is done to the forked process alone, before it serves.
"""

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from app.service.training.process_pool import NICENESS
from tests.support.running import START_SECONDS, RunningServer, wait_until


class ForkedServer(RunningServer):
    """A server that can be started and killed many times, quickly.

    `learning=False` leaves out the learning processes: nothing that they do is acknowledged to
    anybody. `early=True` acknowledges before the commit, as no server should. `clock` is a file
    with the seconds by which the server's clock is wrong.
    """

    def __init__(self, folder, learning=True, early=False, clock=None, **environment):
        super().__init__(folder, **environment)
        options = {"--no-learning": not learning, "--early": early, f"--clock={clock}": clock}
        self.options = [option for option, wanted in options.items() if wanted]
        self.parent = None
        self.pid = None

    def start(self):
        if self.parent is None:
            self.parent = self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.forked", *self.options],
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
            self.reader = threading.Thread(target=self._listen, daemon=True)
            self.reader.start()
        self.url, self.pid, self.code = None, None, None
        self.changed = threading.Condition()
        self.lines = []
        print("start", file=self.parent.stdin, flush=True)
        self._wait(lambda: self.url or self.code is not None)
        if self.code is not None:
            raise RuntimeError("the server did not start:\n" + self.output)
        return self

    def _listen(self):
        for line in self.parent.stdout:
            with self.changed:
                self.lines.append(line)
                words = line.split()
                if line.startswith("forked "):
                    self.pid = int(words[1])
                elif line.startswith("ended "):
                    self.code = int(words[1])
                elif "listens on http://" in line:
                    self.url = words[-1]
                self.changed.notify_all()
        with self.changed:  # the parent itself is gone
            self.code = -1 if self.code is None else self.code
            self.changed.notify_all()

    def _wait(self, condition, seconds=START_SECONDS):
        with self.changed:
            if not self.changed.wait_for(condition, seconds):
                raise RuntimeError("it did not happen in time:\n" + self.output)

    def end(self, how, seconds=60):
        """Send a signal and wait for the end; the exit code."""
        os.kill(self.pid, how)
        self._wait(lambda: self.code is not None, seconds)
        return self.code

    def kill(self):
        self.end(signal.SIGKILL)

    @property
    def learners(self):
        """The learning processes: the niced ones of its session."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            session, niceness = int(fields[3]), int(fields[16])
            if session == self.parent.pid and niceness == NICENESS:
                found.append(int(folder.name))
        return found

    @contextmanager
    def stopped_learner(self, client):
        """The learning process, which does not get on with its job meanwhile."""
        wait_until(lambda: client.get("/readyz").status_code == 200, seconds=300)
        wait_until(lambda: len(self.learners) == 1)  # one of a killed server may still be ending
        (pid,) = self.learners
        os.kill(pid, signal.SIGSTOP)
        try:
            yield pid
        finally:
            if Path(f"/proc/{pid}").exists():
                os.kill(pid, signal.SIGCONT)

    def stop(self, seconds=60):
        if self.parent is None:
            return None
        if self.pid is not None and self.code is None:
            self.end(signal.SIGTERM, seconds)
        self.parent.stdin.close()
        self.parent.wait(seconds)
        self.reader.join(seconds)
        self.parent.stdout.close()
        self.parent = None
        return self.code


def main():
    """Fork a server for every line of the input."""
    from app.server import serve
    from app.settings import load_settings

    arguments = argparse.ArgumentParser()
    arguments.add_argument("--no-learning", action="store_true")
    arguments.add_argument("--early", action="store_true")
    arguments.add_argument("--clock", type=Path)
    chosen = arguments.parse_args()
    while sys.stdin.readline():
        child = os.fork()
        if child == 0:
            _change(chosen)
            serve(load_settings())
            return
        print("forked", child, flush=True)
        _, status = os.waitpid(child, 0)
        print("ended", os.waitstatus_to_exitcode(status), flush=True)


def _change(chosen):
    if chosen.no_learning:
        _leave_out_learning()
    if chosen.early:
        _acknowledge_early()
    if chosen.clock:
        _move_clock(chosen.clock)


def _leave_out_learning():
    from app.service.training.process_pool import LearningProcesses

    async def start(self):
        return

    async def run(self, job, started=None):
        await asyncio.Event().wait()

    LearningProcesses.start, LearningProcesses.run = start, run


def _acknowledge_early():
    from app.storage import commands
    from app.storage.sqlite.writer import Writer

    submit, commit = Writer.submit, Writer._commit

    def submit_early(self, rows):
        done = submit(self, rows)
        if any(row.statement in (commands.ADD_AGENT, commands.ADD_EPISODE) for row in rows):
            return done  # the answer is read back from the database
        acknowledged = self._loop.create_future()
        acknowledged.set_result(None)
        return acknowledged

    def commit_late(self, batch):
        time.sleep(0.03)
        return commit(self, batch)

    Writer.submit, Writer._commit = submit_early, commit_late


def _move_clock(file):
    right = time.time_ns
    time.time_ns = lambda: right() + int(float(file.read_text()) * 1e9)


if __name__ == "__main__":
    main()
