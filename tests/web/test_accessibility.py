"""Every page in its states, light and dark, wide and narrow, before a checker of accessibility."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.support.desk import settled
from tests.support.running import RunningServer, create_agent, play, start_episode, wait_learned

GRID = {"kind": "grid", "rows": 2, "cols": 2}
LOOKS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1200, "height": 900}},
    "dark phone": {"color_scheme": "dark", "viewport": {"width": 390, "height": 800}},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with RunningServer(tmp_path_factory.mktemp("accessible")) as server:
        yield server


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    """A server that asks who comes."""
    folder = tmp_path_factory.mktemp("locked")
    with RunningServer(folder, PLAUDIT_ADMIN_KEY="an-admin-key-of-this-test") as server:
        yield server


@pytest.fixture(scope="module")
def told(server):
    """An agent with a grid and one without, each with episodes that are judged and that wait."""
    with server.client() as client:
        agents = [create_agent(client, display=GRID), create_agent(client, name="no drawing")]
        for agent in agents:
            for i in range(8):
                body = {"label": i % 2, "labeller": ("Ada", "Bob")[i % 2], "comment": "as I saw it"}
                episode = start_episode(client, agent)
                play(client, episode, [0, 1, 2, 3, 3])
                if i < 6:
                    client.post(f"/v1/episodes/{episode}/label", json=body).raise_for_status()
            wait_learned(client, agent)
    return agents


@pytest.fixture(params=LOOKS)
def page(request, chromium):
    context = chromium.new_context(**LOOKS[request.param], reduced_motion="reduce")
    yield context.new_page()
    context.close()


def faults(page):
    """What is serious or worse, each with where it is."""
    found = Axe().run(page).response["violations"]
    return [
        (one["id"], node["target"], node.get("failureSummary"))
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


def test_the_checker_finds_what_is_there(page):
    page.set_content(
        "<main><img src='data:,'><p style='color:#ccc;background:#fff'>pale</p></main>"
    )
    assert {name for name, *_ in faults(page)} >= {"image-alt", "color-contrast"}


@pytest.mark.parametrize(
    "path", ["/", "/agents/{}", "/agents/{}?state=1&action=1", "/episodes/{}_0", "/labellers"]
)
@pytest.mark.parametrize("which", [0, 1], ids=["grid", "timeline"])
def test_the_dashboard_has_no_serious_fault(page, server, told, path, which):
    agent = told[which]
    name = agent.replace("agt", "eps") if "episodes" in path else agent
    page.goto(server.url + path.format(name))
    for summary in page.locator("summary:visible").all():
        summary.click()
    assert faults(page) == []


@pytest.mark.parametrize("which", [0, 1], ids=["grid", "timeline"])
def test_the_desk_has_no_serious_fault(page, server, told, which):
    page.goto(f"{server.url}/label?agent={told[which]}")
    expect(page.locator("#good")).to_be_visible()
    assert faults(page) == []
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert faults(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    settled(page)
    page.keyboard.press("g")  # without a name: it asks for one
    expect(page.get_by_role("alert")).to_be_visible()
    assert faults(page) == []
    page.get_by_label("Your name").fill("Ada")
    page.keyboard.press("Enter")
    settled(page)
    page.keyboard.press("g")
    expect(page.locator("#past li")).to_have_count(1)
    settled(page)
    assert faults(page) == []
    page.keyboard.press("u")
    expect(page.locator("#past li")).to_have_count(0)


def test_an_empty_desk_has_no_serious_fault(page, server):
    with server.client() as client:
        agent = create_agent(client)
    page.goto(f"{server.url}/label?agent={agent}")
    expect(page.locator("#empty")).to_be_visible()
    assert faults(page) == []


def test_signing_in_and_a_missing_page_have_no_serious_fault(page, locked, server):
    page.goto(f"{locked.url}/label")
    expect(page.get_by_label("Your key")).to_be_visible()
    assert faults(page) == []
    page.get_by_label("Your key").fill("no such key")
    page.get_by_role("button", name="Sign in").click()
    assert faults(page) == []
    page.goto(f"{server.url}/agents/agt_404")
    assert faults(page) == []
