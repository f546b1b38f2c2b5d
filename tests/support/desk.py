"""People at the labelling desk: an agent with episodes that wait, and what the page shows."""

from playwright.sync_api import expect

from tests.support.browser import PATIENCE
from tests.support.running import LAKE, create_agent

GRID = LAKE | {"display": {"kind": "grid", "rows": 2, "cols": 2}}
PATH = {"states": [0, 1, 3, 2, 0, 1], "actions": [0, 1, 1, 0, 1]}


def waiting(client, count, specification=GRID, **more):
    """An agent with episodes that wait for a label; its id."""
    agent = create_agent(client, **specification)
    logged = {"trajectories": [PATH | more for _ in range(count)]}
    answer = client.post(f"/v1/agents/{agent}/trajectories", json=logged)
    assert answer.is_success, answer.text
    return agent


def sign_in(page, server, secret, path="/label"):
    """Sign in with a key."""
    page.goto(server.url + path)
    page.get_by_label("Your key").fill(secret)
    page.get_by_role("button", name="Sign in").click()


def seated(page, server, agent, name="Ada"):
    """Sit down at the desk of an agent where keys are off, with a name, before an episode."""
    page.goto(f"{server.url}/label?agent={agent}")
    page.locator("#labeller").fill(name)
    page.keyboard.press("Enter")
    shown(page)
    settled(page)


def shown(page):
    """The name of the episode before a person, once one is there."""
    heading = page.locator("#work:not([hidden]) #episode-name")
    heading.wait_for()
    return heading.inner_text()


def settled(page):
    """Wait until the desk takes the next verdict."""
    expect(page.locator("#desk")).to_have_attribute("aria-busy", "false", timeout=PATIENCE)
    expect(page.locator("#desk[data-unseen]")).to_have_count(0, timeout=PATIENCE)


def press(page, key, left):
    """Press a key and wait until the desk has taken it in."""
    settled(page)
    page.keyboard.press(key)
    expect(page.locator("#left")).to_have_text(str(left), timeout=PATIENCE)
    settled(page)


def episodes(client, agent):
    """The episodes of an agent, at most 100."""
    answer = client.get("/v1/episodes", params={"agent": agent, "limit": 100})
    return answer.json()["items"]


def labels(client, agent):
    """The labels of an agent's episodes, by number."""
    return {one["number"]: one["label"] for one in episodes(client, agent)}
