"""The dashboard in a real browser: live, quick with very much in it, and quiet."""

import pytest
from playwright.sync_api import expect

from tests.support.browser import PATIENCE, Watched, need_chromium
from tests.support.crowded import crowd
from tests.support.databases import database_url
from tests.support.running import (
    RunningServer,
    create_agent,
    play,
    start_episode,
    wait_learned,
)

STATES = [0, 1, 2, 3, 3]
GRID = {"kind": "grid", "rows": 2, "cols": 2}
PAINTED = """() => new Promise(done => new PerformanceObserver(list => {
  for (const one of list.getEntries())
    if (one.name === "first-contentful-paint") done(one.startTime);
}).observe({ type: "paint", buffered: true }))"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with 1000 agents, below a path as behind a proxy."""
    need_chromium()
    folder = tmp_path_factory.mktemp("dashboard")
    crowd(database_url(folder), 1000)
    with RunningServer(folder, PLAUDIT_ROOT_PATH="/deep/plaudit") as server:
        yield server


@pytest.fixture(scope="module")
def big(server):
    """An agent with 5000 labelled episodes; its id."""
    with server.client() as client:
        agent = create_agent(client, name="big", display=GRID)
        for first in range(0, 5000, 1000):
            lines = [
                {"states": [0, 1, i % 4, i % 4, i % 4], "actions": [i % 2] * 5, "label": i % 2}
                for i in range(first, first + 1000)
            ]
            answer = client.post(f"/v1/agents/{agent}/trajectories", json={"trajectories": lines})
            assert answer.is_success, answer.text
        wait_learned(client, agent)
        return agent


@pytest.fixture
def visit(server, chromium):
    """Open a page; no page may complain, or ask another server."""
    watched, contexts = Watched(), []

    def opened(path, **options):
        context = chromium.new_context(**options)
        contexts.append(context)
        watched.watch(context)
        page = context.new_page()
        page.goto(f"{server.url}{path}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert watched.complaints == []
    assert watched.asked
    assert watched.strangers(server.url) == []


def test_the_page_of_an_agent_follows_labels_without_being_loaded_again(server, visit):
    with server.client() as client:
        agent = create_agent(client, display=GRID)
        play(client, start_episode(client, agent), STATES, label=1)
        wait_learned(client, agent)
        page = visit(f"/agents/{agent}")
        expect(page.locator("#live-state")).to_have_text("live", timeout=PATIENCE)
        page.evaluate("window.stillHere = true")
        page.locator("#curve-numbers summary").click()
        expect(page.locator("#success")).to_contain_text("of 1 labelled")
        episode = start_episode(client, agent)
        play(client, episode, STATES)
        expect(page.locator("#waiting")).to_contain_text("1", timeout=PATIENCE)
        client.post(f"/v1/episodes/{episode}/label", json={"label": 0}).raise_for_status()
        expect(page.locator("#success")).to_contain_text("50", timeout=PATIENCE)
        expect(page.locator("#success")).to_contain_text("of 2 labelled")
        version = wait_learned(client, agent)["policy_version"]
        newest = page.locator("#versions tbody tr").first
        expect(newest).to_contain_text(str(version), timeout=PATIENCE)
        assert page.evaluate("window.stillHere") is True
        assert page.locator("#curve-numbers").get_attribute("open") is not None


def test_the_page_of_an_agent_follows_labels_that_are_settled_by_a_timeout(server, visit):
    with server.client() as client:
        agent = create_agent(client, labels_wanted=2, label_timeout="PT12S")
        episode = start_episode(client, agent)
        play(client, episode, STATES, label=1)
        wait_learned(client, agent)
        page = visit(f"/agents/{agent}")
        expect(page.locator("#live-state")).to_have_text("live", timeout=PATIENCE)
        expect(page.locator("#success")).to_contain_text("of 0 labelled")
        # The timeout changes nothing that is learned, so no other event follows.
        expect(page.locator("#success")).to_contain_text("of 1 labelled", timeout=30_000)


def test_a_state_is_chosen_with_the_keyboard_alone(server, visit):
    with server.client() as client:
        agent = create_agent(client, display=GRID)
        play(client, start_episode(client, agent), STATES, label=1)
        wait_learned(client, agent)
    page = visit(f"/agents/{agent}")
    page.locator(".belief-map a").nth(2).focus()
    expect(page.locator("#belief-words")).to_contain_text("Row 2, column 1")
    page.keyboard.press("Enter")
    page.wait_for_url("**state=2*")
    expect(page.locator("td.chosen")).to_have_count(1)
    expect(page.locator("#state")).to_have_value("2")
    page.locator("#action").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**action=1*")
    expect(page.locator("#followers")).to_contain_text("state 2")


def test_an_agent_is_watched_as_it_learned(server, visit):
    with server.client() as client:
        agent = create_agent(client, display=GRID)
        for i in range(6):
            play(client, start_episode(client, agent), STATES, label=i % 2)
            wait_learned(client, agent)
    page = visit(f"/agents/{agent}")
    signs = page.locator(".belief-map .square title")
    now = signs.all_text_contents()
    assert any("Seen" in words for words in now)
    slider = page.locator("#policy-version")
    slider.focus()
    page.keyboard.press("Home")
    expect(page.locator("#policy-words")).to_have_text("after 1 label", timeout=PATIENCE)
    expect(signs.first).not_to_have_text(now[0], timeout=PATIENCE)
    assert page.locator("#believes").get_attribute("data-held") is not None
    page.keyboard.press("End")
    expect(page.locator("#policy-words")).to_have_text("now")
    expect(signs.first).to_have_text(now[0])


def test_the_curve_has_numbers_under_the_pointer_and_can_be_zoomed(visit, big):
    page = visit(f"/agents/{big}")
    area = page.locator("#chart .plot-area")
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 20)
    tip = page.locator("#chart-tip")
    expect(tip).to_contain_text("labels 1501 to 1625")
    expect(tip).to_contain_text("95 % interval")
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 20)
    page.mouse.up()
    ticks = [int(text) for text in page.locator("#chart-ticks span").all_inner_texts()]
    assert (ticks[0], ticks[-1]) == (pytest.approx(1500, abs=20), pytest.approx(2500, abs=20))
    page.get_by_role("button", name="Show all").click()
    expect(page.locator("#chart-ticks span").last).to_have_text("5000")


def test_the_id_can_be_copied_and_times_are_in_words(visit, big):
    page = visit(f"/agents/{big}", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the id").click()
    expect(page.locator("[data-copy=agent-id]")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == big
    time = page.locator("#episodes time").first
    assert "ago" in time.inner_text() or time.inner_text() == "just now"
    assert "20" in time.get_attribute("title")


@pytest.mark.parametrize("what", ["agents", "agent", "episode", "labellers"])
def test_very_much_is_painted_soon_and_fits_a_phone(visit, big, what):
    path = {
        "agents": "/",
        "agent": f"/agents/{big}",
        "episode": f"/episodes/{big.replace('agt', 'eps')}_4999",
        "labellers": "/labellers",
    }[what]
    for width, scheme in ((1200, "light"), (390, "dark")):
        page = visit(path, viewport={"width": width, "height": 800}, color_scheme=scheme)
        painted = page.evaluate(PAINTED)
        print(f"{what} at {width}: first contentful paint after {painted:.0f} ms")
        assert page.locator("h1").is_visible()
        beyond = page.evaluate("document.body.scrollWidth - document.documentElement.clientWidth")
        assert beyond <= 0
    if what == "agent":
        assert "of 5000 labelled" in page.locator("#success").inner_text()
    if what == "agents":
        assert int(page.locator("main > .quiet").first.inner_text().split()[0]) > 1000
        page.get_by_role("link", name="Older").click()
        page.wait_for_url("**page=2*")
        assert page.locator(".agent-card").count() == 50
