"""Keys over HTTP and on the command line: who may do what, and who nothing."""

import httpx
import pytest
from fastapi.routing import iter_route_contexts

from app.main import create_app
from app.settings import Settings
from tests.support import template
from tests.support.databases import database_url, everything_stored
from tests.support.running import RunningServer, assert_problem, create_agent, wait_until

ADMIN_KEY = "an-admin-key-of-this-test"
ROLES = ("admin", "operator", "robot", "actor", "labeller", "viewer")
EVERYBODY = frozenset({None, *ROLES})
READ = frozenset({"admin", "operator", "viewer"})
READ_AGENTS = READ | {"robot"}
READ_EPISODES = READ | {"labeller"}
REMOVE = frozenset({"admin", "operator", "actor"})
ACT = REMOVE | {"robot"}
JUDGE = frozenset({"admin", "operator", "labeller"})
JUDGE_OWN = JUDGE | {"robot"}
OPERATE = frozenset({"admin", "operator"})
IMPORT = OPERATE | {"robot"}
ADMINISTER = frozenset({"admin"})

# Every route that the server has, and who may use it. A route that is not here fails the test.
MAY = {
    "GET /healthz": EVERYBODY,
    "GET /readyz": EVERYBODY,
    "GET /openapi.json": EVERYBODY,
    "GET /docs": EVERYBODY,
    "GET /docs/start.js": EVERYBODY,
    "GET /docs/{name}": EVERYBODY,
    "GET /metrics": READ,
    "POST /v1/agents": OPERATE,
    "GET /v1/agents": READ_AGENTS,
    "GET /v1/agents/{agent}": READ_AGENTS,
    "PATCH /v1/agents/{agent}": OPERATE,
    "DELETE /v1/agents/{agent}": OPERATE,
    "GET /v1/agents/{agent}/guidelines": READ_AGENTS,
    "GET /v1/agents/{agent}/model": READ,
    "GET /v1/agents/{agent}/policy": READ_AGENTS,
    "GET /v1/agents/{agent}/policies": READ_AGENTS,
    "GET /v1/agents/{agent}/labels": OPERATE,
    "POST /v1/agents/{agent}/policies/{version}/pin": OPERATE,
    "DELETE /v1/agents/{agent}/pin": OPERATE,
    "GET /v1/agents/{agent}/learning-curve": READ,
    "GET /v1/agents/{agent}/events": READ_AGENTS,
    "GET /v1/agents/{agent}/export": OPERATE,
    "POST /v1/agents/{agent}/trajectories": IMPORT,
    "POST /v1/agents/{agent}/episodes": ACT,
    "POST /v1/steps": ACT,
    "POST /v1/episodes": ACT,
    "POST /v1/finishes": ACT,
    "POST /v1/labels": JUDGE_OWN,
    "GET /v1/episodes": READ_EPISODES,
    "GET /v1/episodes/{episode}": READ_EPISODES,
    "POST /v1/episodes/{episode}/steps": ACT,
    "POST /v1/episodes/{episode}/finish": ACT,
    "POST /v1/episodes/{episode}/abandon": ACT,
    "POST /v1/episodes/{episode}/label": JUDGE_OWN,
    "PUT /v1/episodes/{episode}/label": JUDGE_OWN,
    "DELETE /v1/episodes/{episode}/label": JUDGE,
    "PUT /v1/episodes/{episode}/recording": ACT,
    "GET /v1/episodes/{episode}/recording": READ_EPISODES,
    "DELETE /v1/episodes/{episode}/recording": REMOVE,
    "POST /v1/demos": OPERATE,
    "GET /v1/demos": READ,
    "POST /v1/keys": ADMINISTER,
    "GET /v1/keys": ADMINISTER,
    "DELETE /v1/keys/{key}": ADMINISTER,
    "POST /v1/webhooks": ADMINISTER,
    "GET /v1/webhooks": ADMINISTER,
    "GET /v1/webhooks/{webhook}": ADMINISTER,
    "POST /v1/webhooks/{webhook}/secret": ADMINISTER,
    "DELETE /v1/webhooks/{webhook}": ADMINISTER,
    "GET /v1/webhooks/{webhook}/deliveries": ADMINISTER,
    "POST /label/next": JUDGE,
    "POST /label/over": JUDGE,
    "POST /label/skip": JUDGE,
    "POST /label/verdict": JUDGE,
    "POST /label/undo": JUDGE,
    "POST /label/unskip": JUDGE,
    "POST /label/reopen": JUDGE,
    "POST /label/renew": JUDGE,
    "POST /label/leave": JUDGE,
    "GET /label/change": JUDGE,
    "GET /label/example": JUDGE,
    "GET /label/progress": JUDGE,
    "GET /static/{version}/{name:path}": EVERYBODY,
}

# Every page, and who may see it; they know people by the cookie of a session.
PAGES = {
    "GET /": READ_EPISODES,
    "GET /agents/{agent}": READ,
    "GET /agents/{agent}/map": READ,
    "GET /episodes/{episode}": READ_EPISODES,
    "GET /episodes/{episode}/compare": READ_EPISODES,
    "GET /labellers": READ,
    "GET /label": JUDGE,
    "GET /sessions": frozenset(ROLES),
    "GET /system": READ,
}
# Forms, which need the token of a session; see tests/web/test_sessions.py.
SIGNING_IN = {
    "POST /demos",
    "POST /demos/{agent}/remove",
    "GET /signin",
    "POST /signin",
    "POST /signout",
    "POST /sessions/{session}/end",
    "POST /sessions/end-others",
}


def routes_of(app):
    """Every method and path that an application answers, mounted ones as their path."""
    for route in iter_route_contexts(app.routes):
        for method in getattr(route, "methods", None) or {"MOUNT"}:
            if method not in ("HEAD", "OPTIONS"):
                yield f"{method} {route.path}"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with an admin key."""
    folder = tmp_path_factory.mktemp("keys")
    with RunningServer(folder, PLAUDIT_ADMIN_KEY=ADMIN_KEY) as server:
        yield server


@pytest.fixture
def admin(server):
    with server.client(ADMIN_KEY) as client:
        yield client


@pytest.fixture(scope="module")
def secrets(server):
    """A key of every role."""
    with server.client(ADMIN_KEY) as admin:
        return {role: create_key(admin, role)["secret"] for role in ROLES} | {None: None}


def create_key(client, role, name="somebody"):
    answer = client.post("/v1/keys", json={"name": name, "role": role})
    assert answer.status_code == 201, answer.text
    return answer.json()


def plaudit(server, *arguments):
    """The command line on the database of a server."""
    return template.run(arguments, server.environment | {"COLUMNS": "200"})


def test_every_route_has_an_entry_in_the_table(tmp_path):
    app = create_app(Settings(database_url=database_url(tmp_path)))
    assert set(routes_of(app)) == set(MAY) | set(PAGES) | SIGNING_IN


@pytest.mark.parametrize("role", [None, *ROLES])
def test_every_route_lets_its_roles_in_and_nobody_else(server, secrets, role):
    with server.client(secrets[role]) as client:
        for route, allowed in MAY.items():
            method, path = route.split()
            path = path.replace(":path", "").format(
                agent="agt_0000000000",
                episode="eps_0000000000_0",
                key="key_0",
                webhook="whk_0",
                name="none.js",
                version="0",
            )
            body = {"json": {}} if method in ("POST", "PUT", "PATCH") else {}
            answer = client.request(method, path, **body)
            if role in allowed:
                assert answer.status_code in (200, 201, 404, 422, 503), (route, answer.text)
            elif role is None:
                problem = assert_problem(answer, 401, "unauthenticated")
                assert "Authorization" in problem["detail"]
                assert answer.headers["www-authenticate"] == "Bearer"
            else:
                assert role in assert_problem(answer, 403, "forbidden")["detail"], route


def sign_in(client, secret):
    """Sign a client in as a browser does; where it is sent on to."""
    answer = client.post("/signin", data={"key": secret})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


@pytest.mark.parametrize("role", ROLES)
def test_every_page_is_shown_to_its_roles_and_to_nobody_else(server, secrets, role):
    with server.client() as client:
        for route in PAGES:
            _, path = route.split()
            path = path.format(agent="agt_0000000000", episode="eps_0000000000_0")
            answer = client.get(path)
            assert answer.status_code == 303
            assert answer.headers["location"] == f"/signin?next={path}"
        assert sign_in(client, secrets[role]) == ("/" if role in READ else "/label")
        for route, allowed in PAGES.items():
            _, path = route.split()
            answer = client.get(path.format(agent="agt_0000000000", episode="eps_0000000000_0"))
            if role in allowed:
                assert answer.status_code in (200, 303, 404), (route, answer.text)
            else:
                assert answer.status_code == 403, route
            assert "default-src 'none'" in answer.headers.get("content-security-policy", "") or (
                answer.status_code == 303
            )


@pytest.mark.parametrize(
    "header", ["Bearer nobody-knows-this-key", f"Basic {ADMIN_KEY}", ADMIN_KEY, "Bearer"]
)
def test_a_key_that_nobody_knows_opens_nothing(server, header):
    answer = httpx.get(f"{server.url}/v1/agents", headers={"Authorization": header.encode()})
    assert_problem(answer, 401)


def test_the_scheme_may_be_written_small(server):
    answer = httpx.get(f"{server.url}/v1/agents", headers={"Authorization": f"bearer {ADMIN_KEY}"})
    assert answer.status_code == 200


def test_a_secret_is_shown_once(admin):
    made = create_key(admin, "viewer", "dashboard")
    assert made["id"].startswith("key_")
    listed = admin.get("/v1/keys")
    assert made["secret"] not in listed.text
    entry = next(one for one in listed.json()["items"] if one["id"] == made["id"])
    assert (entry["name"], entry["role"], entry["revoked_at"]) == ("dashboard", "viewer", None)
    assert "secret" not in entry


def test_a_revoked_key_opens_nothing_at_once(server, admin):
    made = create_key(admin, "viewer")
    with server.client(made["secret"]) as client:
        assert client.get("/v1/agents").status_code == 200
        assert admin.delete(f"/v1/keys/{made['id']}").status_code == 204
        assert_problem(client.get("/v1/agents"), 401)
    assert admin.delete(f"/v1/keys/{made['id']}").status_code == 204
    entry = next(one for one in admin.get("/v1/keys").json()["items"] if one["id"] == made["id"])
    assert entry["revoked_at"] is not None


@pytest.mark.parametrize(
    "body",
    [
        {"name": "x", "role": "king"},
        {"name": "", "role": "actor"},
        {"role": "actor"},
        {"name": "x"},
    ],
)
def test_a_key_that_makes_no_sense_is_refused(admin, body):
    assert_problem(admin.post("/v1/keys", json=body), 422)


def test_who_labels_is_the_name_of_the_key(server, admin):
    agent = create_agent(admin)
    body = {"trajectories": [{"states": [0] * 5, "actions": [0] * 5}]}
    episode = admin.post(f"/v1/agents/{agent}/trajectories", json=body).json()["first"]
    with server.client(create_key(admin, "labeller", "Grace")["secret"]) as labeller:
        path = f"/v1/episodes/{episode}"
        assert labeller.post(f"{path}/label", json={"label": 1}).status_code == 200
        assert [one["labeller"] for one in labeller.get(path).json()["labels"]] == ["Grace"]


def test_the_command_line_creates_lists_and_revokes_while_the_server_runs(server):
    made = plaudit(server, "keys", "create", "arm-3", "--role", "viewer")
    assert made.returncode == 0, made.stderr
    secret, key = made.stdout.strip(), made.stderr.split()[0]
    assert key.startswith("key_")
    assert "arm-3" in made.stderr
    with server.client(secret) as client:
        wait_until(lambda: client.get("/v1/agents").status_code == 200)
        listed = plaudit(server, "keys", "list")
        assert key in listed.stdout
        assert secret not in listed.stdout
        revoked = plaudit(server, "keys", "revoke", key)
        assert revoked.returncode == 0, revoked.stderr
        wait_until(lambda: client.get("/v1/agents").status_code == 401)
    unknown = plaudit(server, "keys", "revoke", "key_nobody")
    assert unknown.returncode != 0
    assert "key_nobody" in unknown.stderr
    assert "Traceback" not in unknown.stderr


def test_no_secret_is_in_the_database_or_in_the_log(server, admin, secrets):
    create_agent(admin)
    own = [secret.encode() for secret in secrets.values() if secret] + [ADMIN_KEY.encode()]
    stored = everything_stored(server.folder)
    assert stored
    for secret in own:
        assert secret not in stored
        assert secret.decode() not in server.output


def test_keys_are_off_on_loopback_until_somebody_makes_an_admin_key(start_server):
    server = start_server()
    with server.client() as anyone:
        assert anyone.get("/v1/keys").json() == {"items": []}
        create_key(anyone, "viewer")
        assert anyone.get("/v1/agents").status_code == 200
        made = create_key(anyone, "admin")
        assert_problem(anyone.get("/v1/agents"), 401)
        with server.client(made["secret"]) as admin:
            assert admin.get("/v1/agents").status_code == 200
            assert admin.delete(f"/v1/keys/{made['id']}").status_code == 204
            assert_problem(admin.get("/v1/agents"), 401)
        # Who takes the last admin key away does not mean to let everybody in.
        assert_problem(anyone.get("/v1/agents"), 401)
        secret = plaudit(server, "keys", "create", "me", "--role", "admin").stdout.strip()
        with server.client(secret) as admin:
            wait_until(lambda: admin.get("/v1/agents").status_code == 200)


@pytest.mark.parametrize("name", ["evil.example", "evil.example:80", "localhost.evil.example", ""])
def test_without_keys_other_host_names_are_not_served(shared_server, name):
    answer = httpx.get(f"{shared_server.url}/v1/agents", headers={"Host": name})
    assert "PLAUDIT_ADMIN_KEY" in assert_problem(answer, 403, "host_not_allowed")["detail"]


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]"])
def test_without_keys_the_names_of_this_machine_are_served(shared_server, name):
    port = httpx.URL(shared_server.url).port
    for host in (name, f"{name}:{port}"):
        answer = httpx.get(f"{shared_server.url}/v1/agents", headers={"Host": host})
        assert answer.status_code == 200


def test_with_keys_any_host_name_is_served(server):
    headers = {"Host": "agents.example", "Authorization": f"Bearer {ADMIN_KEY}"}
    assert httpx.get(f"{server.url}/v1/agents", headers=headers).status_code == 200


def test_an_address_that_others_can_reach_is_not_served_without_a_key(tmp_path, start_server):
    open_to_all = RunningServer(tmp_path, PLAUDIT_HOST="0.0.0.0")
    refused = plaudit(open_to_all, "serve")
    assert refused.returncode not in (0, None)
    for way in ("PLAUDIT_ADMIN_KEY", "plaudit keys create", "PLAUDIT_ALLOW_ANYONE"):
        assert way in refused.stdout + refused.stderr
    assert "Traceback" not in refused.stderr
    # A key that cannot make others does not do, an admin key does.
    assert plaudit(open_to_all, "keys", "create", "arm", "--role", "actor").returncode == 0
    assert plaudit(open_to_all, "serve").returncode not in (0, None)
    secret = plaudit(open_to_all, "keys", "create", "me", "--role", "admin").stdout.strip()
    server = start_server(PLAUDIT_HOST="0.0.0.0")
    assert_problem(httpx.get(f"{server.url}/v1/agents"), 401)
    with server.client(secret) as client:
        assert client.get("/v1/agents").status_code == 200


def test_an_operator_may_say_that_everybody_may_do_everything(start_server):
    server = start_server(PLAUDIT_HOST="0.0.0.0", PLAUDIT_ALLOW_ANYONE="true")
    answer = httpx.get(f"{server.url}/v1/keys", headers={"Host": "agents.example"})
    assert answer.status_code == 200


def test_an_admin_key_must_be_long(tmp_path):
    refused = plaudit(RunningServer(tmp_path, PLAUDIT_ADMIN_KEY="short"), "serve")
    assert refused.returncode != 0
    assert "PLAUDIT_ADMIN_KEY" in refused.stderr
    assert "short" not in refused.stdout + refused.stderr.replace("shorter", "")
