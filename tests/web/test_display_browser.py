"""Every classic environment and every kind of display, as the desk draws it."""

import gymnasium as gym
import pytest
from playwright.sync_api import expect

import plaudit
from plaudit.gym.adapter import adapt
from plaudit.gym.spaces import Cut
from tests.support.browser import PATIENCE
from tests.support.desk import seated, waiting
from tests.support.running import RunningServer

pytestmark = pytest.mark.slow

ENVIRONMENTS = {
    "FrozenLake-v1": ("svg.grid .cell-hole", 4, {}),
    "FrozenLake8x8-v1": ("svg.grid .cell-hole", 10, {}),
    "CliffWalking-v1": ("svg.grid .cell-danger", 10, {"horizon": 60}),
    "Taxi-v4": ("svg.grid .sign-text", 4, {}),
    "Blackjack-v1": (".timeline li", None, {"horizon": 10}),
    "CartPole-v1": (".plots svg.plot", 4, {}),
    "MountainCar-v0": (".plots svg.plot", 2, {}),
    "Acrobot-v1": (".plots svg.plot", 6, {}),
    "Pendulum-v1": ("svg.track .cell-goal", 1, {"action_bins": 5}),
}
PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="
BOX = {"kind": "box", "low": [0.0, 0.0], "high": [10.0, 6.0]}
DOCK = {
    "kind": "track",
    "x": 0,
    "y": 1,
    "dimensions": [{"name": "<i>east</i>", "unit": "m"}, {"name": "north", "unit": "m"}],
    "regions": [
        {"kind": "goal", "low": [8, 4], "high": [10, 6], "name": "<b>dock</b>"},
        {"kind": "wall", "low": [4, 0], "high": [5, 3]},
    ],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with RunningServer(tmp_path_factory.mktemp("display")) as server:
        yield server


@pytest.fixture
def client(server):
    with server.client() as client:
        yield client


def played(env, options):
    """A trajectory of random actions, as a client hands it in."""
    cut = Cut(action_bins=options.get("action_bins"))
    adapter = adapt(env, cut, None)
    env.action_space.seed(3)
    observation, _ = env.reset(seed=3)
    states, actions, done = [adapter.state(observation)], [], False
    while not done and len(actions) < options.get("horizon", env.spec.max_episode_steps):
        action = (7 * len(actions) + 3) % adapter.actions.n
        observation, _, terminated, truncated, _ = env.step(adapter.action(action))
        actions.append(action)
        states.append(adapter.state(observation))
        done = terminated or truncated
    return {"states": states, "actions": actions}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_classic_environment_is_drawn(server, people, name):
    part, count, options = ENVIRONMENTS[name]
    env = gym.make(name)
    with plaudit.Client(server.url) as client:
        agent = client.agent(name, env, **options)
        agent.import_trajectories([played(env, options)])
    page = people(server.url, viewport={"width": 1280, "height": 720})
    seated(page, server, agent.id)
    parts = page.locator(f"#drawing {part}")
    expect(parts.first).to_be_visible(timeout=PATIENCE)
    if count is not None:
        expect(parts).to_have_count(count)
    assert page.locator("#outcome").inner_text()
    caption = page.locator("#caption").inner_text()
    named = agent.view.display.get("actions")
    page.keyboard.press("Home")
    if named:
        assert any(action in page.locator("#caption").inner_text() for action in named), caption


def test_the_end_of_a_track_is_said(server, client, people):
    agent = waiting(
        client,
        1,
        {"name": "boat", "states": BOX, "actions": 2, "horizon": 9, "display": DOCK},
        states=[[0.0, 0.0], [5.0, 5.0], [9.0, 5.0]],
        actions=[0, 1],
    )
    page = people(server.url)
    seated(page, server, agent)
    expect(page.locator("#outcome")).to_have_text("Reached the goal after 2 of 9 steps")
    expect(page.locator(".track-name")).to_have_text("<b>dock</b>")
    expect(page.locator("#drawing")).to_contain_text("<i>east</i> to the right")


def test_pictures_are_shown_one_at_a_time(server, client, people):
    display = {"kind": "pictures", "values": [PIXEL] * 4, "names": ["<u>shut</u>", "b", "c", "d"]}
    agent = waiting(
        client,
        1,
        {"name": "door", "states": 4, "actions": 2, "horizon": 9, "display": display},
        states=[0, 0, 1, 3],
        actions=[0, 0, 1],
    )
    page = people(server.url)
    seated(page, server, agent)
    expect(page.locator(".film button")).to_have_count(3)  # what repeats is folded
    page.locator(".film button").first.click()
    expect(page.locator(".pictures .large")).to_have_attribute("alt", "<u>shut</u>")
