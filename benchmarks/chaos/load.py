"""The load: clients that never stop, and a record of everything that was acknowledged to them."""

from __future__ import annotations

import hashlib
import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import httpx

from tests.support.crowd import Keeper, Player, Record
from tests.support.running import LAKE

ADMIN_KEY = "the-operator-has-this-key"
_PAGES = (
    "/v1/agents?limit=20",
    "/v1/episodes?order=newest&limit=20",
    "/v1/episodes?order=informative&limit=20",
    "/v1/keys",
    "/metrics",
    "/healthz",
)
_PNG = b"\x89PNG\r\n\x1a\n"


class Member(Protocol):
    """One client. What it was not answered, it sends again."""

    def turn(self, client: httpx.Client) -> None:
        """Send one request."""

    def lost(self, client: httpx.Client, everything: bool) -> list[str]:
        """What was acknowledged and is not there."""


class Violation(Exception):
    """An answer that a server must never give."""


def checked(answer: httpx.Response, *allowed: int) -> bool:
    """Whether a request was carried out; false for 503. Any other status is a violation."""
    if answer.status_code == 503:
        return False
    if answer.status_code not in allowed:
        request = answer.request
        where = f"{request.method} {request.url.path}"
        raise Violation(f"{where} answered {answer.status_code}: {answer.text[:300]}")
    return True


class Playing:
    """Starts, steps, finishes and labels."""

    def __init__(self, agent: str, seed: int) -> None:
        self.player = Player(agent, seed)

    def turn(self, client: httpx.Client) -> None:
        """The next request of the episode."""
        try:
            self.player._turn(client)
        except AssertionError as error:
            self.player.request = self.player.current = None
            raise Violation(str(error)) from error

    def judged(self) -> list[Record]:
        """The episodes whose label was acknowledged."""
        return [record for record in self.player.records if record.label is not None]

    def lost(self, client: httpx.Client, everything: bool) -> list[str]:
        """Episodes, steps, ends and labels that are not there."""
        lost: list[str] = self.player.lost(client, everything)
        return lost


class Correcting:
    """Replaces labels, and attaches recordings, to episodes of others."""

    def __init__(self, players: list[Playing], seed: int) -> None:
        self._players = players
        self._random = random.Random(seed)
        self._request: tuple[Record, int, bytes] | None = None
        self._recordings: dict[str, str] = {}  # the digest of each episode's recording
        self._in_doubt: str | None = None

    def turn(self, client: httpx.Client) -> None:
        """Replace the recording and the label of a judged episode."""
        if self._request is None:
            judged = [one for player in self._players for one in player.judged()[-50:]]
            if not judged:
                time.sleep(0.05)
                return
            record = self._random.choice(judged)
            self._request = record, 1 - record.label, _PNG + uuid.uuid4().bytes * 2000
        record, label, picture = self._request
        self._in_doubt = record.id
        stored = client.put(f"/v1/episodes/{record.id}/recording", content=picture)
        if not checked(stored, 200, 201):
            return
        self._recordings[record.id] = hashlib.sha256(picture).hexdigest()
        answer = client.put(f"/v1/episodes/{record.id}/label", json={"label": label})
        if checked(answer, 200):
            record.label = label
            self._request = self._in_doubt = None

    def lost(self, client: httpx.Client, everything: bool) -> list[str]:
        """Recordings that are not there."""
        chosen = list(self._recordings.items()) if everything else []
        return [
            f"the recording of {episode}"
            for episode, digest in chosen
            if episode != self._in_doubt
            and hashlib.sha256(client.get(f"/v1/episodes/{episode}/recording").content).hexdigest()
            != digest
        ]


class Racing:
    """Two labellers who judge the same episode differently at the same moment."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._threads = ThreadPoolExecutor(2)
        self._won: dict[str, int] = {}

    def turn(self, client: httpx.Client) -> None:
        """Finish an episode, then let two clients label it: exactly one may be told yes."""
        body = {"wait": False, "state": 0}
        started = client.post(f"/v1/agents/{self._agent}/episodes", json=body)
        if not checked(started, 201):
            return
        path = f"/v1/episodes/{started.json()['id']}"
        if not checked(client.post(f"{path}/finish", json={"state": 1}), 200):
            return
        barrier = threading.Barrier(2)

        def give(label: int) -> bool:
            with httpx.Client(base_url=client.base_url, headers=client.headers, timeout=60) as own:
                barrier.wait()
                answer = own.post(f"{path}/label", json={"label": label})
                return checked(answer, 200, 409) and answer.status_code == 200

        yes = [label for label, won in enumerate(self._threads.map(give, (0, 1))) if won]
        if len(yes) > 1:
            raise Violation(f"{path}: both of two contradicting labels were acknowledged")
        if yes:
            self._won[path] = yes[0]

    def lost(self, client: httpx.Client, everything: bool) -> list[str]:
        """Labels that are not there."""
        chosen = list(self._won.items()) if everything else list(self._won.items())[-5:]
        return [
            f"the label of {path}"
            for path, label in chosen
            if client.get(path).json().get("label") != label
        ]


class Importing:
    """Hands in played episodes, each request once."""

    def __init__(self, agent: str, seed: int) -> None:
        self._agent = agent
        self._random = random.Random(seed)
        self._request: tuple[dict[str, Any], str] | None = None
        self._stored: list[tuple[str, list[int]]] = []  # episode and states

    def turn(self, client: httpx.Client) -> None:
        """Import one episode; a retry imports nothing twice."""
        if self._request is None:
            states = [self._random.randrange(LAKE["states"]["n"]) for _ in range(4)]
            played = {"states": states, "actions": [0, 1, 0], "label": self._random.randrange(2)}
            self._request = {"trajectories": [played]}, uuid.uuid4().hex
        body, key = self._request
        path = f"/v1/agents/{self._agent}/trajectories"
        answer = client.post(path, json=body, headers={"Idempotency-Key": key})
        if checked(answer, 201):
            self._stored.append((answer.json()["first"], body["trajectories"][0]["states"][:3]))
            self._request = None
        time.sleep(0.05)

    def lost(self, client: httpx.Client, everything: bool) -> list[str]:
        """Imported episodes that are not there, or there twice."""
        if not everything:
            return []
        different = len({episode for episode, _ in self._stored})
        lost = [] if different == len(self._stored) else ["two imports have one id"]
        for episode, states in self._stored:
            shown = client.get(f"/v1/episodes/{episode}").json()
            if [step["state"] for step in shown.get("steps", [])] != states:
                lost.append(f"the import {episode}")
        return lost


class Deleting:
    """Creates agents, plays with them and deletes them while they learn."""

    def __init__(self) -> None:
        self._gone: list[str] = []

    def turn(self, client: httpx.Client) -> None:
        """One agent's whole life."""
        created = client.post("/v1/agents", json=LAKE | {"name": "short-lived"})
        if not checked(created, 201):
            return
        path = f"/v1/agents/{created.json()['id']}"
        body = {"wait": False, "state": 0}
        for _ in range(3):
            started = client.post(f"{path}/episodes", json=body)
            if checked(started, 201):
                episode = f"/v1/episodes/{started.json()['id']}"
                checked(client.post(f"{episode}/finish", json={"state": 1, "label": 1}), 200)
        if checked(client.delete(path), 204):
            self._gone.append(path)

    def lost(self, client: httpx.Client, everything: bool) -> list[str]:
        """Deletions that did not last."""
        chosen = self._gone if everything else self._gone[-5:]
        return [f"the deletion of {p}" for p in chosen if client.get(p).status_code != 404]


class Keeping:
    """Makes keys."""

    def __init__(self) -> None:
        self.keeper = Keeper()

    def turn(self, client: httpx.Client) -> None:
        """Make one key."""
        answer = client.post("/v1/keys", json={"name": "robot", "role": "viewer"})
        if checked(answer, 201):
            self.keeper.keys.append((answer.json()["id"], answer.json()["secret"]))
        time.sleep(0.2)

    def lost(self, client: httpx.Client, everything: bool) -> list[str]:
        """Keys that open nothing."""
        lost: list[str] = self.keeper.lost(client, everything)
        return lost


class Viewing:
    """Reads lists and documents."""

    def __init__(self, agents: list[str], seed: int) -> None:
        self._random = random.Random(seed)
        self._paths = [*_PAGES, *(f"/v1/agents/{one}/model" for one in agents)]

    def turn(self, client: httpx.Client) -> None:
        """Read one of them."""
        checked(client.get(self._random.choice(self._paths)), 200)
        time.sleep(0.02)

    def lost(self, client: httpx.Client, everything: bool) -> list[str]:
        """Nothing: it writes nothing."""
        del client, everything
        return []


class Load:
    """Runs every member in a thread, over restarts of the server, with pauses for checks."""

    def __init__(self, members: list[Member], connect: Callable[[], httpx.Client]) -> None:
        self._members = members
        self._connect = connect
        self._running = threading.Event()
        self._stopped = False
        self._resting = threading.Semaphore(0)
        self.turns = 0
        self.violations: Counter[str] = Counter()
        self._threads = [threading.Thread(target=self._run, args=(one,)) for one in members]

    def start(self) -> None:
        """Start all of them."""
        self._running.set()
        for thread in self._threads:
            thread.start()

    def pause(self) -> None:
        """Wait until nobody has a request under way."""
        self._running.clear()
        for _ in self._threads:
            self._resting.acquire()

    def resume(self) -> None:
        """Go on."""
        self._running.set()

    def stop(self) -> None:
        """End all of them."""
        self._stopped = True
        self._running.set()
        for thread in self._threads:
            thread.join()

    def lost(self, everything: bool) -> list[str]:
        """What was acknowledged and is not there; they must be paused."""
        with self._connect() as client:
            return [loss for one in self._members for loss in one.lost(client, everything)]

    def _run(self, member: Member) -> None:
        client = self._connect()
        while True:
            if not self._running.is_set():
                self._resting.release()
                self._running.wait()
            if self._stopped:
                break
            try:
                member.turn(client)
                self.turns += 1
            except httpx.TransportError:
                time.sleep(0.02)
            except Violation as error:
                self.violations[str(error)] += 1
        client.close()
