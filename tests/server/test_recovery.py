"""After kill -9 everything goes on as if nothing had happened: same policies, same actions."""

import random
import threading
import time
import uuid

import httpx
import pytest

from app.agents import make_agent
from app.learning.randomness import uniform
from app.planning.policies.registry import unpack_policy
from app.service.agents.specification import agent_spec, read_specification
from app.service.episodes.trajectories import trajectory_to_learn
from app.service.runtime.ids import read_agent_id, read_episode_id
from app.storage.queries import episodes, events, policies, steps, training
from app.storage.reader import Reader
from tests.support.databases import database_url
from tests.support.running import (
    RunningServer,
    create_agent,
    play,
    start_episode,
    wait_learned,
    wait_until,
)

EPISODES = 15
GOAL = 3
HORIZON = 5
KILLS = {  # what the server is asked when it is killed
    (0, "start"): "during",
    (2, "step 1"): "after",
    (4, "finish"): "after",  # and long before the label
    (5, "label"): "during",
    (8, "label"): "after",  # while it learns
    (11, "step 2"): "during",
}


class Session:
    """Plays episodes in a corridor: action 1 goes right, 0 goes left; the end is good."""

    def __init__(self, server, agent, kills=None):
        self.server, self.agent, self.kills = server, agent, kills or {}
        self.luck = random.Random(3)
        self.killed = 0

    def run(self):
        """What each episode was: its policy's version, states, actions and label."""
        return [self._episode(number) for number in range(EPISODES)]

    def _episode(self, number):
        key = {"Idempotency-Key": uuid.uuid4().hex}
        path = f"/v1/agents/{self.agent}/episodes"
        started = self._ask(number, "start", path, {}, key)
        path = f"/v1/episodes/{started['id']}"
        states, actions = [0], []
        while len(actions) < HORIZON and states[-1] != GOAL:
            body = {"state": states[-1], "step": len(actions)}
            action = self._ask(number, f"step {len(actions)}", f"{path}/steps", body)["action"]
            actions.append(action)
            states.append(min(states[-1] + 1, GOAL) if action == 1 else max(states[-1] - 1, 0))
        self._ask(number, "finish", f"{path}/finish", {"state": states[-1]})
        # Every fourth verdict is wrong, so that the agent never stops trying things.
        label = int((states[-1] == GOAL) != (number % 4 == 3))
        self._ask(number, "label", f"{path}/label", {"label": label})
        return started["number"], started["policy_version"], states, actions, label

    def _ask(self, episode, what, path, body, headers=None):
        """One request; if it was cut off, once more afterwards."""
        when = self.kills.get((episode, what))
        if when == "during":
            self._cut(path, body, headers)
        with self.server.client() as client:
            answer = client.post(path, json=body, headers=headers)
        assert answer.is_success, answer.text
        if when == "after":
            self._restart()
        if what == "finish" and when == "after":
            self._let_it_be()
        return answer.json()

    def _let_it_be(self):
        """Give a server that would learn now, unasked, the time to do so."""
        with self.server.client() as client:
            wait_until(lambda: client.get("/readyz").status_code == 200, seconds=300)
            wait_learned(client, self.agent)

    def _cut(self, path, body, headers):
        def send():
            try:
                with self.server.client() as client:
                    client.post(path, json=body, headers=headers)
            except httpx.TransportError:
                return

        sending = threading.Thread(target=send)
        sending.start()
        time.sleep(self.luck.uniform(0.0, 0.1))
        self._restart()
        sending.join()

    def _restart(self):
        self.server.kill()
        self.server.start()
        self.killed += 1


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with RunningServer(tmp_path_factory.mktemp("recovery"), PLAUDIT_WAIT_SECONDS=300) as server:
        yield server


@pytest.fixture(scope="module")
def sessions(server):
    """The same session twice, undisturbed and killed: (agent, episodes) of each."""
    with server.client() as client:
        agents = [create_agent(client, horizon=HORIZON, seed=11) for _ in range(2)]
    undisturbed = Session(server, agents[0]).run()
    killed = Session(server, agents[1], KILLS)
    disturbed = killed.run()
    assert killed.killed == len(KILLS)
    return [(agents[0], undisturbed), (agents[1], disturbed)]


def test_a_session_that_was_killed_has_the_same_policies_and_actions(sessions):
    (_, undisturbed), (_, disturbed) = sessions
    assert disturbed == undisturbed
    played = [tuple(actions) for _, _, _, actions, _ in undisturbed]
    assert len(set(played)) > 2  # there was something to go wrong


def test_what_was_learned_is_the_same(server, sessions):
    def known(client, agent):
        view = wait_learned(client, agent)
        assert view["learning"] == "idle"
        policy = client.get(f"/v1/agents/{agent}/policy").json()
        model = client.get(f"/v1/agents/{agent}/model").json()
        chosen = "policy_version", "episodes", "success_rate"
        parts = [{name: view[name] for name in chosen}, policy, model]
        return [{k: v for k, v in part.items() if k not in ("agent", "id")} for part in parts]

    (one, _), (other, _) = sessions
    with server.client() as client:
        assert known(client, other) == known(client, one)


def test_every_episode_can_be_replayed_from_the_log(server, sessions):
    reader = Reader(database_url(server.folder))
    with reader.session() as session:
        for agent, found in sessions:
            number = read_agent_id(agent)
            stored = session.read(training.agent_specification, number)
            spec = agent_spec(read_specification(stored))
            log = session.read(events.events_to_learn, number, 0)
            played = session.read(training.played_episodes, number, range(EPISODES))
            assert len(played) == len(found) == EPISODES
            for one, (_, _, states, actions, _) in zip(played.values(), found, strict=True):
                policy = planned(spec, log, played, one.row)
                assert [step.state for step in one.steps] == states[: len(actions)]
                assert acted(policy, spec.seed, one.row.number, states[: len(actions)]) == actions
    reader.close()


def planned(spec, log, played, row):
    """The plan of an episode, made again from what was known when it started."""
    agent = make_agent(spec)
    for event in log:
        if event.number > row.policy_version:
            break
        one = played[event.episode]
        if event.kind == "finished":
            trajectory = trajectory_to_learn(one, event.final_known, observes=False)
            agent.finish(event.episode, trajectory)
        elif event.kind == "reported":
            agent.report(event.episode, one.row.final, one.row.ended)
        elif event.kind == "labelled":
            agent.label(event.episode, event.label)
    return agent.plan(row.plan).policy


def acted(policy, seed, episode, states):
    """The actions of a policy in these states."""
    actions, memory = [], ()
    for step, state in enumerate(states):
        action, memory = policy.act(step, state, memory, uniform(seed, episode, step))
        actions.append(action)
    return actions


def test_an_episode_keeps_its_plan_while_others_teach_the_agent(server):
    """Its plan stays stored as long as it runs, and gives what the server gave and will give."""
    states = [0, 1, 2, 1, 0]
    with server.client() as client:
        agent = create_agent(client, seed=5)
        running = start_episode(client, agent)
        actions = play(client, running, states[:2])
        for label in (1, 0, 1):
            play(client, start_episode(client, agent), states, label)
        learned = wait_learned(client, agent)["policy_version"]
    server.kill()
    server.start()
    reader = Reader(database_url(server.folder))
    with reader.session() as session:
        number = read_episode_id(running)
        row = session.read(episodes.episode_row, *number)
        stored = session.read(policies.plan_row, number[0], row.policy_version, row.plan)
        taken = session.read(steps.step_rows, *number)
    reader.close()
    assert row.policy_version < learned
    expected = acted(unpack_policy(stored.policy), 5, number[1], states)
    assert [step.action for step in taken] == actions == expected[:2]
    with server.client() as client:
        for step in (1, 2, 3, 4):  # the first of them is a repetition
            body = {"state": states[step], "step": step}
            answer = client.post(f"/v1/episodes/{running}/steps", json=body).json()
            assert answer["action"] == expected[step]


def test_learning_that_was_under_way_is_done_again_without_being_asked(server):
    with server.client() as client:
        agent = create_agent(client, seed=6)
        before = wait_learned(client, agent)["policy_version"]
        episode = start_episode(client, agent)
        with server.stopped_learner(client):
            play(client, episode, [0, 1, 2, 3, 3], label=1)
            server.kill()
    server.start()
    with server.client() as client:
        view = wait_learned(client, agent)
        assert view["learning"] == "idle"
        assert view["policy_version"] > before
        assert client.get(f"/v1/episodes/{episode}").json()["label"] == 1
