"""The desk against slips of a hand, lost connections and episodes that vanish, in a browser."""

import pytest
from playwright.sync_api import expect

from tests.support.browser import PATIENCE
from tests.support.desk import (
    GRID,
    episodes,
    labels,
    press,
    seated,
    settled,
    shown,
    waiting,
)
from tests.support.running import RunningServer, play, start_episode, wait_learned
from tests.support.video import webm

STATES = [0, 1, 2, 3, 3]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with RunningServer(tmp_path_factory.mktemp("slips")) as server:
        yield server


@pytest.fixture
def client(server):
    with server.client() as client:
        yield client


@pytest.fixture
def desk(server, client, people):
    """Sit down at a desk with some episodes: the page and the agent."""

    def sat(count=3, specification=GRID, **options):
        agent = waiting(client, count, specification)
        page = people(server.url, **options)
        seated(page, server, agent)
        return page, agent

    return sat


def judged(client, agent):
    return [label for label in labels(client, agent).values() if label is not None]


@pytest.mark.parametrize("key", ["Space", "Enter"])
def test_a_key_after_a_click_on_good_does_not_label_the_next_episode(desk, client, key):
    page, agent = desk(reduced_motion="reduce")
    page.locator("#good").click()
    expect(page.locator("#left")).to_have_text("2", timeout=PATIENCE)
    settled(page)
    page.keyboard.press(key)
    settled(page)
    expect(page.locator("#left")).to_have_text("2")
    assert judged(client, agent) == [1]


def test_who_tabs_to_a_button_can_press_it_with_space(desk, client):
    page, agent = desk()
    page.locator("#bad").focus()
    page.keyboard.press("Space")
    expect(page.locator("#left")).to_have_text("2", timeout=PATIENCE)
    assert judged(client, agent) == [0]


def test_a_second_tap_does_not_judge_an_episode_that_nobody_has_seen(desk, client):
    page, agent = desk()
    page.evaluate("""() => new Promise(done => {
      const good = document.getElementById("good"), left = document.getElementById("left");
      new MutationObserver(() => { good.click(); setTimeout(done, 100); })
        .observe(left, { childList: true });
      good.click();
    })""")
    settled(page)
    expect(page.locator("#left")).to_have_text("2")
    assert judged(client, agent) == [1]
    press(page, "b", 1)  # soon after, it is taken
    assert sorted(judged(client, agent)) == [0, 1]


def test_undo_survives_a_reload_and_gives_the_comment_back(desk, client):
    page, agent = desk()
    page.locator("#comment").fill("it stumbled")
    page.keyboard.press("Escape")
    press(page, "b", 2)
    name = page.locator("#past button").get_attribute("title")
    page.reload()
    shown(page)
    expect(page.locator("#past li")).to_have_count(1)
    expect(page.locator("#result-title")).to_contain_text("was bad")
    press(page, "u", 3)
    assert shown(page) in name
    expect(page.locator("#comment")).to_have_value("it stumbled")
    expect(page.locator("#past li")).to_have_count(0)
    assert judged(client, agent) == []


def test_a_skip_can_be_undone(desk):
    page, _ = desk()
    first = shown(page)
    press(page, "s", 3)
    assert shown(page) != first
    expect(page.locator("#skipped")).to_have_text("1")
    press(page, "u", 3)
    assert shown(page) == first
    expect(page.locator("#skipped-note")).to_be_hidden()


def test_a_verdict_is_corrected_in_place(desk, client):
    page, agent = desk()
    first = shown(page)
    press(page, "g", 2)
    press(page, "g", 1)
    page.locator("#past button").first.click()
    expect(page.locator("#episode-name")).to_have_text(first, timeout=PATIENCE)
    expect(page.locator("#past [aria-current]")).to_have_count(1)
    settled(page)
    assert sorted(judged(client, agent)) == [1, 1]  # its label stays meanwhile
    press(page, "b", 1)
    assert sorted(judged(client, agent)) == [0, 1]
    expect(page.locator("#past li")).to_have_count(2)
    page.locator("#past button").last.click()
    expect(page.locator("#skip-words")).to_have_text("Keep it", timeout=PATIENCE)
    settled(page)
    page.keyboard.press("s")
    expect(page.locator("#skip-words")).to_have_text("Skip", timeout=PATIENCE)
    assert sorted(judged(client, agent)) == [0, 1]


def test_cannot_tell_takes_a_reason_and_is_undone_or_corrected(desk, client):
    page, agent = desk()
    page.keyboard.press("t")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("g")  # a letter of the reason
    page.get_by_role("button", name="The recording is broken").click()
    page.locator("#reason").press("Enter")
    expect(page.locator("#result-title")).to_contain_text("cannot tell", timeout=PATIENCE)
    settled(page)
    (told,) = [
        view
        for one in episodes(client, agent)
        if (view := client.get(f"/v1/episodes/{one['id']}").json())["labels"]
    ]
    assert "The recording is broken" in str(told["labels"])
    assert judged(client, agent) == []
    page.locator("#past button").click()
    expect(page.locator("#skip-words")).to_have_text("Keep it", timeout=PATIENCE)
    settled(page)
    page.keyboard.press("b")
    expect(page.locator("#result-title")).to_contain_text("was bad", timeout=PATIENCE)
    assert judged(client, agent) == [0]


def test_keys_work_after_the_speed_was_chosen(desk, client):
    page, agent = desk()
    page.locator("#speed").click()
    expect(page.locator("#speed")).to_have_text("2\N{MULTIPLICATION SIGN}")
    press(page, "g", 2)
    assert judged(client, agent) == [1]
    page.reload()
    shown(page)
    expect(page.locator("#speed")).to_have_text("2\N{MULTIPLICATION SIGN}")  # it is remembered


def test_an_agent_that_is_deleted_leaves_a_way_on(server, client, chromium):
    agent = waiting(client, 2)
    context = chromium.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    seated(page, server, agent)
    client.delete(f"/v1/agents/{agent}").raise_for_status()
    page.keyboard.press("g")
    expect(page.locator("#trouble")).to_contain_text("deleted", timeout=PATIENCE)
    expect(page.locator("#work")).to_be_hidden()
    waiting(client, 1)
    page.get_by_role("link", name="all agents").click()
    shown(page)
    context.close()


def test_the_desk_says_that_it_is_offline_and_when_it_is_back(server, chromium, client):
    agent = waiting(client, 2)
    context = chromium.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    seated(page, server, agent)
    before = page.locator("#good").bounding_box()
    context.set_offline(True)
    page.keyboard.press("g")
    expect(page.locator("#trouble")).to_contain_text("cannot be reached")
    assert page.locator("#good").bounding_box() == before  # the buttons stay where they are
    context.set_offline(False)
    expect(page.locator("#trouble")).to_be_hidden(timeout=PATIENCE)
    settled(page)
    press(page, "g", 1)
    context.close()


def test_a_slow_answer_shows_that_the_desk_waits(desk):
    page, _ = desk()
    page.route("**/label/verdict", lambda route: page.wait_for_timeout(1000) or route.continue_())
    page.keyboard.press("g")
    expect(page.locator("#desk[data-slow]")).to_have_count(1)
    expect(page.locator("#left")).to_have_text("2", timeout=PATIENCE)
    expect(page.locator("#desk[data-slow]")).to_have_count(0)


def test_a_new_episode_is_announced_to_screen_readers(desk):
    page, _ = desk()
    press(page, "g", 2)
    expect(page.get_by_role("status").first).to_contain_text(
        shown(page).replace(" · ", ", "), timeout=PATIENCE
    )
    assert "2 waiting" in page.locator("#announcement").inner_text()


def test_verdicts_that_are_learned_together_share_the_change(server, client, desk):
    page, agent = desk(4)
    wait_learned(client, agent)
    with server.stopped_learner(client):
        for left in (3, 2, 1):
            press(page, "g", left)
    expect(page.locator("#result-note")).to_contain_text("By 3 verdicts together", timeout=PATIENCE)


def test_space_plays_the_recording_and_not_steps_that_nobody_sees(client, server, people, chromium):
    agent = waiting(client, 1)
    (episode,) = episodes(client, agent)
    path = f"/v1/episodes/{episode['id']}/recording"
    client.put(path, content=webm(chromium)).raise_for_status()
    page = people(server.url, reduced_motion="reduce")
    seated(page, server, agent)
    page.wait_for_function("() => document.querySelector('video').readyState >= 2")
    playing = "() => !document.querySelector('video').paused"
    assert not page.evaluate(playing)
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    page.wait_for_function(playing)
    expect(page.locator("#caption")).to_be_hidden()
    page.keyboard.press("Space")
    page.wait_for_function("() => document.querySelector('video').paused")
    page.keyboard.press("End")
    page.wait_for_function(
        "() => { const v = document.querySelector('video');"
        " return Math.abs(v.currentTime - v.duration) < 0.05; }"
    )
    page.get_by_role("button", name="Show the steps").click()
    page.keyboard.press("Home")  # both are in step
    expect(page.locator("#caption")).to_have_text("Step 0: row 1, column 1 → 0")
    page.wait_for_function("() => document.querySelector('video').currentTime < 0.05")


def test_a_picture_with_hidden_steps_has_no_player(client, server, people):
    from tests.web.test_desk import PIXEL

    agent = waiting(client, 1)
    (episode,) = episodes(client, agent)
    client.put(f"/v1/episodes/{episode['id']}/recording", content=PIXEL).raise_for_status()
    page = people(server.url, reduced_motion="reduce")
    seated(page, server, agent)
    expect(page.locator("#player")).to_be_hidden()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Show the steps").click()
    expect(page.locator("#player")).to_be_visible()
    expect(page.locator("#caption")).to_have_text("The end: row 1, column 2")


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)], ids=["wide", "phone"])
def test_the_verdict_is_told_beside_the_buttons_and_never_below_the_fold(desk, size):
    page, _ = desk(viewport={"width": size[0], "height": size[1]})
    places = []
    for left in (2, 1):
        press(page, "g", left)
        expect(page.locator("#result-note")).not_to_have_text("learning…", timeout=PATIENCE)
        for part in ("#result", "#good", "#bad", "#undo"):
            box = page.locator(part).bounding_box()
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= size[1]
        places.append(page.locator("#good").bounding_box())
    assert places[0] == places[1]


def test_a_swipe_judges_on_a_phone(desk, client):
    page, agent = desk(viewport={"width": 390, "height": 844}, has_touch=True)
    box = page.locator("#drawing").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + 60
    touch = page.context.new_cdp_session(page)
    for across, left in ((120, 2), (-120, 1), (20, 1)):
        start, end = [{"x": x, "y": y}], [{"x": x + across, "y": y}]
        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": start})
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": end})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        expect(page.locator("#left")).to_have_text(str(left), timeout=PATIENCE)
        settled(page)
    assert sorted(judged(client, agent)) == [0, 1]


def test_the_lines_of_a_grid_can_be_seen(desk):
    page, _ = desk()
    contrast = page.evaluate("""() => {
      const light = (colour) => {
        const parts = colour.match(/[\\d.]+/g).slice(0, 3).map(Number).map((c) => c / 255)
          .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
      };
      const one = light(getComputedStyle(document.querySelector(".grid .lines")).stroke);
      const other = light(getComputedStyle(document.querySelector(".grid .board")).fill);
      return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    }""")
    assert contrast >= 3


def test_a_labeller_reads_no_promise_on_the_page_of_a_waiting_episode(tmp_path_factory, chromium):
    from tests.api.routes.test_keys import create_key
    from tests.support.desk import sign_in

    key = "an-admin-key-of-this-test"
    folder = tmp_path_factory.mktemp("promise")
    with RunningServer(folder, PLAUDIT_ADMIN_KEY=key) as locked, locked.client(key) as admin:
        agent = waiting(admin, 1)
        play(admin, start_episode(admin, agent), STATES, label=1)
        wait_learned(admin, agent)
        episode = start_episode(admin, agent)
        play(admin, episode, STATES)
        context = chromium.new_context()
        page = context.new_page()
        secret = create_key(admin, "labeller")["secret"]
        sign_in(page, locked, secret, f"/episodes/{episode}")
        expect(page.locator("h1")).to_contain_text("Episode", timeout=PATIENCE)
        assert "promised" not in page.locator("main").inner_text()
        assert "%" not in page.locator("main").inner_text()
        context.close()


def test_unknown_paths_are_pages_for_people_and_problems_for_programs(server, client, people):
    page = people(server.url)
    for path in ("/nowhere", "/agents/agt_404", "/?page=none"):
        answer = page.request.get(server.url + path, headers={"Accept": "text/html"})
        assert answer.status in (404, 422)
        assert answer.headers["content-type"].startswith("text/html")
        assert "Back to the start" in answer.text()
    assert client.get("/nowhere").headers["content-type"] == "application/problem+json"
    html = {"Accept": "text/html"}
    assert client.get("/v1/nowhere", headers=html).headers["content-type"] == (
        "application/problem+json"
    )
    page.goto(f"{server.url}/label")
