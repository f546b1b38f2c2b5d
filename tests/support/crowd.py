"""Clients that play at the same time and keep a record of everything that was acknowledged."""

import random
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from tests.support.running import LAKE


@dataclass
class Record:
    """What the server has said yes to of one episode."""

    id: str
    length: int  # steps that will be taken
    steps: list = field(default_factory=list)  # (state, action)
    final: int | None = None
    label: int | None = None


class Player:
    """One client that plays an episode after another; what was not answered it sends again."""

    def __init__(self, agent, seed):
        self.agent = agent
        self.random = random.Random(seed)
        self.records = []
        self.fresh = set()  # records that changed since they were last looked at
        self.current = None
        self.request = None  # sent, and not answered yet
        self.acknowledged = 0
        self.refused = 0

    def play(self, client):
        """Play until the server is gone."""
        try:
            while True:
                self._turn(client)
        except httpx.TransportError:
            return

    def _turn(self, client):
        again = self.request is not None
        if not again:
            self.request = self._next()
        path, body, headers = self.request
        answer = client.post(path, json=body, headers=headers)
        if answer.status_code == 503:  # nothing was stored: the same again
            self.refused += 1
            return
        kind = path.rpartition("/")[2]
        # A finish that was stored but not answered: the episode is over already.
        over = again and kind == "finish" and answer.status_code == 409
        assert answer.is_success or over, f"{path} {body} {answer.status_code} {answer.text}"
        self._note(kind, body, answer.json())
        self.request = None
        self.acknowledged += 1

    def _next(self):
        record = self.current
        if record is None:
            key = {"Idempotency-Key": uuid.uuid4().hex}
            return f"/v1/agents/{self.agent}/episodes", {"wait": False}, key
        path = f"/v1/episodes/{record.id}/"
        if len(record.steps) < record.length:
            state = self.random.randrange(LAKE["states"]["n"])
            return path + "steps", {"state": state, "step": len(record.steps)}, {}
        if record.final is None:
            return path + "finish", {"state": self.random.randrange(LAKE["states"]["n"])}, {}
        return path + "label", {"label": self.random.randrange(2)}, {}

    def _note(self, kind, body, answer):
        if kind == "episodes":
            self.current = Record(answer["id"], self.random.randint(1, LAKE["horizon"]))
            self.records.append(self.current)
        elif kind == "steps":
            self.current.steps.append((body["state"], answer["action"]))
        elif kind == "finish":
            self.current.final = body["state"]
        else:
            self.current.label = body["label"]
        self.fresh.add(len(self.records) - 1)
        if kind == "label":
            self.current = None

    def lost(self, client, everything=False):
        """What was acknowledged and is not there, of what is new or of everything."""
        chosen = range(len(self.records)) if everything else sorted(self.fresh)
        self.fresh = set()
        return [loss for i in chosen for loss in self._lost(client, self.records[i])]

    def _lost(self, client, record):
        answer = client.get(f"/v1/episodes/{record.id}")
        if answer.status_code == 404:
            return [f"episode {record.id}"]
        shown = answer.json()
        steps = [(step["state"], step["action"]) for step in shown["steps"]]
        lost = []
        if steps[: len(record.steps)] != record.steps:
            lost.append(f"steps of {record.id}: {record.steps}, found {steps}")
        if record.final is not None and shown["status"] == "running":
            lost.append(f"the end of {record.id}")
        if record.label is not None and shown["label"] != record.label:
            lost.append(f"the label of {record.id}")
        if len(steps) > record.length:
            lost.append(f"{record.id} has steps that nobody sent: {steps}")
        return lost


class Keeper:
    """A client that makes keys."""

    def __init__(self):
        self.keys = []  # (id, secret)

    @property
    def acknowledged(self):
        """How many keys were made."""
        return len(self.keys)

    def play(self, client):
        """Make keys until the server is gone."""
        try:
            while True:
                body = {"name": "robot", "role": "viewer"}
                made = client.post("/v1/keys", json=body)
                if made.status_code != 503:
                    assert made.status_code == 201, made.text
                    self.keys.append((made.json()["id"], made.json()["secret"]))
        except httpx.TransportError:
            return

    def lost(self, client, everything=False):
        """Keys that were made and open nothing."""
        chosen = self.keys if everything else self.keys[-20:]
        return [
            f"key {key}"
            for key, secret in chosen
            if client.get(
                "/v1/agents", headers={"Authorization": f"Bearer {secret}"}
            ).is_client_error
        ]


@contextmanager
def playing(server, crowd, key=None):
    """Everybody plays meanwhile; whoever was answered wrongly is heard at the end."""
    clients = [server.client(key) for _ in crowd]
    with ThreadPoolExecutor(len(crowd)) as threads:
        games = [
            threads.submit(one.play, client) for one, client in zip(crowd, clients, strict=True)
        ]
        yield games
        for game in games:
            game.result()
    for client in clients:
        client.close()
