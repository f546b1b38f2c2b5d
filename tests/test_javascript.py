"""The example in JavaScript chooses the server's own actions, for every kind of policy but one."""

import json
import subprocess
from pathlib import Path

import pytest

import plaudit
from app.learning import randomness
from app.planning.policies.registry import POLICY_KINDS
from tests.support.running import LAKE
from tests.support.system import need
from tests.test_docs import HORIZON, POLICIES, STATES

EXAMPLES = Path(__file__).parent.parent / "examples"
PLAY = """
const { kinds, uniform, Player } = require("./policy.js");
const { policy, states, document, allowed } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const taken = [];
if (document) {
  const playing = new Player(document).play();
  states.forEach((state, i) => taken.push(playing.act(state, { allowed: allowed?.[i] })));
} else {
  states.forEach((episode, number) => {
    let action, memory = null;
    episode.forEach((state, step) => {
      const u = uniform("2", number, step);
      [action] = kinds[policy.kind](policy, step, state, memory, u);
      taken.push(action);
      const done = number % 2 ? undefined : (step + number / 2) % 2;
      [action, memory] = kinds[policy.kind](policy, step, state, memory, u, done);
    });
  });
}
console.log(JSON.stringify(taken));
"""


def node(**given):
    need("node")
    run = subprocess.run(
        ["node", "-e", PLAY],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=100,
        cwd=EXAMPLES,
    )
    assert (run.returncode, run.stderr) == (0, "")
    return json.loads(run.stdout)


@pytest.mark.parametrize("kind", sorted(set(POLICY_KINDS) - {"net"}))
def test_it_acts_as_the_server_does(kind):
    policy = POLICIES[kind]()
    expected, episodes = [], []
    for number in range(100):
        memory, states = (), []
        for step in range(HORIZON):
            state = int(randomness.uniform(1, number, step) * STATES)
            states.append([state - 0.7] if kind == "network" else state)
            luck = randomness.uniform(2, number, step)
            seen = tuple(states[-1]) if kind == "network" else state
            action, after = policy.act(step, seen, memory, luck)
            expected.append(action)
            other = (step + number // 2) % 2  # that somebody else did
            memory = after if number % 2 else policy.follow(step, seen, memory, luck, other)
        episodes.append(states)
    arrays = {name: array.tolist() for name, array in policy.arrays().items()}
    assert node(policy={"kind": kind, **arrays}, states=episodes) == expected
    assert len(set(expected)) > 1


@pytest.mark.parametrize(
    ("spaces", "states"),
    [
        ({}, [0, 1, 2, 3, 3]),
        ({"states": ["a", "b"], "actions": ["left", "right"]}, ["a", "b", "b", "a", "a"]),
        (
            {"states": {"kind": "box", "low": [-1.0, 0.0], "high": [1.0, 2.0], "bins": [3, 2]}},
            [[-9.0, 0.0], [0.0, 1.0], [0.5, 2.0], [1.0, 9.0], [0.1, 0.1]],
        ),
    ],
)
def test_it_plays_an_episode_of_a_real_server(shared_server, spaces, states):
    with plaudit.Client(shared_server.url) as client:
        agent = client.agent(client.create_agent(**LAKE | {"name": "node"} | spaces).id)
        with agent.episode() as episode:
            address = f"/v1/agents/{agent.id}/policy?episode={episode.id}"
            with shared_server.client() as plain:
                document = plain.get(address).json()
            expected = [episode.act(state) for state in states]
        assert node(document=document, states=states) == expected
        agent.delete()


@pytest.mark.parametrize(
    "kind",
    [
        {"algorithm": {"kind": "thompson"}},
        {"algorithm": "uniform", "allowed": [{"state": 1, "actions": [0, 2]}], "features": None},
        {
            "algorithm": {"kind": "reinforce", "output_scale": 3.0},
            "states": {"kind": "box", "low": [0], "high": [3]},
            "features": None,
        },
    ],
    ids=["thompson", "uniform", "reinforce"],
)
def test_it_keeps_to_what_is_allowed_as_the_server_does(shared_server, kind):
    states = [0, 1, 2, 3, 1]
    if "states" in kind:
        states = [[float(state)] for state in states]
    allowed = [[2], [1, 0], [0, 1, 2], [2, 1], [0]]
    with plaudit.Client(shared_server.url) as client:
        view = client.create_agent(**LAKE | {"name": "node", "actions": 3} | kind)
        agent = client.agent(view.id)
        for _ in range(5):
            with agent.episode() as episode:
                address = f"/v1/agents/{agent.id}/policy?episode={episode.id}"
                with shared_server.client() as plain:
                    document = plain.get(address).json()
                pairs = list(zip(states, allowed, strict=True))
                expected = [episode.act(state, allowed=possible) for state, possible in pairs]
            assert node(document=document, states=states, allowed=allowed) == expected
            assert all(a in one for a, one in zip(expected, allowed, strict=True))
        agent.delete()
