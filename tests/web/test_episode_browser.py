"""The page of an episode in a real browser: the player, shares, the label, two side by side."""

import pytest
from playwright.sync_api import expect

from tests.support.browser import PATIENCE
from tests.support.desk import GRID, PATH, episodes
from tests.support.running import RunningServer, create_agent, wait_learned

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with RunningServer(tmp_path_factory.mktemp("episode")) as server:
        yield server


@pytest.fixture(scope="module")
def agent(server):
    """An agent with six labelled episodes; the good ones end elsewhere."""
    with server.client() as client:
        agent = create_agent(client, **GRID | {"question": "Did it <b>arrive</b>?"})
        lines = [
            PATH | {"label": 1},
            {"states": [0, 1, 1, 1, 1, 1], "actions": [0] * 5, "label": 0},
        ] * 3
        client.post(f"/v1/agents/{agent}/trajectories", json={"trajectories": lines})
        wait_learned(client, agent)
        return agent


@pytest.fixture
def client(server):
    with server.client() as client:
        yield client


def test_the_player_shows_the_shares_of_the_verdict(server, agent, client, people):
    first = episodes(client, agent)[0]["id"]
    page = people(server.url)
    page.goto(f"{server.url}/episodes/{first}")
    expect(page.locator("[data-part=drawing] svg.grid")).to_be_visible()
    assert "5 steps" in page.locator("[data-part=outcome]").inner_text()
    shares = [step["share"] for step in client.get(f"/v1/episodes/{first}").json()["steps"]]
    bars = page.locator("svg.shares rect")
    assert bars.count() == len(shares) + 1
    for i, share in enumerate(shares):
        assert bars.nth(i).get_attribute("class") == ("share-plus" if share > 0 else "share-minus")
    assert page.locator(".share-marks circle").count() > 0
    page.keyboard.press("Home")
    expect(page.locator("[data-part=caption]")).to_contain_text("Step 0")
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-part=caption]")).to_contain_text("Step 1")
    page.keyboard.press("n")
    page.wait_for_url("**_1")
    page.keyboard.press("p")
    page.wait_for_url("**_0")
    expect(page.get_by_role("link", name="Previous")).to_have_count(0)


def test_a_label_is_corrected_here_with_its_history(server, agent, client, people):
    id_ = episodes(client, agent)[2]["id"]
    page = people(server.url)
    page.goto(f"{server.url}/episodes/{id_}")
    form = page.locator("#correct")
    expect(form).to_contain_text("Did it <b>arrive</b>?")
    form.get_by_label("Your name").fill("Ada")
    form.get_by_label("Comment").fill("it <i>stopped</i> short")
    form.get_by_role("button", name="Bad").click()
    rows = page.locator("#labels tbody tr")
    expect(rows).to_have_count(2, timeout=PATIENCE)
    expect(rows.last).to_contain_text("it <i>stopped</i> short")
    expect(rows.last).to_contain_text("Ada")
    assert client.get(f"/v1/episodes/{id_}").json()["label"] == 0


def test_two_episodes_are_played_side_by_side(server, agent, client, people):
    id_ = episodes(client, agent)[0]["id"]
    page = people(server.url)
    page.goto(f"{server.url}/episodes/{id_}")
    page.get_by_label("with episode number").fill("1")
    page.get_by_role("button", name="Show side by side").click()
    page.wait_for_url("**/compare?number=1")
    expect(page.locator("svg.grid")).to_have_count(2)
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    for i in range(2):
        expect(page.locator("[data-part=caption]").nth(i)).to_contain_text("Step 1")
    assert client.get(f"/episodes/{id_}/compare?number=99").status_code == 404
