"""Running the real server: `plaudit serve` in a process, and small helpers to talk to it."""

import os
import re
import signal
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.support import template
from tests.support.databases import database_url, recordings_of

START_SECONDS = 120
FAULTS = ("early", "twice", "unchecked")  # that can be planted; see `changes`
LAKE = {
    "name": "lake",
    "states": {"kind": "discrete", "n": 4},
    "actions": {"kind": "discrete", "n": 2},
    "horizon": 5,
    "features": {"kind": "one_hot", "over": ["state"]},
    "seed": 7,
}
STATES = [0, 1, 2, 3, 3]  # of an episode of it, to the horizon


class RunningServer:
    """`plaudit serve` on a free port with its data in a folder; settings as keywords.

    The process is forked from a template, so that it starts, and can be started again, at once.
    `learning=False` leaves out the learning processes: nothing that they do is acknowledged to
    anybody. `clock` is a file with the seconds by which the server's clock is wrong. `power` is a
    file that gets the length of the write-ahead log that is synced. `FAULTS` can be planted, as
    `early=True`; see `changes`.
    """

    def __init__(self, folder, learning=True, clock=None, power=None, **options):
        planted = {name: options[name] for name in FAULTS if name in options}
        self.folder = folder
        self.database = folder / "plaudit.db"
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("PLAUDIT_")},
            "PLAUDIT_DATABASE_URL": database_url(folder),
            "PLAUDIT_RECORDINGS_FOLDER": str(recordings_of(folder)),
            "PLAUDIT_PORT": "0",
            "PLAUDIT_LEARNING_PROCESSES": "1",
            "PLAUDIT_LONG_LEARNING_PROCESSES": "0",  # tests stop and kill the only learner
            "PYTHONUNBUFFERED": "1",
            **{name: str(value) for name, value in options.items() if name not in planted},
        }
        files = {"clock": clock and str(clock), "power": power and str(power)}
        self.changes = {"learning": learning, **files, **planted}
        self.process = None
        self.url = None
        self.lines = []

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Start it and wait until it listens."""
        self.lines, self.url = [], None
        output = self._launch()
        listening = threading.Event()
        self.reader = threading.Thread(target=self._follow, args=(output, listening), daemon=True)
        self.reader.start()
        if not listening.wait(START_SECONDS) or self.url is None:
            raise RuntimeError("the server did not start:\n" + self.output)
        return self

    def _launch(self):
        """Start the process; the file that its output can be read from."""
        reading, writing = template.FORKED.Pipe(duplex=False)
        outputs = (writing, writing)
        self.process = template.start(["serve"], self.environment, outputs, self.changes)
        writing.close()
        with reading:
            return os.fdopen(os.dup(reading.fileno()), encoding="utf-8")

    def _follow(self, output, listening):
        with output:
            for line in output:
                self.lines.append(line)
                found = re.search(r'(?:listens on |"url": ")(http://[^\s"]+)', line)
                if found:
                    self.url = found[1]
                    listening.set()
        listening.set()

    @property
    def pid(self):
        """The id of the serving process."""
        return self.process.pid

    def end(self, how, seconds=60):
        """Send a signal and wait for the end; the exit code."""
        os.kill(self.pid, how)
        return self.wait(seconds)

    def wait(self, seconds=60):
        """Wait for the end; the exit code."""
        self.process.join(seconds)
        if self.process.exitcode is None:
            self.process.kill()
            raise RuntimeError("the server did not stop:\n" + self.output)
        self.reader.join(seconds)  # the last lines too
        return self.process.exitcode

    def stop(self, seconds=60):
        """SIGTERM, and wait; the exit code."""
        if self.process is None:
            return None
        return self.end(signal.SIGTERM, seconds) if self.process.is_alive() else self.wait()

    def kill(self):
        """kill -9, nothing can be tidied up; a learner that is stopped keeps the output open."""
        self.process.kill()
        self.process.join()

    @property
    def output(self):
        """Everything that it printed."""
        return "".join(self.lines)

    def client(self, key=None, **options):
        """An HTTP client, with a key if one is given."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, **options)

    @property
    def learners(self):
        """The learning processes: the children of its fork server."""
        parents = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            parents[int(folder.name)] = int(fields[1])
        return [pid for pid, parent in parents.items() if parents.get(parent) == self.pid]

    @contextmanager
    def stopped_learner(self, client):
        """The learning process, which does not get on with its job meanwhile."""
        wait_until(lambda: client.get("/readyz").status_code == 200, seconds=300)
        wait_until(lambda: len(self.learners) == 1)  # one that was killed may still be ending
        (pid,) = self.learners
        os.kill(pid, signal.SIGSTOP)
        try:
            yield pid
        finally:
            if Path(f"/proc/{pid}").exists():
                os.kill(pid, signal.SIGCONT)


def create_agent(client, **changes):
    """A small agent; its id."""
    answer = client.post("/v1/agents", json=LAKE | changes)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def start_episode(client, agent, **body):
    """An episode; its id."""
    answer = client.post(f"/v1/agents/{agent}/episodes", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def play(client, episode, states, label=None):
    """Step through states, to the horizon or not; the actions."""
    actions = []
    for step, state in enumerate(states):
        answer = client.post(f"/v1/episodes/{episode}/steps", json={"state": state, "step": step})
        assert answer.status_code == 200, answer.text
        actions.append(answer.json()["action"])
    if label is not None:
        answer = client.post(f"/v1/episodes/{episode}/label", json={"label": label})
        assert answer.status_code == 200, answer.text
    return actions


def wait_until(condition, seconds=60, pause=0.02):
    """Until a condition holds; its value."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(pause)
    raise AssertionError("it did not happen in time")


def wait_learned(client, agent):
    """Until an agent has nothing left to learn; its view."""
    return wait_until(lambda: _idle(client.get(f"/v1/agents/{agent}").json()))


def _idle(view):
    return view if view["learning"] in ("idle", "failed") else None


def assert_problem(answer, status, code=None):
    """That an answer is a problem as RFC 9457 and the contract have it; its body."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert {"type", "title", "status", "detail", "code", "request_id", "errors"} <= set(body)
    assert body["status"] == status
    assert body["request_id"] == answer.headers["x-request-id"]
    if code is not None:
        assert body["code"] == code
    return body
