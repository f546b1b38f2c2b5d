"""Sessions of browsers: a cookie that names a key, and a token against forged requests."""

import re

import httpx
import pytest

from tests.api.routes.test_insights import Listener
from tests.api.routes.test_keys import create_key
from tests.support import template
from tests.support.running import RunningServer, assert_problem, create_agent

ADMIN_KEY = "an-admin-key-of-this-test"
COOKIE = "plaudit_session"
AGENT = {
    "name": "lake",
    "states": {"kind": "discrete", "n": 4},
    "actions": {"kind": "discrete", "n": 2},
    "horizon": 5,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with keys on."""
    folder = tmp_path_factory.mktemp("sessions")
    with RunningServer(folder, PLAUDIT_ADMIN_KEY=ADMIN_KEY) as server:
        yield server


@pytest.fixture
def browser(server):
    """What talks to the server as a browser does: with cookies, without a key."""
    with server.client() as browser:
        yield browser


@pytest.fixture
def admin(server):
    with server.client(ADMIN_KEY) as admin:
        yield admin


def sign_in(browser, secret, **fields):
    return browser.post("/signin", data={"key": secret, **fields})


def token_of(page):
    return re.search(r'name="plaudit-token" content="([A-Za-z0-9_-]{43})"', page.text)[1]


def test_a_key_signs_in_and_the_cookie_does_not_hold_it(browser):
    answer = sign_in(browser, ADMIN_KEY)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Path=/;" in cookie
    assert ADMIN_KEY not in cookie
    assert browser.get("/v1/agents").status_code == 200
    page = browser.get("/")
    assert page.status_code == 200
    assert ADMIN_KEY not in page.text
    assert "Sign out" in page.text


@pytest.mark.parametrize("secret", ["", "nobody-knows-this-key", "<script>"])
def test_a_key_that_nobody_knows_does_not(browser, secret):
    answer = sign_in(browser, secret)
    assert answer.status_code == 401
    assert "This key is unknown" in answer.text
    assert "set-cookie" not in answer.headers


def test_what_is_changed_needs_the_token_and_what_is_read_does_not(browser):
    sign_in(browser, ADMIN_KEY)
    assert browser.get("/v1/keys").status_code == 200
    problem = assert_problem(browser.post("/v1/agents", json=AGENT), 403, "forbidden")
    assert "X-CSRF-Token" in problem["detail"]
    wrong = {"X-CSRF-Token": "0" * 64}
    assert_problem(browser.post("/v1/agents", json=AGENT, headers=wrong), 403, "forbidden")
    token = token_of(browser.get("/"))
    right = {"X-CSRF-Token": token}
    answer = browser.post("/v1/agents", json=AGENT, headers=right)
    assert answer.status_code == 201
    gone = browser.delete(f"/v1/agents/{answer.json()['id']}", headers=right)
    assert gone.status_code == 204


def test_the_token_of_one_session_is_no_good_in_another(server, browser):
    sign_in(browser, ADMIN_KEY)
    token = token_of(browser.get("/"))
    with server.client() as other:
        sign_in(other, ADMIN_KEY)
        headers = {"X-CSRF-Token": token}
        assert_problem(other.post("/v1/agents", json=AGENT, headers=headers), 403)


def test_a_cookie_that_was_tampered_with_opens_nothing(server, browser, admin):
    viewer = create_key(admin, "viewer")
    sign_in(browser, viewer["secret"])
    cookie = browser.cookies[COOKIE]
    key, nonce, signed_at, signature = cookie.split(".")
    assert key == viewer["id"]
    later = signed_at[:-1] + ("A" if signed_at[-1] != "A" else "B")
    for forged in (
        f"key_admin.{nonce}.{signed_at}.{signature}",
        f"{key}.{nonce}.{later}.{signature}",
        f"{key}.{nonce}x.{signed_at}.{signature}",
        f"{key}.{nonce}.{signed_at}.{'0' * len(signature)}",
        f"{key}.{nonce}.{signed_at}",
        f"{key}.{nonce}",
        key,
        "",
        "x" * 5000,
    ):
        answer = httpx.get(server.url + "/v1/agents", headers={"Cookie": f"{COOKIE}={forged}"})
        assert_problem(answer, 401)
    answer = httpx.get(server.url + "/v1/agents", headers={"Cookie": f"{COOKIE}={cookie}"})
    assert answer.status_code == 200


def test_a_session_may_do_what_its_key_may(browser, admin):
    sign_in(browser, create_key(admin, "labeller")["secret"])
    assert browser.get("/v1/episodes").status_code == 200
    assert_problem(browser.get("/v1/agents"), 403, "forbidden")
    assert browser.get("/label").status_code == 200


def test_a_key_that_is_revoked_ends_its_sessions_at_once(browser, admin):
    key = create_key(admin, "viewer")
    sign_in(browser, key["secret"])
    assert browser.get("/v1/agents").status_code == 200
    assert admin.delete(f"/v1/keys/{key['id']}").status_code == 204
    assert_problem(browser.get("/v1/agents"), 401)
    answer = browser.get("/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/signin?next=/")


def test_signing_out_takes_the_token_and_ends_the_session(server, browser):
    sign_in(browser, ADMIN_KEY)
    token, cookie = token_of(browser.get("/")), browser.cookies[COOKIE]
    assert browser.post("/signout", data={"token": "0" * 64}).status_code == 403
    assert browser.get("/v1/agents").status_code == 200
    answer = browser.post("/signout", data={"token": token})
    assert answer.status_code == 303
    assert COOKIE not in browser.cookies
    assert_problem(browser.get("/v1/agents"), 401)
    kept = {"Cookie": f"{COOKIE}={cookie}"}  # by somebody who copied it
    assert_problem(httpx.get(server.url + "/v1/agents", headers=kept), 401)


FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"
PHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
    "Gecko) Version/17.0 Mobile/15E148 Safari/604.1"
)


def sessions_on(page):
    return re.findall(r'action="/sessions/([^/"]+)/end"', page.text)


def end(browser, path, token=None):
    token = token_of(browser.get("/sessions")) if token is None else token
    return browser.post(path, data={"token": token})


def test_a_device_is_listed_and_can_be_ended_from_another(server, browser, admin):
    key = create_key(admin, "viewer")
    with server.client() as phone:
        browser.headers["User-Agent"], phone.headers["User-Agent"] = FIREFOX, PHONE
        sign_in(phone, key["secret"])
        sign_in(browser, key["secret"])
        page = browser.get("/sessions")
        assert "Firefox on Linux <strong>(this device)</strong>" in page.text
        assert "Safari on iPhone" in page.text
        assert "127.0.0.1" in page.text
        own, other = (one.cookies[COOKIE].split(".")[1] for one in (browser, phone))
        assert sorted(sessions_on(page)) == sorted([own, other])
        assert end(browser, f"/sessions/{other}/end", "0" * 43).status_code == 403
        assert phone.get("/v1/agents").status_code == 200
        assert end(browser, f"/sessions/{other}/end").headers["location"] == "/sessions"
        assert_problem(phone.get("/v1/agents"), 401)
        assert sessions_on(browser.get("/sessions")) == [own]
        assert end(browser, f"/sessions/{other}/end").status_code == 404
        sign_in(phone, key["secret"])
        assert end(browser, "/sessions/end-others").status_code == 303
        assert_problem(phone.get("/v1/agents"), 401)
        assert browser.get("/v1/agents").status_code == 200


def test_only_an_admin_sees_and_ends_the_sessions_of_others(server, browser, admin):
    with server.client() as other:
        sign_in(browser, create_key(admin, "labeller")["secret"])
        sign_in(other, create_key(admin, "operator", name="the operator")["secret"])
        session = other.cookies[COOKIE].split(".")[1]
        assert session not in sessions_on(browser.get("/sessions"))
        assert end(browser, f"/sessions/{session}/end").status_code == 404
        with server.client() as boss:
            sign_in(boss, ADMIN_KEY)
            page = boss.get("/sessions")
            assert "the operator" in page.text
            assert session in sessions_on(page)
            assert end(boss, f"/sessions/{session}/end").status_code == 303
        assert_problem(other.get("/v1/agents"), 401)


def revoke_by_api(server, admin, key):
    assert admin.delete(f"/v1/keys/{key['id']}").status_code == 204


def revoke_by_command(server, admin, key):
    """Another process: the server reads the keys every two seconds, also without requests."""
    assert template.run(["keys", "revoke", key["id"]], server.environment).returncode == 0


@pytest.mark.parametrize("revoke", [revoke_by_api, revoke_by_command])
def test_a_revoked_key_ends_its_streams_and_no_other(server, browser, admin, revoke):
    agent = create_agent(admin)
    gone, kept = create_key(admin, "viewer"), create_key(admin, "viewer")
    sign_in(browser, gone["secret"])
    cookie = f"{COOKIE}={browser.cookies[COOKIE]}"
    ends = [
        Listener(server, agent, Authorization=f"Bearer {gone['secret']}"),
        Listener(server, agent, Cookie=cookie),
    ]
    stays = Listener(server, agent, Authorization=f"Bearer {kept['secret']}")
    revoke(server, admin, gone)
    for listener in ends:
        assert listener.ended.wait(60)
    assert not stays.ended.is_set()
    admin.delete(f"/v1/agents/{agent}")
    assert stays.ended.wait(60)


def test_a_session_that_is_ended_ends_its_streams(server, browser, admin):
    agent = create_agent(admin)
    sign_in(browser, ADMIN_KEY)
    with server.client() as other:
        sign_in(other, ADMIN_KEY)
        ends, stays = (
            Listener(server, agent, Cookie=f"{COOKIE}={one.cookies[COOKIE]}")
            for one in (browser, other)
        )
        end(browser, "/signout")
        assert ends.ended.wait(60)
        assert not stays.ended.is_set()
    admin.delete(f"/v1/agents/{agent}")
    assert stays.ended.wait(60)


def test_a_server_that_starts_again_knows_its_sessions(start_server):
    server = start_server(PLAUDIT_ADMIN_KEY=ADMIN_KEY)
    with server.client() as browser:
        sign_in(browser, ADMIN_KEY)
        cookie = {"Cookie": f"{COOKIE}={browser.cookies[COOKIE]}"}
    server.stop()
    server.start()
    assert httpx.get(server.url + "/v1/agents", headers=cookie).status_code == 200
    server.stop()
    server.environment["PLAUDIT_ADMIN_KEY"] = "another-key-of-this-admin"
    server.start()
    assert_problem(httpx.get(server.url + "/v1/agents", headers=cookie), 401)


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ("/label?agent=agt_0000000000", "/label?agent=agt_0000000000"),
        ("//elsewhere.example/", "/"),
        ("https://elsewhere.example/", "/"),
        ("/\\elsewhere.example", "/"),
        ("/\r\nSet-Cookie: a=b", "/"),
    ],
)
def test_after_signing_in_one_goes_on_within_the_server(browser, asked, sent):
    assert sign_in(browser, ADMIN_KEY, next=asked).headers["location"] == sent


@pytest.mark.parametrize(
    "abroad",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1"},  # another port is another site
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1"},
    ],
    ids=lambda headers: " ".join(headers.values()),
)
def test_a_page_of_another_site_can_neither_sign_in_nor_change_anything(
    server, shared_server, abroad
):
    with server.client() as browser:
        answer = browser.post("/signin", data={"key": ADMIN_KEY}, headers=abroad)
        assert answer.status_code == 403
    with shared_server.client() as browser:  # without keys nothing but the browser can tell
        agent = create_agent(browser)
        episode = browser.post(f"/v1/agents/{agent}/episodes").json()["id"]
        answer = browser.post(f"/v1/episodes/{episode}/abandon", headers=abroad)
        assert_problem(answer, 403, "forbidden")
        assert browser.get(f"/v1/episodes/{episode}").json()["status"] == "running"


@pytest.mark.parametrize("name", ["Host", "X-Forwarded-Host"])
def test_pages_of_this_server_can_where_browsers_do_not_say_more(server, name):
    """Over plain HTTP there is no Sec-Fetch-Site."""
    headers = {name: "plaudit.example:8443", "Origin": "http://Plaudit.example:8443"}
    with server.client() as browser:
        answer = browser.post("/signin", data={"key": ADMIN_KEY}, headers=headers)
        assert answer.status_code == 303


def test_without_keys_everybody_is_signed_in_and_nobody_can_sign_out(shared_server):
    with shared_server.client() as browser:
        page = browser.get("/")
        assert page.status_code == 200
        assert "Sign out" not in page.text
        assert browser.get("/signin").headers["location"] == "/"
        assert browser.get("/label").status_code == 200


def test_pages_forbid_the_browser_what_they_do_not_need(browser):
    for path, status in (("/signin", 200), ("/label", 303)):
        assert browser.get(path).status_code == status
    headers = browser.get("/signin").headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"


def test_static_files_are_kept_by_their_version(browser):
    page = browser.get("/signin").text
    (style,) = re.findall(r'href="(/static/[0-9a-f]{12}/plaudit.css)"', page)
    answer = browser.get(style)
    assert answer.headers["content-type"].startswith("text/css")
    assert "immutable" in answer.headers["cache-control"]
    other = re.sub(r"/[0-9a-f]{12}/", "/000000000000/", style)
    assert browser.get(other).headers["cache-control"] == "no-store"
    assert browser.get("/static/0/../session.py").status_code == 404
    assert browser.get("/static/0/%2e%2e/session.py").status_code == 404
