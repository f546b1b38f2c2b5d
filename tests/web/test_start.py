"""The start page of an empty server, demos by click, and the page of the system."""

import re

import pytest
from playwright.sync_api import expect

from tests.support.browser import PATIENCE
from tests.support.running import create_agent, play, start_episode
from tests.web.test_dashboard import page, part, text_of

ADMIN_KEY = "an-admin-key-of-this-test"


@pytest.fixture
def empty(start_server):
    return start_server()


def test_an_empty_server_says_how_to_begin(empty):
    with empty.client() as client:
        shown = text_of(page(client, "/"))
    assert "Teach an agent with good and bad" in shown
    assert f'plaudit.Client("{empty.url}")' in shown


def test_a_form_without_its_token_starts_nothing(empty):
    with empty.client() as client:
        answer = client.post("/demos", data={"task": "grid", "judge": "people"})
        assert answer.status_code == 403
        assert client.get("/v1/demos").json()["items"] == []


def test_the_system_page(start_server):
    server = start_server(PLAUDIT_ADMIN_KEY=ADMIN_KEY)
    with server.client(ADMIN_KEY) as client:
        agent = create_agent(client)
        play(client, start_episode(client, agent), [0, 1, 2, 3, 3])
        body = {"name": "bound", "role": "viewer", "agents": [agent]}
        bound = client.post("/v1/keys", json=body).json()
    with server.client() as browser:
        browser.post("/signin", data={"key": ADMIN_KEY, "next": "/"})
        shown = text_of(page(browser, "/system"))
    assert "Database" in shown
    assert "1 agent, 1 episode" in shown
    assert "Agents whose learning failed None." in shown
    with server.client() as browser:  # it concerns the whole server
        browser.post("/signin", data={"key": bound["secret"], "next": "/"})
        page(browser, "/system", status=403)


def test_from_an_empty_server_to_a_demo_and_back(empty, people):
    server = empty
    visitor = people(server.url)
    visitor.goto(server.url)
    waiting = visitor.locator("#first")
    expect(waiting).to_have_attribute("data-state", "waiting")
    with server.client() as client:
        agent = create_agent(client, name="mine")
        start_episode(client, agent)
    expect(waiting).to_have_attribute("data-state", "here", timeout=PATIENCE)
    expect(waiting).to_contain_text("mine plays.")
    visitor.get_by_role("link", name="Watch it learn").click()
    expect(visitor.locator("h1")).to_have_text("mine")

    visitor.goto(server.url)
    visitor.get_by_text("Try a demo").click()
    visitor.get_by_role("button", name="It judges itself").click()
    expect(visitor.locator("h1")).to_have_text("Frozen lake (demo)")
    visitor.goto(server.url)
    visitor.get_by_text("Try a demo").click()
    visitor.get_by_role("button", name="I judge").click()
    expect(visitor).to_have_url(re.compile(r"/label\?agent="))
    visitor.goto(server.url)
    for left in (2, 1):
        expect(visitor.locator(".agent-card")).to_have_count(left + 1)
        visitor.get_by_role("button", name="Remove the demo").first.click()
    expect(visitor.locator(".agent-card")).to_have_count(1)


def test_only_demos_are_removed_with_one_click(empty):
    with empty.client() as client:
        agent = create_agent(client)
        start = page(client, "/")
        token = start.split('name="plaudit-token" content="')[1].split('"')[0]
        answer = client.post(f"/demos/{agent}/remove", data={"token": token})
        assert answer.status_code == 404
        assert client.get(f"/v1/agents/{agent}").status_code == 200
        assert part(start, "content")
