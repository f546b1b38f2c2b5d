"""JSON lines in, labels out, and answers that travel compressed."""

import csv
import gzip
import io
import json

import pytest
import zstandard

from tests.support.running import (
    STATES,
    assert_problem,
    create_agent,
    play,
    start_episode,
    wait_learned,
)

LINES = {"Content-Type": "application/x-ndjson"}
GOOD = {"states": [0, 1, 3], "actions": [0, 1], "label": 1}


def post(client, agent, content, **headers):
    return client.post(f"/v1/agents/{agent}/trajectories", content=content, headers=LINES | headers)


def lines(episodes):
    return "".join(json.dumps(episode) + "\n" for episode in episodes)


def counts(client, agent):
    return client.get(f"/v1/agents/{agent}").json()["episodes"]


def test_lines_are_imported_like_a_list(client):
    listed, lined = create_agent(client), create_agent(client)
    episodes = [GOOD | {"label": i % 2, "external_id": f"run-{i}"} for i in range(20)]
    client.post(
        f"/v1/agents/{listed}/trajectories", json={"trajectories": episodes}
    ).raise_for_status()
    answer = post(client, lined, lines(episodes) + "\n\n")
    assert answer.status_code == 201
    assert answer.json()["imported"] == 20
    models = []
    for agent in (listed, lined):
        wait_learned(client, agent)
        model = client.get(f"/v1/agents/{agent}/model").json()
        models.append({name: model[name] for name in ("weights", "visits", "transitions")})
        exported = client.get(f"/v1/agents/{agent}/export").text.splitlines()
        assert [json.loads(line)["external_id"] for line in exported] == [
            f"run-{i}" for i in range(20)
        ]
    assert models[0] == models[1]
    assert counts(client, lined)["labelled"] == 20


def test_an_export_can_be_imported_as_it_is(client):
    source, target = create_agent(client), create_agent(client)
    for label in (1, 0):
        play(client, start_episode(client, source), STATES, label)
    wait_learned(client, source)
    exported = client.get(f"/v1/agents/{source}/export").content
    assert post(client, target, exported).json()["imported"] == 2
    assert counts(client, target) == counts(client, source)


def test_an_import_may_be_longer_than_a_body_may_be(start_server):
    server = start_server(PLAUDIT_BODY_BYTES=20_000)
    with server.client() as client:
        agent = create_agent(client)
        content = lines([GOOD] * 3000)
        assert len(content) > 5 * 20_000

        def chunks():  # without a Content-Length
            for place in range(0, len(content), 7001):
                yield content[place : place + 7001].encode()

        assert post(client, agent, chunks()).json()["imported"] == 3000
        assert post(client, agent, content).json()["imported"] == 3000
        wait_learned(client, agent)
        assert counts(client, agent)["labelled"] == 6000
        long = lines([GOOD | {"metadata": {"note": "x" * 600_000}}])
        # Which of the two limits is met first depends on how the bytes arrive.
        assert post(client, agent, long).status_code in (413, 422)
        assert counts(client, agent)["labelled"] == 6000


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("{'states': [0]}", "line 8: expected valid JSON"),
        ('{"states": [9], "actions": [0]}', "line 8.states.0: expected a whole number from 0 to 3"),
        ('{"states": [0]}', "line 8.actions: expected a value; it is missing"),
        ("[1, 2]", "line 8: expected an object"),
        ('{"states": [0], "actions": [0], "label": 2}', "line 8.label: expected 1 or true"),
    ],
)
def test_a_bad_line_in_the_middle_is_named_and_nothing_is_imported(client, bad, words):
    agent = create_agent(client)
    good = lines([GOOD] * 7)
    problem = assert_problem(post(client, agent, good + bad + "\n" + good), 422, "invalid_value")
    assert problem["detail"].startswith(words)
    assert sum(counts(client, agent).values()) == 0
    assert client.get(f"/v1/agents/{agent}/export").text == ""
    episode = start_episode(client, agent)
    assert client.get(f"/v1/episodes/{episode}").json()["number"] == 0


def test_no_lines_are_refused_and_a_retry_imports_once(client):
    agent = create_agent(client)
    assert_problem(post(client, agent, "\n \n"), 422, "invalid_value")
    content = lines([GOOD] * 3)
    first = post(client, agent, content, **{"Idempotency-Key": "one"}).json()
    again = post(client, agent, content, **{"Idempotency-Key": "one"}).json()
    assert (first["first"], first["last"]) == (again["first"], again["last"])
    assert counts(client, agent)["labelled"] == 3
    other = post(client, agent, lines([GOOD]), **{"Idempotency-Key": "one"})
    assert_problem(other, 409, "idempotency_key_reused")


def test_labels_alone_are_exported_and_no_cell_is_a_formula(client):
    agent = create_agent(client, labels_wanted=2)
    episode = start_episode(client, agent, external_id="=1+1")
    play(client, episode, STATES)
    where = f"/v1/episodes/{episode}/label"
    client.post(where, json={"label": 1, "labeller": "Ada", "comment": '=HYPERLINK("x")'})
    client.post(where, json={"label": "cannot_tell", "labeller": "@Bob", "reason": "dark, wet"})
    unlabelled = start_episode(client, agent)
    play(client, unlabelled, STATES)
    answer = client.get(f"/v1/agents/{agent}/labels")
    assert answer.headers["content-type"] == "application/x-ndjson"
    found = [json.loads(line) for line in answer.text.splitlines()]
    given = [(one["label"], one["labeller"]) for one in found]
    assert given == [(1, "Ada"), ("cannot_tell", "@Bob")]
    assert found[0]["episode"] == episode
    assert found[0]["comment"] == '=HYPERLINK("x")'
    answer = client.get(f"/v1/agents/{agent}/labels", params={"format": "csv"})
    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["label"] for row in rows] == ["1", "cannot_tell"]
    assert rows[1]["comment"] == "dark, wet"
    cells = [cell for row in rows for cell in row.values()]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert rows[0]["comment"] == '\'=HYPERLINK("x")'
    assert_problem(
        client.get(f"/v1/agents/{agent}/labels", params={"format": "xls"}), 422, "invalid_value"
    )


@pytest.fixture(scope="module")
def large(shared_server):
    with shared_server.client() as client:
        agent = create_agent(client, horizon=100)
        wait_learned(client, agent)
        return agent


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip", "gzip"),
        ("zstd", "zstd"),
        ("gzip, zstd", "zstd"),
        ("gzip;q=1, zstd;q=0.5", "gzip"),
        ("*", "zstd"),
        ("gzip;q=0", None),
        ("br", None),
        ("gzip;q=much", None),
        ("", None),
    ],
)
def test_large_answers_are_compressed_as_the_client_accepts(client, large, accepted, encoding):
    where = f"/v1/agents/{large}/policy"
    plain = client.get(where, headers={"Accept-Encoding": "identity"})
    with client.stream("GET", where, headers={"Accept-Encoding": accepted}) as answer:
        content = b"".join(answer.iter_raw())
    assert answer.headers.get("content-encoding") == encoding
    assert "Accept-Encoding" in answer.headers["vary"]
    if encoding == "gzip":
        content = gzip.decompress(content)
    if encoding == "zstd":
        content = zstandard.ZstdDecompressor().decompressobj().decompress(content)
    assert content == plain.content
    tag = answer.headers["etag"]
    assert tag.startswith("W/") == (encoding is not None)
    assert client.get(where, headers={"If-None-Match": tag}).status_code == 304


def test_streams_are_compressed_and_small_answers_are_not(client, large):
    post(client, large, lines([GOOD] * 50)).raise_for_status()
    answer = client.get(f"/v1/agents/{large}/export", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert len(answer.text.splitlines()) == 50
    small = client.get("/healthz", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in small.headers


def test_steps_and_events_are_never_compressed(client, large):
    """Compression is a part of the routes that read; a step does not even come near it."""
    episode = start_episode(client, large, wait=False)
    answer = client.post(
        f"/v1/episodes/{episode}/steps", json={"state": 0}, headers={"Accept-Encoding": "gzip"}
    )
    assert "content-encoding" not in answer.headers
    assert "vary" not in answer.headers
    stream = client.stream("GET", f"/v1/agents/{large}/events", headers={"Accept-Encoding": "gzip"})
    with stream as events:
        assert "content-encoding" not in events.headers
