"""The labelling desk in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.api.routes.test_keys import create_key
from tests.support.browser import PATIENCE
from tests.support.desk import GRID, PATH, episodes, press, settled, shown, sign_in, waiting
from tests.support.running import LAKE, RunningServer

ADMIN_KEY = "an-admin-key-of-this-test"
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f64540"
    "0000000049454e44ae426082"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with keys on."""
    folder = tmp_path_factory.mktemp("desk")
    with RunningServer(folder, PLAUDIT_ADMIN_KEY=ADMIN_KEY) as server:
        yield server


@pytest.fixture(scope="module")
def open_server(tmp_path_factory):
    """A server below a path, with keys off."""
    folder = tmp_path_factory.mktemp("deep")
    with RunningServer(folder, PLAUDIT_ROOT_PATH="/deep/plaudit") as server:
        yield server


@pytest.fixture
def admin(server):
    with server.client(ADMIN_KEY) as admin:
        yield admin


def test_a_labeller_labels_ten_episodes_by_keyboard_and_undoes_one(server, admin, people):
    agent = waiting(admin, 11)
    key = create_key(admin, "labeller", "Ada <b>Lovelace</b>")
    page = people(server.url)
    sign_in(page, server, key["secret"], f"/label?agent={agent}")
    expect(page.locator("#left")).to_have_text("11", timeout=PATIENCE)
    verdicts = {}
    for i in range(10):
        label = i % 3 == 0
        number = int(shown(page).rsplit(" ", 1)[1])
        assert number not in verdicts
        settled(page)
        page.keyboard.press("c")
        page.keyboard.type(f"good because of {i}")  # letters here are no verdicts
        page.keyboard.press("Escape")
        press(page, "g" if label else "b", 10 - i)
        verdicts[number] = int(label)
    note = page.locator("#result-note")
    expect(note).to_contain_text("It now expects", timeout=PATIENCE)
    expect(note).to_contain_text("decision", timeout=PATIENCE)
    expect(page.locator("#past li")).to_have_count(10)
    press(page, "u", 2)
    withdrawn = int(shown(page).rsplit(" ", 1)[1])
    assert withdrawn == number
    given = verdicts.pop(withdrawn)
    stored = {one["number"]: one for one in episodes(admin, agent)}
    assert {n: one["label"] for n, one in stored.items() if one["label"] is not None} == verdicts
    assert stored[withdrawn]["status"] == "awaiting_label"
    history = admin.get(f"/v1/episodes/{stored[withdrawn]['id']}").json()["labels"]
    assert [one["label"] for one in history] == [given, None]
    assert {one["labeller"] for one in history} == {"Ada <b>Lovelace</b>"}
    assert history[0]["comment"] == "good because of 9"
    assert admin.get(f"/v1/agents/{agent}").json()["episodes"]["labelled"] == 9


def test_two_people_never_get_the_same_episode(server, admin, people):
    agent = waiting(admin, 8)
    secret = create_key(admin, "labeller")["secret"]  # they even share a key
    pages = [people(server.url), people(server.url)]
    for page in pages:
        sign_in(page, server, secret, f"/label?agent={agent}")
    seen = []
    for left in range(8, 2, -1):
        before = [shown(page) for page in pages]
        assert before[0] != before[1]
        page = pages[left % 2]
        seen.append(before[left % 2])
        press(page, "g", left - 1)
    assert len(set(seen)) == 6
    for page in pages:  # one is left for each: they change places, in their own time
        press(page, "s", 2)
    assert {shown(page) for page in pages} | set(seen) == {f"lake · episode {i}" for i in range(8)}


def test_two_people_judge_the_same_episode_and_neither_gets_it_twice(server, admin, people):
    agent = waiting(admin, 2, GRID | {"labels_wanted": 2})
    pages = {}
    for name in ("Ann", "Ben"):
        page = pages[name] = people(server.url)
        secret = create_key(admin, "labeller", name)["secret"]
        sign_in(page, server, secret, f"/label?agent={agent}")
        expect(page.locator("#left")).to_have_text("2", timeout=PATIENCE)
    ann, ben = pages["Ann"], pages["Ben"]
    seen = {"Ann": [shown(ann)], "Ben": [shown(ben)]}
    assert seen["Ann"] != seen["Ben"]  # one at a time
    expect(ann.locator("#so-far")).to_have_text("0 of 2 verdicts so far")
    press(ann, "g", 1)
    expect(ann.locator("#empty")).to_contain_text("others are judging them", timeout=PATIENCE)
    press(ben, "b", 1)
    seen["Ben"].append(shown(ben))
    expect(ben.locator("#so-far")).to_have_text("1 of 2 verdicts so far")
    assert "good" not in ben.locator("#work").inner_text().lower()  # what Ann said
    assert seen["Ben"][1] == seen["Ann"][0]
    press(ben, "b", 0)
    expect(ben.locator("#empty")).to_contain_text("No episode waits", timeout=PATIENCE)
    seen["Ann"].append(shown(ann))  # by itself
    assert seen["Ann"][1] == seen["Ben"][0]
    press(ann, "g", 0)
    press(ann, "u", 1)  # her own, and not his
    assert shown(ann) == seen["Ann"][1]
    expect(ann.locator("#so-far")).to_have_text("1 of 2 verdicts so far")
    press(ben, "s", 0)  # nothing is left for him
    press(ann, "b", 0)
    for one in episodes(admin, agent):
        view = admin.get(f"/v1/episodes/{one['id']}").json()
        said = {verdict["labeller"]: verdict["label"] for verdict in view["verdicts"]}
        again = seen["Ann"][1] == f"lake · episode {view['number']}"
        assert said == {"Ann": 0 if again else 1, "Ben": 0}
        assert (view["status"], view["label"]) == ("labelled", 0)


def test_undo_leaves_an_episode_to_who_has_it_by_now(server, admin, people):
    agent = waiting(admin, 1, GRID | {"labels_wanted": 2})
    ann, ben = people(server.url), people(server.url)
    sign_in(ann, server, create_key(admin, "labeller", "Ann")["secret"], f"/label?agent={agent}")
    shown(ann)
    press(ann, "g", 0)
    sign_in(ben, server, create_key(admin, "labeller", "Ben")["secret"], f"/label?agent={agent}")
    assert shown(ben) == "lake · episode 0"
    press(ann, "u", 1)
    expect(ann.locator("#trouble")).to_contain_text("Your verdict is withdrawn")
    expect(ann.locator("#empty")).to_contain_text("others are judging them")
    press(ben, "b", 0)
    assert shown(ann) == "lake · episode 0"  # by itself
    (one,) = episodes(admin, agent)
    view = admin.get(f"/v1/episodes/{one['id']}").json()
    assert [(said["labeller"], said["label"]) for said in view["verdicts"]] == [("Ben", 0)]


def test_where_keys_are_off_the_name_says_who_has_judged(open_server, people):
    with open_server.client() as client:
        agent = waiting(client, 2, GRID | {"labels_wanted": 3})
        path = f"/v1/episodes/{episodes(client, agent)[0]['id']}/label"
        client.post(path, json={"label": 0}).raise_for_status()  # somebody without a name
        page = people(open_server.url)
        page.goto(f"{open_server.url}/label?agent={agent}")
        for name in ("Ann", "Ben"):  # they share a browser
            page.get_by_label("Your name").fill(name)
            page.keyboard.press("Enter")
            shown(page)
            press(page, "g", 1)
            press(page, "g", 0)
            expect(page.locator("#empty")).to_be_visible(timeout=PATIENCE)
            page.reload()
            expect(page.locator("#left")).to_have_text("0", timeout=PATIENCE)
            expect(page.locator("#empty")).to_be_visible()
        judged, half = episodes(client, agent)
        assert (judged["status"], judged["label"]) == ("labelled", 1)
        assert (half["status"], half["label"]) == ("awaiting_label", None)
        client.delete(f"/v1/agents/{agent}").raise_for_status()


def test_what_was_skipped_comes_back_when_it_is_asked_for(server, admin, people):
    agent = waiting(admin, 2)
    page = people(server.url)
    sign_in(page, server, create_key(admin, "labeller")["secret"], f"/label?agent={agent}")
    first = shown(page)
    press(page, "s", 2)
    expect(page.locator("#episode-name")).not_to_have_text(first, timeout=PATIENCE)
    press(page, "s", 2)
    expect(page.locator("#empty")).to_be_visible(timeout=PATIENCE)
    page.get_by_role("button", name="Show what I skipped").click()
    assert shown(page).startswith("lake · episode")
    for left in (1, 0):
        press(page, "b", left)
    expect(page.locator("#empty")).to_contain_text("No episode waits", timeout=PATIENCE)
    more = {"trajectories": [PATH]}
    admin.post(f"/v1/agents/{agent}/trajectories", json=more).raise_for_status()
    assert shown(page) == "lake · episode 2"  # by itself


def test_the_path_is_played_step_by_step(server, admin, people):
    agent = waiting(admin, 1)
    page = people(server.url, reduced_motion="reduce")
    sign_in(page, server, create_key(admin, "labeller")["secret"], f"/label?agent={agent}")
    shown(page)
    caption = page.locator("#caption")
    expect(caption).to_have_text("The end: row 1, column 2")
    page.keyboard.press("Home")
    expect(caption).to_have_text("Step 0: row 1, column 1 → 0")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(caption).to_have_text("Step 2: row 2, column 2 → 1")
    page.keyboard.press("ArrowLeft")
    expect(caption).to_have_text("Step 1: row 1, column 2 → 1")
    page.locator("#scrub").fill("3")
    expect(caption).to_have_text("Step 3: row 2, column 1 → 0")
    page.locator("#drawing").click()
    page.keyboard.press("+")
    expect(page.locator("#speed")).to_have_text("2\N{MULTIPLICATION SIGN}")
    page.get_by_role("button", name="Play").click()
    expect(caption).to_have_text("The end: row 1, column 2", timeout=PATIENCE)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("g")  # not while the help is open
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert [one["label"] for one in episodes(admin, agent)] == [None]


HOSTILE = '"><img src=x onerror="document.title=1"><script>document.title=2</script>&amp;{{7*7}}'


def test_hostile_strings_are_shown_as_they_are(open_server, people):
    with open_server.client() as client:
        names = {"kind": "names", "values": [f"{HOSTILE}{i}" for i in range(4)]}
        agent = waiting(
            client,
            2,
            LAKE | {"name": HOSTILE, "display": names},
            external_id=HOSTILE,
            metadata={HOSTILE: HOSTILE},
        )
        page = people(open_server.url)
        page.goto(f"{open_server.url}/label?agent={agent}")
        assert HOSTILE in shown(page)
        assert HOSTILE in page.locator(".desk-scope").inner_text()
        assert page.locator("#facts dt").last.inner_text() == HOSTILE
        assert page.locator("#facts dd").all_inner_texts() == [HOSTILE, HOSTILE]
        assert page.locator(".timeline .state").first.inner_text() == f"{HOSTILE}0"
        settled(page)
        page.keyboard.press("g")  # nobody knows whose verdict this is
        expect(page.locator("#trouble")).to_contain_text("your name")
        page.get_by_label("Your name").fill(HOSTILE)
        page.keyboard.press("Enter")
        page.get_by_label("Comment").fill(HOSTILE)
        page.keyboard.press("Escape")
        press(page, "g", 1)
        entry = page.locator("#past button")
        assert HOSTILE in entry.get_attribute("title")
        assert HOSTILE in entry.get_attribute("aria-label")
        assert page.locator("main img").count() == 0
        assert page.title() == "Label · Plaudit"
        (labelled,) = [one for one in episodes(client, agent) if one["label"] == 1]
        (history,) = client.get(f"/v1/episodes/{labelled['id']}").json()["labels"]
        assert (history["labeller"], history["comment"]) == (HOSTILE, HOSTILE)
        page.reload()
        shown(page)
        expect(page.get_by_label("Your name")).to_have_value(HOSTILE)  # typed once
        client.delete(f"/v1/agents/{agent}").raise_for_status()


def test_below_a_path_everything_is_found(open_server, people):
    with open_server.client() as client:
        agent = waiting(client, 2)
        client.put(
            f"/v1/episodes/{episodes(client, agent)[0]['id']}/recording", content=PIXEL
        ).raise_for_status()
        client.put(
            f"/v1/episodes/{episodes(client, agent)[1]['id']}/recording", content=PIXEL
        ).raise_for_status()
    page = people(open_server.url)
    page.goto(f"{open_server.url}/")
    page.get_by_role("link", name="Label", exact=True).click()
    shown(page)
    assert page.url == f"{open_server.url}/label"
    picture = page.get_by_role("img", name="Recording of the episode")
    picture.wait_for()
    page.wait_for_function("document.querySelector('#recording img').naturalWidth === 1")
    expect(page.locator("#drawing")).to_be_hidden()
    page.get_by_role("button", name="Show the steps").click()
    expect(page.locator("#drawing svg")).to_be_visible()
    page.get_by_label("Your name").fill("Ada")
    page.keyboard.press("Enter")
    press(page, "b", 1)
    press(page, "u", 2)


def test_a_key_that_is_revoked_leads_to_the_sign_in_page(server, admin, chromium):
    agent = waiting(admin, 2)
    key = create_key(admin, "labeller")
    context = chromium.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    sign_in(page, server, key["secret"], f"/label?agent={agent}")
    shown(page)
    settled(page)
    admin.delete(f"/v1/keys/{key['id']}").raise_for_status()
    page.keyboard.press("g")
    page.wait_for_url(f"{server.url}/signin?next=%2Flabel%3Fagent%3D{agent}")
    assert [one["label"] for one in episodes(admin, agent)] == [None, None]
    context.close()


def test_the_question_the_guidelines_and_the_examples(server, admin, people):
    hostile = "<img src=x onerror=alert(1)> Did it & 'arrive'?"
    guidelines = "Good: it arrives.\n<script>alert(2)</script>"
    agent = waiting(admin, 4, GRID | {"question": hostile, "guidelines": guidelines})
    good, bad = (one["id"] for one in episodes(admin, agent)[:2])
    changes = {"examples": {"good": [good], "bad": [bad]}}
    assert admin.patch(f"/v1/agents/{agent}", json=changes).is_success
    key = create_key(admin, "labeller", "Grace")
    page = people(server.url)
    sign_in(page, server, key["secret"], f"/label?agent={agent}")
    shown(page)
    expect(page.locator("#question")).to_have_text(hostile)
    page.keyboard.press("i")
    expect(page.locator("#guide")).to_be_visible()
    expect(page.locator("#guide-text")).to_have_text(guidelines)
    expect(page.locator("#guide-examples .example svg.grid")).to_have_count(2, timeout=PATIENCE)
    expect(page.locator("#guide-examples .pill.bad")).to_have_count(1)
    page.keyboard.press("Escape")
    admin.patch(f"/v1/agents/{agent}", json={"guidelines": "New ones."})
    name = shown(page)
    press(page, "g", 3)
    number = int(name.rsplit(" ", 1)[1])
    judged = next(one for one in episodes(admin, agent) if one["number"] == number)
    (label,) = admin.get(f"/v1/episodes/{judged['id']}").json()["labels"]
    assert label["guidelines_version"] == 1  # that Grace saw, though there is a newer one
    assert 0 < label["seconds"] < 600


def test_a_session_finishes_one_agent_before_the_next(server, admin, people):
    agents = [waiting(admin, 3, GRID | {"name": name}) for name in ("first <i>", "second")]
    body = {"name": "Session", "role": "labeller", "agents": agents}
    key = admin.post("/v1/keys", json=body).json()
    page = people(server.url)
    sign_in(page, server, key["secret"])
    seen = []
    for left in reversed(range(6)):
        seen.append(shown(page).split(" · ")[0])
        press(page, "g", left)
    assert seen in ([*["first <i>"] * 3, *["second"] * 3], [*["second"] * 3, *["first <i>"] * 3])


def test_a_session_counts_the_day_has_a_goal_and_a_curve(server, admin, people):
    agent, other = waiting(admin, 5, GRID | {"name": "mine"}), waiting(admin, 1)
    key = create_key(admin, "labeller", "Daily")
    page = people(server.url)
    sign_in(page, server, key["secret"], f"/label?agent={agent}")
    shown(page)
    press(page, "g", 4)
    press(page, "b", 3)
    expect(page.locator("#today")).to_have_text("2 judged today", timeout=PATIENCE)
    page.locator("#goal").fill("4")
    page.keyboard.press("Escape")
    bar = page.locator("#today-bar")
    expect(bar).to_be_visible()
    assert (bar.get_attribute("max"), bar.get_attribute("value")) == ("4", "2")
    expect(page.locator("#learning-curve .rise")).to_have_count(1)
    page.locator("#scope-agent").select_option(other)
    page.wait_for_url(f"**/label?agent={other}")
    expect(page.locator("#episode-name")).to_contain_text("lake", timeout=PATIENCE)
    page.locator("#scope-agent").select_option("")
    page.wait_for_url("**/label")
