"""Policies that run in the client choose the actions that the server chooses, kind by kind."""

import json
import random

import pytest

import plaudit
from app.learning import randomness
from app.planning.policies.registry import POLICY_KINDS
from plaudit.offline import generator
from plaudit.offline.player import Player
from plaudit.offline.policies import KINDS, policy_of
from tests.support.running import LAKE
from tests.test_docs import HORIZON, POLICIES, STATES

BOX = {"kind": "box", "low": [-1.0, 0.0], "high": [1.0, 2.0], "bins": [3, 2]}
NAMES = ["kitchen", "hall", "bath", "cellar"]
HOSTED = {
    "thompson": {},
    "names": {"states": NAMES, "actions": ["left", "right"], "features": {"kind": "auto"}},
    "box": {"states": BOX, "features": {"kind": "auto"}},
    "reward": {"algorithm": {"kind": "ucbvi", "optimism": "reward"}},
    "exact": {"algorithm": "ucbvi_exact", "horizon": 3},
    "explore": {"algorithm": {"kind": "ucbvi_explore", "n_euler": 20}},
    "uniform": {"algorithm": "uniform"},
    "reinforce": {
        "algorithm": {"kind": "reinforce", "batch": 2, "output_scale": 3.0},
        "features": None,
        "states": {"kind": "box", "low": [-1.0, 0.0], "high": [1.0, 2.0]},
    },
    "smooth": {
        "algorithm": {"kind": "smooth", "centres": 100},
        "features": None,
        "states": {"kind": "box", "low": [-1.0, 0.0], "high": [1.0, 2.0]},
    },
    "events": {
        "features": {"kind": "events", "events": [{"both": [1, 2]}, {"visited": 3}]},
    },
    "automaton": {
        "features": {
            "kind": "automaton",
            "transitions": [[[0, 1], [1, 0], [0, 0], [1, 1]], [[1, 0], [1, 1], [0, 1], [0, 0]]],
            "vectors": [[0.0], [1.0]],
        },
    },
}


def test_the_generator_is_the_servers():
    for _ in range(200):
        address = (random.getrandbits(63), random.getrandbits(31), random.getrandbits(17))
        assert generator.uniform(*address) == randomness.uniform(*address)


def test_every_kind_can_be_run():
    assert set(KINDS) == set(POLICY_KINDS)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_kind_acts_as_the_server_does(kind):
    policy = POLICIES[kind]()
    arrays = {name: array.tolist() for name, array in policy.arrays().items()}
    here = policy_of(json.loads(json.dumps({"kind": policy.kind, **arrays})))
    taken = set()
    for episode in range(200):
        theirs, ours = (), None
        for step in range(HORIZON):
            state = int(randomness.uniform(1, episode, step) * STATES)
            if kind == "network":
                state = (state - 0.7,)
            if kind == "net":
                state = (state - 0.7, randomness.uniform(3, episode, step))
            luck = randomness.uniform(2, episode, step)
            action, theirs = policy.act(step, state, theirs, luck)
            other, ours = here.act(step, state, ours, luck)
            assert other == action
            taken.add(action)
    assert len(taken) > 1


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_kind_follows_what_somebody_else_did_as_the_server_does(kind):
    policy = POLICIES[kind]()
    arrays = {name: array.tolist() for name, array in policy.arrays().items()}
    here = policy_of(json.loads(json.dumps({"kind": policy.kind, **arrays})))
    for episode in range(100):
        theirs, ours = (), None
        for step in range(HORIZON):
            state = int(randomness.uniform(1, episode, step) * STATES)
            if kind in ("network", "net"):
                state = (state - 0.7, randomness.uniform(3, episode, step))[: 1 + (kind == "net")]
            luck = randomness.uniform(2, episode, step)
            action, _ = policy.act(step, state, theirs, luck)
            assert here.act(step, state, ours, luck)[0] == action
            done = (step + episode) % 2
            theirs = policy.follow(step, state, theirs, luck, done)
            assert here.act(step, state, ours, luck, done)[0] == done
            ours = here.act(step, state, ours, luck, done)[1]


def some_state(space, rng):
    """A state as a client sends it; some lie beyond the bounds."""
    if space.kind == "discrete":
        return rng.randrange(space.n)
    if space.kind == "labels":
        return rng.choice(space.values)
    return [
        rng.uniform(low - 0.5, high + 0.5) for low, high in zip(space.low, space.high, strict=True)
    ]


@pytest.mark.parametrize("name", HOSTED)
def test_a_document_gives_the_servers_own_actions(name, shared_server):
    """Of every agent kind and space, before and after it learned, with and without exploration."""
    rng, compared = random.Random(name), 0
    with plaudit.Client(shared_server.url) as client:
        view = client.create_agent(**LAKE | {"name": f"policy {name}", "seed": 11} | HOSTED[name])
        agent = client.agent(view.id)
        for number in range(8):
            mode = "learn" if number % 3 else "exploit"
            with agent.episode(mode=mode) as episode:
                document = client.read_policy(agent.id, episode=episode.id)
                here = Player(document).play()
                while not episode.over:
                    state = some_state(view.states, rng)
                    assert here.act(state) == episode.act(state)
                    compared += 1
                assert here.over
                episode.label(rng.random() < 0.5)
        agent.delete()
    assert compared == 8 * view.horizon


@pytest.mark.parametrize("name", HOSTED)
def test_a_document_goes_on_from_what_somebody_else_did_as_the_server_does(name, shared_server):
    rng = random.Random(name)
    with plaudit.Client(shared_server.url) as client:
        view = client.create_agent(**LAKE | {"name": f"other {name}", "seed": 11} | HOSTED[name])
        agent = client.agent(view.id)
        every = view.actions.values or range(view.actions.n)
        for _ in range(4):
            with agent.episode() as episode:
                here = Player(client.read_policy(agent.id, episode=episode.id)).play()
                executed = None
                while not episode.over:
                    state, action = some_state(view.states, rng), rng.choice([None, *every])
                    allowed = rng.sample(list(every), rng.randrange(1, len(every) + 1))
                    told = {"action": action} if action is not None else {"allowed": allowed}
                    chosen = episode.act(state, executed=executed, **told)
                    assert here.act(state, executed=executed, **told) == chosen
                    assert chosen == action if action is not None else chosen in allowed
                    executed = rng.choice([None, *every])
                episode.finish(executed=executed)
                episode.label(rng.random() < 0.5)
        agent.delete()


def test_a_player_refuses_what_was_never_done():
    playing = Player(document()).play()
    with pytest.raises(plaudit.InvalidArgument, match="before the first step"):
        playing.act(0, executed=1)
    with pytest.raises(plaudit.InvalidArgument, match="not one of the agent's actions"):
        playing.act(0, action=2)


def document(**changes):
    fields = {
        "agent": "agt_x",
        "policy_version": 0,
        "episode_number": 0,
        "label_required": True,
        "horizon": 2,
        "seed": "7",
        "generator": "splitmix64",
        "states": plaudit.Space("discrete", n=3),
        "actions": plaudit.Space("discrete", n=2),
        "policy": {"kind": "uniform", "actions": 2},
    }
    return plaudit.PolicyView(**fields | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"policy": {"kind": "oracle"}},
        {"generator": "dice"},
        {"states": plaudit.Space("graph")},
    ],
)
def test_what_later_servers_may_send_is_refused_with_advice(changes):
    with pytest.raises(plaudit.InvalidArgument, match="Upgrade plaudit-client"):
        Player(document(**changes))


@pytest.mark.parametrize(
    ("states", "state"),
    [
        (plaudit.Space("discrete", n=3), 3),
        (plaudit.Space("discrete", n=3), -1),
        (plaudit.Space("discrete", n=3), True),
        (plaudit.Space("discrete", n=3), 1.0),
        (plaudit.Space("labels", values=["a", "b"]), "c"),
        (plaudit.Space("box", low=[0.0], high=[1.0], bins=[2]), [0.5, 0.5]),
        (plaudit.Space("box", low=[0.0], high=[1.0], bins=[2]), ["x"]),
        (plaudit.Space("box", low=[0.0], high=[1.0]), 0.5),
    ],
)
def test_a_state_that_is_none_is_refused(states, state):
    with pytest.raises(plaudit.InvalidArgument, match="expected"):
        Player(document(states=states)).play().act(state)


def test_beyond_the_horizon_there_are_no_actions():
    playing = Player(document()).play()
    playing.act(0)
    playing.act(1)
    with pytest.raises(plaudit.InvalidArgument, match="over"):
        playing.act(2)
