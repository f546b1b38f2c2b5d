"""Keys that are bound to some agents see no other, on every route and page; the role robot."""

import pytest

from tests.api.routes.test_keys import ADMIN_KEY, MAY, PAGES, plaudit, sign_in
from tests.support.running import (
    STATES,
    RunningServer,
    assert_problem,
    create_agent,
    play,
    start_episode,
    wait_until,
)

DESK = {"tab": "a" * 8, "visit": "b" * 8}
HIDDEN_NAME, HIDDEN_LABELLER = "the hidden lake", "Zelda"
# Routes that show nothing of any agent.
PUBLIC = {
    "GET /healthz",
    "GET /readyz",
    "GET /openapi.json",
    "GET /docs",
    "GET /docs/start.js",
    "GET /docs/{name}",
    "GET /static/{version}/{name:path}",
    "POST /label/leave",
}
# Routes about the whole server: a bound key is refused.
WHOLE_SERVER = {"GET /metrics", "POST /v1/agents", "POST /v1/demos", "GET /v1/demos"}
# Routes that take many things at once: each hidden one has a problem of its own.
MANY = {
    "POST /v1/steps": lambda hidden: {"steps": [{"episode": hidden.running, "state": 0}]},
    "POST /v1/episodes": lambda hidden: {"episodes": [{"agent": hidden.agent, "wait": False}]},
    "POST /v1/finishes": lambda hidden: {"finishes": [{"episode": hidden.running}]},
    "POST /v1/labels": lambda hidden: {"labels": [{"episode": hidden.waiting, "label": 1}]},
}
BODIES = {
    "PATCH /v1/agents/{agent}": {"paused": True},
    "POST /v1/agents/{agent}/trajectories": {
        "trajectories": [{"states": [0] * 5, "actions": [0] * 5}]
    },
    "POST /v1/agents/{agent}/episodes": {"wait": False},
    "POST /v1/episodes/{episode}/steps": {"state": 0},
    "POST /v1/episodes/{episode}/label": {"label": 1},
    "PUT /v1/episodes/{episode}/label": {"label": 1},
}
# Requests of the desk that name an episode.
OF_EPISODES = {
    "POST /label/skip": {},
    "POST /label/verdict": {"label": 1},
    "POST /label/undo": {},
    "POST /label/unskip": {},
    "POST /label/reopen": {},
    "POST /label/renew": {},
}
LISTS = ["GET /v1/agents", "GET /v1/episodes", "POST /label/next", "POST /label/over"]


class Scene:
    """An agent with a running episode, one that waits for a label, and a labelled one."""

    def __init__(self, client, name, labeller):
        self.agent = create_agent(client, name=name, labels_wanted=1)
        self.running = start_episode(client, self.agent, wait=False)
        self.waiting = start_episode(client, self.agent, wait=False)
        play(client, self.waiting, STATES)
        self.labelled = start_episode(client, self.agent, wait=False)
        play(client, self.labelled, STATES)
        label = {"label": 1, "labeller": labeller}
        assert client.post(f"/v1/episodes/{self.labelled}/label", json=label).status_code == 200


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bound")
    with RunningServer(folder, PLAUDIT_ADMIN_KEY=ADMIN_KEY) as server:
        yield server


@pytest.fixture(scope="module")
def admin(server):
    with server.client(ADMIN_KEY) as admin:
        yield admin


@pytest.fixture(scope="module")
def own(admin):
    return Scene(admin, "the visible lake", "Ada")


@pytest.fixture(scope="module")
def hidden(admin):
    return Scene(admin, HIDDEN_NAME, HIDDEN_LABELLER)


def create_key(admin, role, agents):
    answer = admin.post("/v1/keys", json={"name": "arm-3", "role": role, "agents": agents})
    assert answer.status_code == 201, answer.text
    assert answer.json()["agents"] == agents
    return answer.json()["secret"]


@pytest.fixture(scope="module")
def operator(server, admin, own):
    """A bound key with every right that a bound key can have."""
    with server.client(create_key(admin, "operator", [own.agent])) as operator:
        yield operator


@pytest.fixture(scope="module")
def robot(server, admin, own):
    with server.client(create_key(admin, "robot", [own.agent])) as robot:
        yield robot


def assert_hides(text, hidden):
    prefix = hidden.running.rsplit("_", 1)[0]  # the number of the agent is in every episode's id
    for secret in (hidden.agent, prefix, HIDDEN_NAME, HIDDEN_LABELLER):
        assert secret not in text


def request(client, route, scene, **body):
    method, path = route.split()
    ids = {"key": "key_0", "webhook": "whk_0", "version": 0}
    path = path.format(agent=scene.agent, episode=scene.waiting, **ids)
    return client.request(method, path, **({"json": body} if method != "GET" else {}))


@pytest.mark.parametrize("route", sorted(set(MAY) - PUBLIC))
def test_a_bound_key_finds_nothing_of_another_agent(route, operator, own, hidden, admin):
    """Every route of the server is one of these kinds; a new route fails here until it is."""
    if route in WHOLE_SERVER:
        answer = request(operator, route, hidden)
        assert "bound" in assert_problem(answer, 403, "forbidden")["detail"]
    elif "{agent}" in route or "{episode}" in route:
        answer = request(operator, route, hidden, **BODIES.get(route, {}))
        problem = assert_problem(answer, 404, "not_found")
        what = "agent" if "{agent}" in route else "episode"
        name = hidden.agent if what == "agent" else hidden.waiting
        assert problem["detail"] == f"No {what} with id {name!r}."  # as if it did not exist
    elif route in MANY:
        method, path = route.split()
        answer = operator.request(method, path, json=MANY[route](hidden)).json()
        assert [one["problem"]["status"] for one in answer["results"]] == [404]
    elif route in OF_EPISODES:
        body = {**DESK, "episode": hidden.waiting, **OF_EPISODES[route]}
        assert_problem(request(operator, route, hidden, **body), 404)
    elif route in ("GET /label/change", "GET /label/example"):
        path = route.split()[1]
        assert_problem(operator.get(path, params={"episode": hidden.waiting}), 404)
    elif route == "GET /label/progress":
        query = {"agent": hidden.agent, "since": 0}
        assert_problem(operator.get("/label/progress", params=query), 404)
    elif route in LISTS:
        body = DESK if route.startswith("POST") else {}
        answer = request(operator, route, own, **body)
        assert answer.status_code == 200
        assert_hides(answer.text, hidden)
        assert own.agent in answer.text
    else:
        assert "key" in route or "webhook" in route, f"{route} is of no kind that this test knows"
        assert_problem(request(operator, route, hidden), 403)


def test_queries_that_name_another_agent_find_nothing(operator, hidden, own):
    for order in ("oldest", "newest", "informative"):
        params = {"agent": hidden.agent, "order": order}
        assert_problem(operator.get("/v1/episodes", params=params), 404)
        listed = operator.get("/v1/episodes", params={"order": order})
        assert {one["agent"] for one in listed.json()["items"]} == {own.agent}
    assert_problem(
        operator.get(f"/v1/agents/{own.agent}/policy", params={"episode": hidden.running}), 404
    )
    wanted = {**DESK, "agent": hidden.agent}
    assert_problem(operator.post("/label/next", json=wanted), 404)


def test_counts_are_those_of_the_bound_agents(operator, admin, own):
    waiting = operator.get(f"/v1/agents/{own.agent}").json()["episodes"]["awaiting_label"]
    assert operator.post("/label/next", json=DESK).json()["left"] == waiting
    everything = admin.post("/label/next", json=DESK).json()["left"]
    assert everything > waiting


@pytest.mark.parametrize("role", ["operator", "labeller", "viewer"])
def test_pages_show_nothing_of_another_agent(server, admin, own, hidden, role):
    secret = create_key(admin, role, [own.agent])
    with server.client() as browser:
        sign_in(browser, secret)
        for route, allowed in PAGES.items():
            if role not in allowed:
                continue
            path = route.split()[1]
            for query in ("", f"?name={HIDDEN_NAME[:5]}"):
                shown = browser.get(path.format(agent=own.agent, episode=own.waiting) + query)
                if path == "/system":  # it concerns the whole server
                    assert shown.status_code == 403
                elif path != "/agents/{agent}/map":  # this one has no earlier policy
                    assert shown.status_code in (200, 303), (route, shown.text)
                assert_hides(shown.text.replace(f'value="{HIDDEN_NAME[:5]}"', ""), hidden)
            if "{" in path:
                refused = browser.get(path.format(agent=hidden.agent, episode=hidden.waiting))
                assert refused.status_code == 404
                assert HIDDEN_NAME not in refused.text
        asked = browser.get("/label", params={"agent": hidden.agent})
        assert asked.status_code == (404 if role != "viewer" else 403)


def test_a_key_may_be_bound_to_several_agents(server, admin, own, hidden):
    agents = sorted([own.agent, hidden.agent])
    with server.client(create_key(admin, "viewer", agents)) as viewer:
        assert sorted(one["id"] for one in viewer.get("/v1/agents").json()["items"]) == agents


@pytest.mark.parametrize(
    ("agents", "role", "words"),
    [
        ([], "viewer", "agents: expected at least one agent"),
        (["agt_0000000000"], "viewer", "agents.0: expected the id of an agent that exists"),
        (["lake"], "robot", "agents.0: expected the id of an agent that exists"),
        ("lake", "robot", "agents:"),
        (["own"], "admin", "no agents for an admin key"),
    ],
)
def test_a_binding_that_makes_no_sense_is_refused(admin, own, agents, role, words):
    agents = [own.agent] if agents == ["own"] else agents
    answer = admin.post("/v1/keys", json={"name": "x", "role": role, "agents": agents})
    assert words in assert_problem(answer, 422)["detail"]


def test_the_command_line_binds_keys_too(server, own, hidden):
    made = plaudit(server, "keys", "create", "arm-4", "--role", "viewer", "--agent", own.agent)
    assert made.returncode == 0, made.stderr
    with server.client(made.stdout.strip()) as viewer:
        wait_until(lambda: viewer.get("/v1/agents").status_code == 200)
        assert_hides(viewer.get("/v1/agents").text, hidden)
    unknown = plaudit(server, "keys", "create", "arm-4", "--agent", "agt_0000000000")
    assert unknown.returncode != 0
    assert "an agent that exists" in unknown.stderr


def test_a_robot_plays_labels_its_own_and_hands_in_what_it_played(robot, own):
    episode = start_episode(robot, own.agent, wait=False)
    play(robot, episode, STATES)
    assert robot.post(f"/v1/episodes/{episode}/label", json={"label": 0}).status_code == 200
    assert robot.put(f"/v1/episodes/{episode}/label", json={"label": 1}).status_code == 200
    other = start_episode(robot, own.agent, wait=False)
    ended = robot.post(f"/v1/episodes/{other}/finish", json={"state": 3, "label": 1})
    assert (ended.status_code, ended.json()["label"]) == (200, 1)
    body = {"trajectories": [{"states": [0] * 5, "actions": [0] * 5}]}
    taken = robot.post(f"/v1/agents/{own.agent}/trajectories", json=body)
    assert taken.status_code == 201
    given = robot.post(f"/v1/episodes/{taken.json()['first']}/label", json={"label": 0})
    assert given.status_code == 200
    for path in ("", "/policy"):
        assert robot.get(f"/v1/agents/{own.agent}{path}").status_code == 200


def test_a_robot_labels_no_episode_of_another_key(robot, admin, own):
    path = f"/v1/episodes/{own.waiting}/label"
    for method in ("POST", "PUT"):
        problem = assert_problem(robot.request(method, path, json={"label": 1}), 403, "forbidden")
        assert "started itself" in problem["detail"]
    entry = {"labels": [{"episode": own.waiting, "label": 1}]}
    many = robot.post("/v1/labels", json=entry).json()["results"][0]
    assert many["problem"]["status"] == 403
    running = start_episode(admin, own.agent, wait=False)
    ended = robot.post(f"/v1/episodes/{running}/finish", json={"label": 1})
    assert_problem(ended, 403, "forbidden")
    assert admin.get(f"/v1/episodes/{running}").json()["status"] == "running"
    unknown = own.waiting.rsplit("_", 1)[0] + "_999"
    assert_problem(robot.post(f"/v1/episodes/{unknown}/label", json={"label": 1}), 404)


def test_a_robot_deletes_nothing(robot, own):
    for path in (
        f"/v1/agents/{own.agent}",
        f"/v1/episodes/{own.labelled}/label",
        f"/v1/episodes/{own.labelled}/recording",
    ):
        assert "robot" in assert_problem(robot.delete(path), 403, "forbidden")["detail"]
