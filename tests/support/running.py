"""Running the real server: `plaudit serve` in a process, and small helpers to talk to it."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import httpx

START_SECONDS = 120
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
    """A server on a free port with its data in a folder; environment variables as keywords."""

    def __init__(self, folder, **environment):
        self.folder = folder
        self.database = folder / "plaudit.db"
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("PLAUDIT_")},
            "PLAUDIT_DATABASE_URL": f"sqlite:///{self.database}",
            "PLAUDIT_PORT": "0",
            "PLAUDIT_LEARNING_PROCESSES": "1",
            "PYTHONUNBUFFERED": "1",
            **{name: str(value) for name, value in environment.items()},
        }
        self.process = None
        self.url = None
        self.lines = []

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Start it and wait until it listens."""
        self.lines = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "app.cli", "serve"],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        listening = threading.Event()
        self.reader = threading.Thread(target=self._follow, args=(listening,), daemon=True)
        self.reader.start()
        if not listening.wait(START_SECONDS) or self.url is None:
            raise RuntimeError("the server did not start:\n" + "".join(self.lines))
        return self

    def _follow(self, listening):
        self.url = None
        with self.process.stdout as lines:
            for line in lines:
                self.lines.append(line)
                found = re.search(r'(?:listens on |"url": ")(http://[^\s"]+)', line)
                if found:
                    self.url = found[1]
                    listening.set()
        listening.set()

    def stop(self, seconds=30):
        """SIGTERM, and wait; the exit code."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        return code

    def kill(self):
        """kill -9, nothing can be tidied up."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    @property
    def output(self):
        """Everything that it printed."""
        return "".join(self.lines)

    def client(self, key=None, **options):
        """An HTTP client, with a key if one is given."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, **options)


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
