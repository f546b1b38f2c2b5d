"""A robot's loop in plain Python, without the client: numbered steps and safe retries.

A request that gets no answer is sent again. The server does nothing twice, because steps are
numbered and creations carry an Idempotency-Key.
"""

import json
import os
import random
import time
import urllib.error
import urllib.request
import uuid

URL = os.environ.get("PLAUDIT_URL", "http://127.0.0.1:8000")
KEY = os.environ.get("PLAUDIT_KEY")
TRIES = 6


def post(path, body):
    """Send JSON and return the answer's JSON, with retries."""
    headers = {"Content-Type": "application/json", "Idempotency-Key": uuid.uuid4().hex}
    if KEY:
        headers["Authorization"] = f"Bearer {KEY}"
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
    for attempt in range(TRIES):
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code not in (429, 502, 503, 504) or attempt == TRIES - 1:
                raise SystemExit(f"{error.code}: {error.read().decode()}") from error
        except OSError:
            if attempt == TRIES - 1:
                raise
        time.sleep(random.random() * 0.2 * 2**attempt)
    raise AssertionError("not reached")


class Arm:
    """A stand-in for a robot: it must move twice, and then grip."""

    def __init__(self):
        self.moved = 0
        self.holds = False

    def state(self):
        """What its sensors say."""
        return min(self.moved, 2)

    def do(self, action):
        """Carry out an action."""
        if action == "move":
            self.moved += 1
        else:
            self.holds = self.moved == 2


def main():
    """Create an agent and play five episodes."""
    agent = post(
        "/v1/agents",
        {
            "name": "plain arm",
            "states": {"kind": "discrete", "n": 3},
            "actions": {"kind": "labels", "values": ["move", "grip"]},
            "horizon": 4,
        },
    )
    for _ in range(5):
        arm = Arm()
        episode = post(f"/v1/agents/{agent['id']}/episodes", {})["id"]
        for step in range(agent["horizon"]):
            answer = post(f"/v1/episodes/{episode}/steps", {"state": arm.state(), "step": step})
            arm.do(answer["action"])
        post(f"/v1/episodes/{episode}/label", {"label": arm.holds})
        print(episode, "good" if arm.holds else "bad")


if __name__ == "__main__":
    main()
