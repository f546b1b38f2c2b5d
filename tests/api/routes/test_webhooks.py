"""Webhooks over HTTP: what is sent when, signed and retried, from a server that may crash."""

import pytest

import plaudit
from tests.support.receiver import Receiver
from tests.support.running import (
    STATES,
    RunningServer,
    assert_problem,
    create_agent,
    play,
    start_episode,
    wait_learned,
    wait_until,
)

SETTINGS = {"PLAUDIT_WEBHOOK_PRIVATE_ADDRESSES": "true", "PLAUDIT_WEBHOOK_RETRY_SECONDS": "0.1"}
WANTED = ["label.wanted"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with RunningServer(tmp_path_factory.mktemp("webhooks"), **SETTINGS) as server:
        yield server


@pytest.fixture
def client(server):
    with server.client() as client:
        yield client
        for webhook in client.get("/v1/webhooks").json()["items"]:
            client.delete(f"/v1/webhooks/{webhook['id']}").raise_for_status()


@pytest.fixture
def receiver():
    with Receiver() as receiver:
        yield receiver


def create(client, url, events=WANTED, **body):
    answer = client.post("/v1/webhooks", json={"url": url, "events": events, **body})
    assert answer.status_code == 201, answer.text
    return answer.json()


def log_of(client, webhook):
    return client.get(f"/v1/webhooks/{webhook['id']}/deliveries").json()["items"]


def settled(client, webhook, count=1):
    """The log once ``count`` deliveries have ended."""

    def look():
        found = log_of(client, webhook)
        return found if sum(one["status"] != "pending" for one in found) >= count else None

    return wait_until(look)


def read(request, secret, **options):
    headers, body = request
    return plaudit.read_webhook_message(body, headers["Plaudit-Signature"], secret, **options)


def test_an_episode_that_waits_for_a_label_is_told_with_a_signature(client, receiver):
    webhook = create(client, receiver.url)
    agent = create_agent(client)
    episode = start_episode(client, agent)
    play(client, episode, STATES)
    [request] = receiver.wait(1)
    message = read(request, webhook["secret"])
    assert (message.type, message.agent, message.episode) == ("label.wanted", agent, episode)
    assert request[0]["Host"] == f"localhost:{receiver.port}"
    [delivery] = settled(client, webhook)
    assert delivery["id"] == message.id
    assert (delivery["status"], delivery["attempts"]) == ("delivered", 1)
    assert (delivery["response_status"], delivery["next_attempt_at"]) == (200, None)
    for wrong in ({"secret": "whsec_other"}, {"secret": webhook["secret"], "tolerance": -1}):
        with pytest.raises(plaudit.InvalidArgument):
            read(request, **wrong)
    with pytest.raises(plaudit.InvalidArgument):
        read((request[0], request[1] + b" "), webhook["secret"])


def test_an_episode_that_gets_its_label_with_its_end_wants_none(client, receiver):
    webhook = create(client, receiver.url)
    agent = create_agent(client)
    for label in (1, None):
        episode = start_episode(client, agent)
        play(client, episode, STATES[:2])
        body = {"state": 3} | ({} if label is None else {"label": label})
        client.post(f"/v1/episodes/{episode}/finish", json=body).raise_for_status()
    assert [one["episode"] for one in settled(client, webhook)] == [episode]


def test_an_import_and_a_withdrawn_label_want_labels_too(client, receiver):
    agent = create_agent(client)
    webhook = create(client, receiver.url, agent=agent)
    logged = [{"states": [0, 1], "actions": [0, 1], "label": label} for label in (1, None)]
    client.post(
        f"/v1/agents/{agent}/trajectories", json={"trajectories": logged}
    ).raise_for_status()
    assert [one["episode"].rpartition("_")[2] for one in settled(client, webhook)] == ["1"]
    first = f"{log_of(client, webhook)[0]['episode'].rpartition('_')[0]}_0"
    client.delete(f"/v1/episodes/{first}/label").raise_for_status()
    assert settled(client, webhook, 2)[0]["episode"] == first


def test_a_failed_delivery_is_sent_again(client, receiver):
    receiver.answers = [500, 302, 404]
    webhook = create(client, receiver.url)
    play(client, start_episode(client, create_agent(client)), STATES)
    requests = receiver.wait(4)
    assert len({body for _, body in requests}) == 1  # the same message, with the same id
    [delivery] = settled(client, webhook)
    assert (delivery["status"], delivery["attempts"]) == ("delivered", 4)
    assert delivery["error"] is None


def test_redirects_are_not_followed_and_the_log_says_so(client, receiver):
    receiver.answers = [307] * 50
    webhook = create(client, receiver.url)
    play(client, start_episode(client, create_agent(client)), STATES)
    receiver.wait(1)
    [delivery] = wait_until(lambda: [one for one in log_of(client, webhook) if one["error"]])
    assert delivery["error"] == "The answer was 307. Redirects are not followed."
    assert delivery["status"] == "pending"
    assert delivery["next_attempt_at"]


def test_policies_are_told_of_the_agent_that_was_chosen_alone(client, receiver):
    agent, other = create_agent(client), create_agent(client)
    webhook = create(client, receiver.url, ["policy.replaced", "warning"], agent=agent)
    for one in (other, agent):
        play(client, start_episode(client, one), STATES, label=1)
        wait_learned(client, one)
    message = read(receiver.wait(1)[0], webhook["secret"])
    assert (message.type, message.agent, message.episode) == ("policy.replaced", agent, None)
    version = client.get(f"/v1/agents/{agent}").json()["policy_version"]
    assert message.data == {"policy_version": version}
    assert {one["agent"] for one in log_of(client, webhook)} == {agent}


def test_a_rotated_secret_and_the_one_before_both_sign(client, receiver):
    webhook = create(client, receiver.url)
    rotated = client.post(f"/v1/webhooks/{webhook['id']}/secret").json()
    assert rotated["secret"] != webhook["secret"]
    assert rotated["old_secret_until"]
    play(client, start_episode(client, create_agent(client)), STATES)
    [request] = receiver.wait(1)
    for secret in (webhook["secret"], rotated["secret"]):
        assert read(request, secret).type == "label.wanted"
    assert "secret" not in client.get(f"/v1/webhooks/{webhook['id']}").json()


def test_webhooks_of_a_deleted_agent_go(client, receiver):
    receiver.answers = [500] * 50
    agent = create_agent(client)
    own, every = create(client, receiver.url, agent=agent), create(client, receiver.url)
    play(client, start_episode(client, agent), STATES)
    receiver.wait(1)
    client.delete(f"/v1/agents/{agent}").raise_for_status()
    assert [one["id"] for one in client.get("/v1/webhooks").json()["items"]] == [every["id"]]
    assert_problem(client.get(f"/v1/webhooks/{own['id']}"), 404)
    assert log_of(client, every) == []


def test_the_log_is_paged(client, receiver):
    webhook = create(client, receiver.url)
    agent = create_agent(client)
    logged = [{"states": [0], "actions": [0]} for _ in range(5)]
    client.post(
        f"/v1/agents/{agent}/trajectories", json={"trajectories": logged}
    ).raise_for_status()
    path, found, cursor = f"/v1/webhooks/{webhook['id']}/deliveries", [], {}
    while cursor is not None:
        page = client.get(path, params={"limit": 2, **cursor}).json()
        found += [one["episode"].rpartition("_")[2] for one in page["items"]]
        cursor = page["next"] and {"cursor": page["next"]}
    assert found == ["4", "3", "2", "1", "0"]


def test_a_retried_request_creates_one_webhook(client, receiver):
    body, headers = {"url": receiver.url, "events": WANTED}, {"Idempotency-Key": "hook-1"}
    first = client.post("/v1/webhooks", json=body, headers=headers).json()
    again = client.post("/v1/webhooks", json=body, headers=headers).json()
    assert first["secret"]
    assert again == first | {"secret": None}
    assert len(client.get("/v1/webhooks").json()["items"]) == 1


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"url": "ftp://localhost/x"}, "/url"),
        ({"url": "http:///x"}, "/url"),
        ({"url": "http://user:secret@localhost/x"}, "/url"),
        ({"url": "http://localhost/x#part"}, "/url"),
        ({"url": "http://localhost:99999/x"}, "/url"),
        ({"url": "http://localhost/a b"}, "/url"),
        ({"url": "nothing"}, "/url"),
        ({"url": "http://localhost/" + "x" * 2000}, "/url"),
        ({"events": []}, "/events"),
        ({"events": ["everything"]}, "/events/0"),
        ({"events": ["warning", "warning"]}, "/events"),
    ],
)
def test_bad_webhooks_are_refused(client, body, pointer):
    whole = {"url": "http://localhost/x", "events": WANTED} | body
    problem = assert_problem(client.post("/v1/webhooks", json=whole), 422)
    assert problem["errors"][0]["pointer"] == pointer
    assert client.get("/v1/webhooks").json()["items"] == []


def test_unknown_agents_and_webhooks_are_not_found(client):
    body = {"url": "http://localhost/x", "events": WANTED, "agent": "agt_0000000000"}
    assert_problem(client.post("/v1/webhooks", json=body), 404)
    for method, path in (
        ("GET", "/v1/webhooks/whk_0"),
        ("DELETE", "/v1/webhooks/whk_0"),
        ("POST", "/v1/webhooks/whk_0/secret"),
        ("GET", "/v1/webhooks/whk_0/deliveries"),
    ):
        assert_problem(client.request(method, path), 404)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1"])
def test_private_addresses_are_refused_by_default(shared_server, host):
    with shared_server.client() as client:
        body = {"url": f"http://{host}/x", "events": WANTED}
        problem = assert_problem(client.post("/v1/webhooks", json=body), 422)
        assert "private or link-local" in problem["detail"]


def test_a_host_that_cannot_be_found_is_in_the_log(client):
    webhook = create(client, "https://hooks.example/plaudit")
    play(client, start_episode(client, create_agent(client)), STATES)
    [delivery] = wait_until(lambda: [one for one in log_of(client, webhook) if one["error"]])
    assert delivery["error"] == "The host 'hooks.example' cannot be found."
    assert delivery["response_status"] is None


@pytest.mark.slow
def test_what_was_not_sent_before_a_crash_is_sent_after_it(start_server):
    with Receiver() as receiver:
        port = receiver.port
    server = start_server(**SETTINGS | {"PLAUDIT_WEBHOOK_RETRY_SECONDS": "0.5"})
    with server.client() as client:  # nobody listens
        webhook = create(client, f"http://127.0.0.1:{port}/")
        play(client, start_episode(client, create_agent(client)), STATES)
        wait_until(lambda: [one for one in log_of(client, webhook) if one["error"]])
    server.kill()
    server.start()
    with Receiver(port) as receiver:
        [request] = receiver.wait(1, seconds=60)
        assert read(request, webhook["secret"]).type == "label.wanted"
