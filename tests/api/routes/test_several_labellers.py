"""Episodes that several people judge: everybody has one verdict, and all of them count."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.agents.base import MODEL_TOLERANCE
from tests.api.routes.test_fleets import export, take_in
from tests.api.routes.test_insights import Listener
from tests.api.routes.test_keys import create_key
from tests.api.routes.test_labels import label, log, model, queue, read
from tests.support.running import (
    STATES,
    assert_problem,
    create_agent,
    play,
    start_episode,
    wait_learned,
    wait_until,
)
from tests.web.test_dashboard import ADMIN_KEY, logged, page, part, text_of

WRONG = ["0", "21", "-1", '"2"', "true", "1.5", "2.0", "NaN", "Infinity", "[2]", "1e400"]


@pytest.fixture(scope="module")
def shared(shared_server):
    """An agent whose episodes want two labels."""
    with shared_server.client() as client:
        agent = create_agent(client, labels_wanted=2)
        wait_learned(client, agent)
        return agent


@pytest.fixture
def episode(client, shared):
    """An episode that waits for two labels."""
    return over(client, shared)


def over(client, agent, **body):
    episode = start_episode(client, agent, wait=False, **body)
    play(client, episode, STATES)
    return episode


def withdraw(client, episode, labeller):
    return client.delete(f"/v1/episodes/{episode}/label", params={"labeller": labeller})


def verdicts(client, episode):
    return [(one["labeller"], one["label"]) for one in read(client, episode)["verdicts"]]


def standing(client, episode):
    view = read(client, episode)
    return view["status"], view["label"], len(view["verdicts"])


def test_how_many_are_wanted_is_the_agents_choice_or_the_episodes(client, shared):
    assert client.get(f"/v1/agents/{create_agent(client)}").json()["labels_wanted"] == 1
    assert client.get(f"/v1/agents/{shared}").json()["labels_wanted"] == 2
    path = f"/v1/agents/{shared}/episodes"
    assert client.post(path, json={"wait": False}).json()["labels_wanted"] == 2
    other = client.post(path, json={"wait": False, "labels_wanted": 20}).json()
    assert other["labels_wanted"] == 20
    assert read(client, other["id"])["labels_wanted"] == 20


@pytest.mark.parametrize("wanted", WRONG)
@pytest.mark.parametrize("route", ["agent", "episode", "import"])
def test_a_number_that_nobody_can_want_is_refused(client, shared, wanted, route):
    path, body, pointer = {
        "agent": (
            "/v1/agents",
            '{"name": "lake", "states": {"kind": "discrete", "n": 4}, "horizon": 5, '
            '"actions": {"kind": "discrete", "n": 2}, "labels_wanted": %s}',
            "/labels_wanted",
        ),
        "episode": (
            f"/v1/agents/{shared}/episodes",
            '{"wait": false, "labels_wanted": %s}',
            "/labels_wanted",
        ),
        "import": (
            f"/v1/agents/{shared}/trajectories",
            '{"trajectories": [{"states": [0], "actions": [0], "labels_wanted": %s}]}',
            "/trajectories/0/labels_wanted",
        ),
    }[route]
    json = {"content-type": "application/json"}
    problem = assert_problem(client.post(path, content=body % wanted, headers=json), 422)
    assert problem["errors"][0]["pointer"] == pointer
    assert "labels_wanted" in problem["detail"]


def test_everybody_has_one_verdict_until_all_are_there(client, episode):
    first = label(client, episode, label=1, labeller="Ada").json()
    assert (first["label"], first["status"]) == (None, "awaiting_label")
    assert (first["verdicts"], first["labels_wanted"]) == (1, 2)
    assert label(client, episode, label=1, labeller="Ada").status_code == 200  # harmless
    problem = assert_problem(
        label(client, episode, label=0, labeller="Ada"), 409, "already_labelled"
    )
    assert "PUT" in problem["detail"]
    assert standing(client, episode) == ("awaiting_label", None, 1)
    second = label(client, episode, label=0, labeller="Bob").json()
    assert (second["label"], second["status"]) == (0, "labelled")  # no more than half say good
    for method in ("POST", "PUT"):
        late = label(client, episode, method, label=1, labeller="Cy")
        assert "all the 2" in assert_problem(late, 409, "already_labelled")["detail"]
    assert verdicts(client, episode) == [("Ada", 1), ("Bob", 0)]
    history = [(one["labeller"], one["label"]) for one in read(client, episode)["labels"]]
    assert history == [("Ada", 1), ("Bob", 0)]


def test_everybody_replaces_and_withdraws_their_own(client, episode):
    assert_problem(withdraw(client, episode, "Ada"), 409, "not_labelled")
    label(client, episode, "PUT", label=0, labeller="Ada")  # there is room
    label(client, episode, label=1, labeller="Bob")
    assert standing(client, episode) == ("labelled", 0, 2)
    assert label(client, episode, "PUT", label=1, labeller="Ada").json()["label"] == 1
    assert verdicts(client, episode) == [("Ada", 1), ("Bob", 1)]
    assert_problem(withdraw(client, episode, "Cy"), 409, "not_labelled")
    assert withdraw(client, episode, "Ada").json()["status"] == "awaiting_label"
    assert standing(client, episode) == ("awaiting_label", None, 1)
    label(client, episode, label=0, labeller="Cy")  # in Ada's place
    assert_problem(label(client, episode, label=0, labeller="Ada"), 409, "already_labelled")
    assert sorted(verdicts(client, episode)) == [("Bob", 1), ("Cy", 0)]
    history = [(one["labeller"], one["label"]) for one in read(client, episode)["labels"]]
    assert history == [("Ada", 0), ("Bob", 1), ("Ada", 1), ("Ada", None), ("Cy", 0)]


def test_who_gives_no_name_is_one_labeller(client, episode):
    assert label(client, episode, label=1).status_code == 200
    assert_problem(label(client, episode, label=0), 409, "already_labelled")
    assert client.delete(f"/v1/episodes/{episode}/label").json()["verdicts"] == 0
    assert_problem(client.delete(f"/v1/episodes/{episode}/label"), 409, "not_labelled")


@pytest.mark.parametrize(("labels", "outcome"), [((1, 0, 1), 1), ((0, 0, 1), 0), ((1, 1, 1), 1)])
def test_the_majority_decides(client, shared, labels, outcome):
    before = client.get(f"/v1/agents/{shared}").json()
    episode = over(client, shared, labels_wanted=3)
    for name, one in zip("abc", labels, strict=True):
        assert standing(client, episode)[:2] == ("awaiting_label", None)
        label(client, episode, label=one, labeller=name)
    assert standing(client, episode) == ("labelled", outcome, 3)
    after = client.get(f"/v1/agents/{shared}").json()
    assert after["episodes"]["labelled"] == before["episodes"]["labelled"] + 1
    good = [(v["success_rate"] or 0) * v["episodes"]["labelled"] for v in (before, after)]
    assert good[1] - good[0] == pytest.approx(outcome)


def test_what_waits_for_more_stays_in_the_queue(client):
    agent = create_agent(client, labels_wanted=2)
    half, other = log(client, agent, ([0] * 5, 0, None), ([1] * 5, 1, None))
    label(client, half, label=1, labeller="Ada")
    for order in ("informative", "oldest"):
        items = queue(client, agent=agent, order=order)["items"]
        assert {item["id"] for item in items} == {half, other}
    label(client, half, label=1, labeller="Bob")
    assert [item["id"] for item in queue(client, agent=agent)["items"]] == [other]


def test_a_judged_episode_cannot_be_given_up(client, episode):
    label(client, episode, label=1, labeller="Ada")
    path = f"/v1/episodes/{episode}/abandon"
    assert_problem(client.post(path), 409, "already_labelled")
    withdraw(client, episode, "Ada")
    assert client.post(path).json()["status"] == "abandoned"


def test_a_labelled_episode_is_over_and_cannot_be_given_up(client, episode):
    for name in ("Ada", "Bob"):
        label(client, episode, label=1, labeller=name)
    assert_problem(client.post(f"/v1/episodes/{episode}/abandon"), 409, "episode_over")


def test_a_list_says_how_many_verdicts_there_are(client):
    agent = create_agent(client, labels_wanted=2)
    half, none = log(client, agent, ([0] * 5, 0, None), ([1] * 5, 1, None))
    label(client, half, label=1, labeller="Ada")
    for order in ("informative", "oldest"):
        items = queue(client, agent=agent, order=order)["items"]
        assert {item["id"]: item["labels_given"] for item in items} == {half: 1, none: 0}


def test_what_is_read_is_of_one_moment(shared_server, client, episode):
    """The label of an episode and its verdicts agree, whoever writes meanwhile."""
    label(client, episode, label=1, labeller="Ada")

    def flip():
        with shared_server.client() as own:
            for _ in range(60):
                label(own, episode, label=1, labeller="Bob")
                withdraw(own, episode, "Bob")

    with ThreadPoolExecutor(1) as other:
        flipping = other.submit(flip)
        seen = []
        while not flipping.done():
            view = read(client, episode)
            seen.append((view["label"], len(view["verdicts"]), view["labels_given"]))
        flipping.result()
    assert set(seen) <= {(1, 2, 2), (None, 1, 1)}


PLAYED = [([0, 1, 2, 3, 3], 0), ([0, 0, 1, 1, 2], 1), ([3, 2, 1, 0, 0], 1)]


def twice(client, said):
    """The model of trajectories that were logged once for each verdict on them."""
    agent = create_agent(client)
    log(client, agent, *((*PLAYED[i], one) for i, one in said))
    return model(client, agent)


def assert_same(found, expected):
    assert found["weights"] == pytest.approx(expected["weights"], abs=MODEL_TOLERANCE)
    assert found["intercept"] == pytest.approx(expected["intercept"], abs=MODEL_TOLERANCE)


def test_every_verdict_is_learned_from_when_it_comes(client):
    """Two verdicts are two observations of one trajectory, before the label is settled too."""
    agent = create_agent(client, labels_wanted=3)
    episodes = log(client, agent, *((*one, None) for one in PLAYED))
    said = [(0, 1, "Ada"), (1, 0, "Ada"), (0, 1, "Bob"), (0, 0, "Cy"), (2, 1, "Bob")]
    for count, (i, one, name) in enumerate(said, 1):
        label(client, episodes[i], label=one, labeller=name)
        if count > 1:
            expected = twice(client, [(j, other) for j, other, _ in said[:count]])
            assert_same(model(client, agent), expected)
    view = client.get(f"/v1/agents/{agent}/learning-curve").json()
    assert view["policies"][-1]["labels"] == view["observed"][-1]["labels"] == 5
    assert wait_learned(client, agent)["episodes"]["labelled"] == 1
    # Corrected as if it had been told right from the start.
    label(client, episodes[0], "PUT", label=0, labeller="Bob")
    withdraw(client, episodes[0], "Cy")
    withdraw(client, episodes[1], "Ada")
    label(client, episodes[2], label=0, labeller="Ada")
    expected = twice(client, [(0, 1), (0, 0), (2, 1), (2, 0)])
    assert_same(model(client, agent), expected)


def test_at_the_timeout_those_that_are_there_decide(shared_server, client):
    agent = create_agent(client, labels_wanted=3, label_timeout="PT1S", default_label=0)
    half, none = (over(client, agent) for _ in range(2))
    label(client, half, label=1, labeller="Ada")
    wait_until(lambda: all(read(client, one)["status"] == "labelled" for one in (half, none)))
    assert standing(client, half) == ("labelled", 1, 1)
    assert standing(client, none) == ("labelled", 0, 1)
    assert verdicts(client, none) == [("timeout", 0)]
    # Who comes late still counts, and nothing waits again.
    for name, settled in (("Bob", 0), ("Cy", 0)):
        answer = label(client, half, label=0, labeller=name).json()
        assert (answer["label"], answer["status"]) == (settled, "labelled")
    assert wait_learned(client, agent)["success_rate"] == 0.0
    listener = Listener(shared_server, agent, after=0)
    wait_until(lambda: listener.names.count("label.given") == 4)
    settled = [body for _, name, body in listener.events if name == "label.settled"]
    assert [(body["episode"], body["label"]) for body in settled] == [(half, 1)]


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_default_label_makes_way_for_the_first_person(client, method):
    agent = create_agent(client, labels_wanted=3, label_timeout="PT1S", default_label=0)
    episode = over(client, agent)
    wait_until(lambda: verdicts(client, episode) == [("timeout", 0)])
    answer = label(client, episode, method, label=1, labeller="Ada").json()
    assert (answer["label"], answer["verdicts"], answer["status"]) == (1, 1, "labelled")
    for name in ("Bob", "Cy"):  # three people have room
        assert label(client, episode, method, label=1, labeller=name).status_code == 200
    assert verdicts(client, episode) == [("Ada", 1), ("Bob", 1), ("Cy", 1)]
    late = label(client, episode, method, label=0, labeller="Di")
    assert_problem(late, 409, "already_labelled")
    assert wait_learned(client, agent)["success_rate"] == 1.0
    # It is learned as if nobody had ever said otherwise.
    steps = read(client, episode)["steps"]
    played = {name + "s": [one[name] for one in steps] for name in ("state", "action")}
    same = create_agent(client)
    assert take_in(client, same, *[played | {"label": 1}] * 3).status_code == 201
    assert_same(model(client, agent), model(client, same))


def test_a_timeout_without_a_default_gives_up_only_what_nobody_judged(client):
    agent = create_agent(client, labels_wanted=2, label_timeout="PT1S")
    half, none = (over(client, agent) for _ in range(2))
    label(client, half, label=1, labeller="Ada")
    wait_until(lambda: read(client, half)["status"] == "labelled")
    wait_until(lambda: read(client, none)["status"] == "abandoned")
    assert standing(client, half) == ("labelled", 1, 1)


def test_of_many_at_once_only_as_many_as_are_wanted_are_taken(shared_server, client, shared):
    episode = over(client, shared, labels_wanted=3)

    def judge(name):
        with shared_server.client() as own:
            return label(own, episode, label=1, labeller=f"labeller {name}").status_code

    with ThreadPoolExecutor(12) as people:
        answers = list(people.map(judge, range(12)))
    assert sorted(answers) == [200] * 3 + [409] * 9
    assert standing(client, episode) == ("labelled", 1, 3)
    taken = {f"labeller {i}" for i, status in enumerate(answers) if status == 200}
    assert {name for name, _ in verdicts(client, episode)} == taken


def test_a_half_judged_episode_survives_kill_9(start_server):
    server = start_server()
    with server.client() as client:
        agent = create_agent(client, labels_wanted=2)
        first, second, third = log(client, agent, *((*one, None) for one in PLAYED))
        label(client, first, label=1, labeller="Ada")
        label(client, second, label=0, labeller="Ada")
        wait_learned(client, agent)
        label(client, third, label=1, labeller="Ada")
    server.kill()
    server.start()
    with server.client() as client:
        assert standing(client, first) == ("awaiting_label", None, 1)
        assert label(client, first, label=1, labeller="Ada").json()["verdicts"] == 1
        assert_problem(label(client, first, label=0, labeller="Ada"), 409, "already_labelled")
        assert label(client, first, label=0, labeller="Bob").json()["status"] == "labelled"
        assert withdraw(client, second, "Ada").json()["verdicts"] == 0
        expected = twice(client, [(0, 1), (2, 1), (0, 0)])
        assert_same(model(client, agent), expected)


def test_an_export_carries_every_verdict_and_is_taken_back(client):
    agent, other = (create_agent(client, labels_wanted=2) for _ in range(2))
    both, half, _ = log(client, agent, *((*one, None) for one in PLAYED))
    label(client, both, label=1, labeller="Ada", comment="clean")
    label(client, both, label=0, labeller="Bob")
    label(client, half, label=1)
    lines = export(client, agent)
    said = {"label": 1, "labeller": "Ada", "comment": "clean"}
    assert lines[0]["verdicts"] == [said, {"label": 0, "labeller": "Bob", "comment": None}]
    assert [line["label"] for line in lines] == [0, None, None]
    assert take_in(client, other, *lines).status_code == 201
    assert_same(model(client, other), model(client, agent))
    names = ("label", "labels_wanted", "verdicts", "status")
    again = [{name: line[name] for name in names} for line in export(client, other)]
    assert again == [{name: line[name] for name in names} for line in lines]
    counts = [client.get(f"/v1/agents/{one}").json()["episodes"] for one in (agent, other)]
    assert counts[0] == counts[1]
    first = export(client, other)[0]["episode"]
    assert_problem(label(client, first, label=0, labeller="Ada"), 409, "already_labelled")


ONE = {"states": [0], "actions": [0]}
GOOD, BAD = {"label": 1}, {"label": 0}
ADA, BOB = {"labeller": "Ada"}, {"labeller": "Bob"}


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"verdicts": [GOOD], "label": 0}, "label"),
        ({"verdicts": [GOOD, BAD | ADA], "label": 1}, "label"),
        ({"verdicts": [GOOD, BAD | ADA], "labels_wanted": 1}, "verdicts"),
        ({"verdicts": [GOOD | ADA, BAD | ADA]}, "verdicts"),
        ({"verdicts": [GOOD, BAD]}, "verdicts"),  # without a name one is one labeller
        ({"verdicts": [GOOD], "status": "abandoned"}, "status"),
        ({"verdicts": [GOOD, BAD | ADA], "status": "completed"}, "status"),
        ({"verdicts": [GOOD], "status": "completed", "labels_wanted": 1}, "status"),
        ({"label": 1, "status": "completed"}, "status"),
        ({"verdicts": [{"label": 2}]}, "verdicts/0/label"),
        ({"verdicts": [GOOD] * 21}, "verdicts"),
    ],
)
def test_logged_verdicts_that_do_not_fit_are_refused(client, shared, changes, pointer):
    problem = assert_problem(take_in(client, shared, ONE | changes), 422)
    assert problem["errors"][0]["pointer"] == f"/trajectories/0/{pointer}"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"label": 1}, ("labelled", 1, 1)),
        ({"verdicts": [GOOD]}, ("awaiting_label", None, 1)),
        ({"verdicts": [GOOD], "labels_wanted": 1}, ("labelled", 1, 1)),
        ({"verdicts": [GOOD], "label": True}, ("labelled", 1, 1)),
        ({"verdicts": [GOOD, BAD | ADA, GOOD | BOB]}, ("labelled", 1, 3)),
        ({"verdicts": [GOOD], "status": "completed"}, ("completed", None, 1)),
    ],
)
def test_logged_verdicts_may_be_all_there_will_be(client, shared, changes, expected):
    imported = take_in(client, shared, ONE | changes).json()["first"]
    assert standing(client, imported) == expected


def test_each_verdict_is_held_against_the_model(client):
    agent = create_agent(client, labels_wanted=2, name="the doubted of this test")
    logged(client, agent, 200, lambda i: int(i % 4 == 3))
    (odd,) = log(client, agent, ([0, 1, 3, 3, 3], 1, None))  # good, and rightly so
    label(client, odd, label=1, labeller="Ada")
    label(client, odd, label=0, labeller="Bob")
    wait_learned(client, agent)
    shown = text_of(page(client, "/labellers"))
    number = read(client, odd)["number"]
    assert re.search(rf"number {number} the doubted of this test bad \d+ % Bob", shown)
    assert not re.search(rf"number {number} the doubted of this test good", shown)


@pytest.mark.parametrize("role", ["labeller", "operator"])
def test_a_tool_with_one_key_speaks_for_many(start_server, role):
    server = start_server(PLAUDIT_ADMIN_KEY=ADMIN_KEY)
    with server.client(ADMIN_KEY) as admin:
        secret = create_key(admin, role, "tool")["secret"]
        episode = over(admin, create_agent(admin, labels_wanted=3))
    with server.client(secret) as tool:
        label(tool, episode, label=1, labeller="Ada")
        label(tool, episode, label=0)
        label(tool, episode, label=1, labeller="Cy")
        assert verdicts(tool, episode) == [("Ada", 1), ("tool", 0), ("Cy", 1)]
        assert withdraw(tool, episode, "Ada").json()["verdicts"] == 2
        # While labels are missing, labellers are not told what others said.
        shown = [] if role == "labeller" else [("tool", 0), ("Cy", 1)]
        assert verdicts(tool, episode) == shown


def test_who_only_labels_is_not_told_what_others_said(start_server):
    server = start_server(PLAUDIT_ADMIN_KEY=ADMIN_KEY)
    with server.client(ADMIN_KEY) as admin:
        secret = create_key(admin, "labeller", "Bob")["secret"]
        episode = over(admin, create_agent(admin, labels_wanted=2))
        label(admin, episode, label=1, labeller="Ada", comment="tidy")

        def seen():
            with server.client(follow_redirects=True) as browser:
                browser.post("/signin", data={"key": secret})
                return text_of(page(browser, f"/episodes/{episode}"))

        assert "1 of 2 verdicts; hidden until all are there" in seen()
        assert not re.search("Ada|tidy", seen())
        with server.client(secret) as bob:
            label(bob, episode, label=0)
        assert "2 of 2 verdicts: good by Ada, bad by Bob" in seen()
        assert "tidy" in seen()


def test_pages_show_the_verdicts_that_hold(client):
    agent = create_agent(client, labels_wanted=2)
    wait_learned(client, agent)
    episode = over(client, agent)
    label(client, episode, label=1, labeller="Ada of this test")
    assert "1 of 2 verdicts: good by Ada" in part(page(client, f"/episodes/{episode}"), "verdicts")
    assert "waits for a label, 1 of 2" in text_of(page(client, f"/agents/{agent}"))
    label(client, episode, label=0, labeller="Bob of this test")
    wait_learned(client, agent)
    shown = part(page(client, f"/episodes/{episode}"), "verdicts")
    assert "2 of 2 verdicts: good by Ada of this test, bad by Bob of this test" in shown
    people = text_of(page(client, "/labellers"))
    assert "Ada of this test and Bob of this test 1 0 (0 %)" in people
