"""What an agent may be, over HTTP: spaces, features, starts, timeouts, sizes; and what not."""

import json

import pytest

from tests.support.running import (
    LAKE,
    assert_problem,
    create_agent,
    play,
    start_episode,
    wait_learned,
)

BOX = {"kind": "box", "low": [-1.0, 0.0], "high": [1.0, 5.0], "bins": [2, 3]}
ROOMS = {"kind": "labels", "values": ["kitchen", "hall", "attic"]}
STEPS_PAST_COUNTING = 10**400


def refused(client, code="invalid_value", **changes):
    """That an agent with these changes is refused; the problem."""
    return assert_problem(client.post("/v1/agents", json=LAKE | changes), 422, code)


def test_defaults_are_thompson_with_automatic_features_and_seed_zero(client):
    least = {name: LAKE[name] for name in ("name", "states", "actions", "horizon")}
    view = client.post("/v1/agents", json=least).json()
    assert view["algorithm"]["kind"] == "thompson"
    assert view["features"] in (None, {"kind": "auto"})
    assert view["seed"] == 0
    assert view["metadata"] == {}
    assert not view["paused"]
    assert wait_learned(client, view["id"])["learning_error"] is None


def test_short_forms_are_taken_and_shown_in_full(client):
    short = {"states": 16, "actions": 4, "algorithm": "ucbvi"}
    view = client.get(f"/v1/agents/{create_agent(client, **short)}").json()
    assert view["states"] == {"kind": "discrete", "n": 16}
    assert view["actions"] == {"kind": "discrete", "n": 4}
    full = client.post("/v1/agents", json=LAKE | {"algorithm": {"kind": "ucbvi"}}).json()
    assert view["algorithm"] == full["algorithm"]
    assert view["features"] == full["features"]


@pytest.mark.parametrize("field", ["states", "actions"])
@pytest.mark.parametrize("count", [0, -1, 2**31, True, 16.0, "16"])
def test_a_short_form_that_is_no_count_is_refused(client, field, count):
    assert refused(client, **{field: count})["errors"][0]["pointer"] == f"/{field}"


def test_an_unknown_kind_by_its_name_alone_is_refused_with_the_known_ones(client):
    problem = refused(client, algorithm="sarsa")
    assert problem["errors"][0]["pointer"] == "/algorithm"
    assert "'thompson'" in problem["detail"]


def test_clients_speak_in_labels(client):
    agent = create_agent(client, states=ROOMS, actions={"kind": "labels", "values": ["stay", "go"]})
    episode = start_episode(client, agent)
    actions = play(client, episode, ["hall", "kitchen"])
    assert set(actions) <= {"stay", "go"}
    shown = client.get(f"/v1/episodes/{episode}").json()
    assert [step["state"] for step in shown["steps"]] == ["hall", "kitchen"]
    assert [step["action"] for step in shown["steps"]] == actions
    answer = client.post(f"/v1/episodes/{episode}/steps", json={"state": "cellar"})
    problem = assert_problem(answer, 422)
    assert "kitchen" in problem["detail"]
    assert problem["errors"][0]["pointer"] == "/state"


def test_clients_speak_in_numbers_of_a_box_and_what_lies_outside_counts_to_the_edge(client):
    agent = create_agent(client, states=BOX)
    episode = start_episode(client, agent)
    sent = [[-0.5, 0.1], [7, 99.0], [1e308, -1e308], [0, 2.5], [1, 5]]
    play(client, episode, sent, label=1)
    shown = client.get(f"/v1/episodes/{episode}").json()
    assert [step["state"] for step in shown["steps"]] == sent
    wait_learned(client, agent)
    visits = client.get(f"/v1/agents/{agent}/model").json()["visits"]
    # The bins are 2 x 3, the last dimension fastest.
    assert [sum(row) for row in visits] == [1, 0, 0, 1, 1, 2]


@pytest.mark.parametrize(
    "state", [[0.5], [0.5, 1, 2], 3, "hall", ["0.5", "1"], [True, 1], [None, 1], [10**400, 1], {}]
)
def test_what_is_no_observation_of_a_box_is_refused(client, box_agent, state):
    episode = start_episode(client, box_agent, wait=False)
    answer = client.post(f"/v1/episodes/{episode}/steps", json={"state": state})
    assert assert_problem(answer, 422)["errors"][0]["pointer"].startswith("/state")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_an_observation_that_is_not_finite_is_refused(client, box_agent, number):
    episode = start_episode(client, box_agent, wait=False)
    answer = client.post(
        f"/v1/episodes/{episode}/steps",
        content=f'{{"state": [0.5, {number}]}}',
        headers={"content-type": "application/json"},
    )
    assert_problem(answer, 422)
    assert client.get(f"/v1/episodes/{episode}").json()["length"] == 0


@pytest.fixture(scope="module")
def box_agent(shared_server):
    with shared_server.client() as client:
        return create_agent(client, states=BOX)


@pytest.mark.parametrize(
    ("given", "start"),
    [
        ([1], [0, 1, 0, 0]),
        ([1, 3], [0, 0.5, 0, 0.5]),
        ([0.25, 0.75, 0.0, 0.0], [0.25, 0.75, 0, 0]),
        ({"states": [3, 0], "probabilities": [0.25, 0.75]}, [0.75, 0, 0, 0.25]),
    ],
)
def test_initial_states_are_a_list_or_a_distribution(client, given, start):
    agent = create_agent(client, initial_states=given)
    assert wait_learned(client, agent)["initial_states"] == given
    assert client.get(f"/v1/agents/{agent}/model").json()["start"] == pytest.approx(start)


def test_initial_states_are_in_the_clients_words(client):
    agent = create_agent(client, states=ROOMS, initial_states=["attic"])
    wait_learned(client, agent)
    assert client.get(f"/v1/agents/{agent}/model").json()["start"] == [0, 0, 1]


@pytest.mark.parametrize(
    "given",
    [
        [],
        [4],
        ["a"],
        [10**400],
        [1.0],
        [0.5, 0.5, 0.5, 0.5],
        [0, 0.5],
        {"states": [0, 1], "probabilities": [1.0]},
        {"states": [0], "probabilities": [0.5]},
        {"states": [0], "probabilities": ["1"]},
        {"states": [0, 1], "probabilities": [2.0, -1.0]},
        "0",
    ],
)
def test_initial_states_that_are_no_distribution_are_refused(client, given):
    problem = refused(client, initial_states=given)
    assert problem["errors"][0]["pointer"].startswith("/initial_states")


@pytest.mark.parametrize("duration", ["PT1S", "PT0.5S", "PT30M", "P2D", "P1DT2H3M4S", "P3W"])
def test_a_label_timeout_is_an_iso_8601_duration(client, duration):
    agent = create_agent(client, label_timeout=duration, default_label=0)
    assert client.get(f"/v1/agents/{agent}").json()["label_timeout"] == duration


@pytest.mark.parametrize(
    "duration", ["", "P", "PT", "P1DT", "P1Y", "P1M", "PT0S", "P9999W", "PT1S\n", "PT٣S", "1s", 3]
)
def test_a_label_timeout_that_is_none_is_refused(client, duration):
    assert refused(client, label_timeout=duration)["errors"][0]["pointer"] == "/label_timeout"


@pytest.mark.parametrize("label", [2, -1, "1", 0.5])
def test_a_default_label_is_good_or_bad_or_null(client, label):
    assert refused(client, default_label=label)["errors"][0]["pointer"] == "/default_label"


@pytest.mark.parametrize(
    ("changes", "number"),
    [
        ({"states": {"kind": "discrete", "n": 2**31 - 1}}, "states"),
        ({"states": {"kind": "box", "low": [0], "high": [1], "bins": [10**9]}}, "states"),
        (
            {
                "states": {
                    "kind": "box",
                    "low": [0] * 40,
                    "high": [1] * 40,
                    "bins": [2**31 - 1] * 40,
                }
            },
            "states",
        ),
        ({"actions": {"kind": "discrete", "n": 2**31 - 1}}, "actions"),
        ({"actions": {"kind": "discrete", "n": 70_000}}, "actions"),
        ({"horizon": 2**31 - 1}, "horizon"),
        ({"horizon": 20_000_000, "states": {"kind": "discrete", "n": 1}}, "horizon"),
        ({"horizon": 90_000, "features": {"kind": "auto"}}, "horizon"),
        ({"horizon": 2000, "algorithm": {"kind": "thompson", "epsilon": 1e-6}}, "epsilon"),
    ],
)
def test_an_agent_too_large_to_plan_is_refused_with_the_number_to_lower(client, changes, number):
    detail = refused(client, "too_large", **changes)["detail"]
    advice = detail.partition("; ")[2]
    assert number in advice
    assert "lower" in advice or "raise" in advice


@pytest.mark.parametrize("path", ["horizon", "seed", "states.n", "actions.n"])
@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "1" + "0" * 400, "0.5", "-1", '"5"'])
def test_numbers_that_are_none_or_past_counting_are_refused(client, path, number):
    first, _, second = path.partition(".")
    marker = "here"
    body = LAKE | {first: marker if not second else LAKE[first] | {second: marker}}
    answer = client.post(
        "/v1/agents",
        content=json.dumps(body).replace('"here"', number),
        headers={"content-type": "application/json"},
    )
    problem = assert_problem(answer, 422)
    assert problem["errors"][0]["pointer"] == "/" + path.replace(".", "/")


@pytest.mark.parametrize(
    "values",
    [
        [],
        [1, 2],
        [[[1.0], [2.0]]] * 3,
        [[[1.0]]] * 4,
        [[[], []]] * 4,
        [[[[1.0], [2.0]]] * 4] * 4,
        [[[1.0], [2.0, 3.0]]] * 4,
        [[["1"], ["2"]]] * 4,
        [[[None], [2.0]]] * 4,
        [[[10**400], [2.0]]] * 4,
        "table",
    ],
)
def test_a_feature_table_of_the_wrong_shape_is_refused(client, values):
    problem = refused(client, features={"kind": "table", "values": values})
    assert problem["errors"][0]["pointer"] == "/features/values"


@pytest.mark.parametrize("shape", ["(S, A, d)", "(H, S, A, d)"])
def test_a_feature_table_is_over_states_and_actions_or_steps_too(client, shape):
    table = [[[float(s), float(a)] for a in range(2)] for s in range(4)]
    values = table if shape == "(S, A, d)" else [table] * 5
    agent = create_agent(client, features={"kind": "table", "values": values})
    play(client, start_episode(client, agent), [0, 1, 2, 3, 3], label=1)
    assert wait_learned(client, agent)["learning_error"] is None
    assert len(client.get(f"/v1/agents/{agent}/model").json()["weights"]) == 2


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"algorithm": {"kind": "oracle"}}, "/algorithm/kind"),
        ({"algorithm": {"kind": "thompson", "magic": 1}}, "/algorithm/magic"),
        ({"algorithm": {"kind": "thompson", "draws": 0}}, "/algorithm/draws"),
        ({"algorithm": {"kind": "thompson", "draws": "2"}}, "/algorithm/draws"),
        ({"algorithm": {"kind": "thompson", "epsilon": 1e-9}}, "/algorithm/epsilon"),
        ({"algorithm": ["thompson"]}, "/algorithm"),
        ({"features": {"kind": "magic"}}, "/features/kind"),
        ({"features": {"kind": "one_hot", "over": []}}, "/features/over"),
        ({"features": {"kind": "one_hot", "over": ["mood"]}}, "/features/over/0"),
        ({"features": {"kind": "one_hot", "over": ["state"], "steps": [5]}}, "/features/steps"),
        ({"features": {"kind": "one_hot", "over": ["state"], "steps": [-1]}}, "/features/steps"),
        (
            {
                "features": {
                    "kind": "one_hot",
                    "over": ["state"],
                    "steps": {"last": STEPS_PAST_COUNTING},
                }
            },
            "/features/steps/last",
        ),
        ({"states": {"kind": "sphere"}}, "/states/kind"),
        ({"states": {"kind": "labels", "values": []}}, "/states/values"),
        ({"states": {"kind": "labels", "values": ["a", "a"]}}, "/states"),
        ({"states": {"kind": "box", "low": [0], "high": [0], "bins": [1]}}, "/states"),
        ({"states": {"kind": "box", "low": ["0"], "high": [1], "bins": [1]}}, "/states/low/0"),
        ({"states": {"kind": "box", "low": [0], "high": [1], "bins": [1, 1]}}, "/states"),
        (
            {"states": {"kind": "box", "low": [0], "high": [1]}, "algorithm": {"kind": "thompson"}},
            "/states",
        ),
        ({"actions": {"kind": "box", "low": [0], "high": [1]}}, "/actions/kind"),
        ({"display": {"kind": "film"}}, "/display/kind"),
        ({"display": {"kind": "grid", "rows": 0, "cols": 2}}, "/display/rows"),
        ({"name": ""}, "/name"),
        ({"name": 3}, "/name"),
        ({"name": "x" * 201}, "/name"),
        ({"colour": "blue"}, "/colour"),
        ({"horizon": 0}, "/horizon"),
    ],
)
def test_what_nobody_knows_is_refused_where_it_stands(client, changes, pointer):
    assert refused(client, **changes)["errors"][0]["pointer"] == pointer
