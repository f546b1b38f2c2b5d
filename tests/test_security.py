"""What docs/security.md claims: roles cell by cell, headers, secrets that are never shown."""

import re

import httpx
import pytest

from tests.api.routes.test_keys import (
    ADMIN_KEY,
    MAY,
    PAGES,
    ROLES,
    SIGNING_IN,
    create_key,
    sign_in,
)
from tests.support.access_table import PAGE, access, with_table
from tests.support.running import (
    STATES,
    RunningServer,
    create_agent,
    play,
    start_episode,
    wait_learned,
)

FILLED = {
    "agent": "agt_0000000000",
    "episode": "eps_0000000000_0",
    "key": "key_0",
    "name": "none.js",
    "version": "0",
    "session": "none",
    "webhook": "whk_0",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("security")
    with RunningServer(folder, PLAUDIT_ADMIN_KEY=ADMIN_KEY, PLAUDIT_LOG_LEVEL="debug") as server:
        yield server


@pytest.fixture(scope="module")
def secrets(server):
    with server.client(ADMIN_KEY) as admin:
        return {role: create_key(admin, role)["secret"] for role in ROLES} | {None: None}


def test_the_page_has_the_table_of_the_code():
    text = PAGE.read_text()
    assert text == with_table(text), "run: python -m tests.support.access_table"


def test_the_guards_of_the_code_are_those_that_are_tested_route_by_route():
    for route, roles in access().items():
        if route in SIGNING_IN:
            continue
        expected = MAY.get(route) or PAGES[route]
        assert (frozenset({None, *ROLES}) if roles is None else roles) == expected, route


def variants(method, path):
    """Other ways to write a request; none of them may open more."""
    first, _, rest = path[1:].partition("/")
    yield "OPTIONS", path
    yield "TRACE", path
    yield method, path + "/"
    yield method, "/" + path
    yield method, path + "%2f"
    yield method, path.replace("/", "%2f", 2).replace("%2f", "/", 1)
    yield method, f"/{first.upper()}/{rest}"
    yield method, f"/./{path}"
    if method == "GET":
        yield "HEAD", path
        yield "HEAD", path + "/"


@pytest.mark.parametrize("role", [None, *ROLES])
def test_no_other_spelling_of_a_request_opens_more(server, secrets, role):
    headers = {} if role is None else {"Authorization": f"Bearer {secrets[role]}"}
    with httpx.Client(timeout=60, headers=headers) as client:
        for route, allowed in MAY.items():
            if role in allowed:
                continue
            method, path = route.split()
            path = path.replace(":path", "").format(**FILLED)
            for other, spelled in variants(method, path):
                url = httpx.URL(server.url).copy_with(raw_path=spelled.encode())
                answer = client.request(other, url)
                assert answer.status_code in (400, 401, 403, 404, 405), (other, spelled)
                assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("path", ["/docs", "/signin", "/healthz", "/v1/agents", "/nothing"])
def test_every_answer_has_the_headers_that_it_needs(server, path):
    with server.client(ADMIN_KEY) as client:
        answer = client.get(path)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "server" not in answer.headers
    if answer.headers["content-type"].startswith("text/html"):
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "same-origin"


def test_secrets_are_never_logged_or_shown(server):
    """A full run: its log, its metrics and its errors hold no key, cookie or token."""
    hidden, errors = [ADMIN_KEY], []
    with server.client(ADMIN_KEY) as admin:
        made = [create_key(admin, role) for role in ROLES]
        hidden += [key["secret"] for key in made]
        agent = create_agent(admin)
        episode = start_episode(admin, agent)
        play(admin, episode, STATES, label=1)
        wait_learned(admin, agent)
        for key in made:
            with server.client(key["secret"]) as client, server.client() as browser:
                errors += [client.get("/v1/keys"), client.post("/v1/keys", json={"name": 7})]
                errors.append(client.post("/v1/agents", content=b"{" + key["secret"].encode()))
                sign_in(browser, key["secret"])
                cookie = browser.cookies["plaudit_session"]
                page = browser.get("/sessions")
                token = re.search(r'name="plaudit-token" content="([^"]+)"', page.text)[1]
                hidden += [cookie, cookie.rpartition(".")[2], token]
                # The page that refuses this carries the right token, for this browser alone.
                browser.post("/signout", data={"token": "x" * 43})
                browser.post("/signout", data={"token": token})
        wrong = "plk_" + "w" * 43
        hidden.append(wrong)
        errors.append(admin.post("/signin", data={"key": wrong}))
        errors.append(httpx.get(f"{server.url}/v1/agents", headers={"Authorization": wrong}))
        for key in made:
            admin.delete(f"/v1/keys/{key['id']}")
        shown = [server.output, admin.get("/metrics").text, admin.get("/v1/keys").text]
    shown += [answer.text + str(answer.headers) for answer in errors if answer.status_code >= 400]
    assert len(shown) > 20
    assert "key created" in server.output
    for secret in hidden:
        assert not any(secret in text for text in shown), secret
