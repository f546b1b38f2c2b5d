"""The description of the interface: its examples work, and it leaves nothing out."""

import json
import os
import re
import subprocess
from pathlib import Path

import httpx
import jsonschema_rs
import pytest

from app.agents import AGENT_KINDS
from tests.support.running import RunningServer, play, start_episode

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
PROBLEM = "application/problem+json"


@pytest.fixture(scope="module")
def document(shared_server):
    with shared_server.client() as client:
        return client.get("/openapi.json").json()


def operations(document):
    return {
        operation["operationId"]: (method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def test_operations_have_clean_names_summaries_and_known_tags(document):
    count = sum(len(methods) for methods in document["paths"].values())
    named = operations(document)
    assert len(named) == count  # no name twice
    assert {"create_agent", "start_episode", "take_step", "give_label", "read_policy"} <= set(named)
    tags = {tag["name"] for tag in document["tags"]}
    for name, (_, _, operation) in named.items():
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", name)
        assert operation["tags"][0] in tags
        assert operation["summary"]
        assert operation["description"]


def test_every_parameter_is_described(document):
    for name, (_, _, operation) in operations(document).items():
        for parameter in operation.get("parameters", []):
            assert parameter.get("description"), (name, parameter["name"])


def test_every_field_of_every_body_is_described(document):
    fields = [
        (name, field, part)
        for name, schema in document["components"]["schemas"].items()
        for field, part in schema.get("properties", {}).items()
    ]
    assert len(fields) > 150
    assert [(name, field) for name, field, part in fields if not part.get("description")] == []


def test_every_agent_kind_and_option_is_in_the_schema(document):
    schemas = document["components"]["schemas"]
    mapping = _kinds(schemas)
    assert set(mapping) == set(AGENT_KINDS)
    for kind, options in AGENT_KINDS.items():
        shown = schemas[mapping[kind].rpartition("/")[2]]["properties"]
        assert set(shown) == set(options.model_fields)


def _kinds(schemas):
    """The schema of every agent kind's options."""
    _, options = schemas["NewAgent"]["properties"]["algorithm"]["anyOf"]
    return options["discriminator"]["mapping"]


def test_every_reference_leads_somewhere(document):
    names = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
    assert names <= set(document["components"]["schemas"])


def test_every_problem_is_declared_as_one(document):
    for name, (_, _, operation) in operations(document).items():
        for status, response in operation["responses"].items():
            if status >= "400" and name != "read_readiness":
                content = response["content"][PROBLEM]
                assert content["schema"] == {"$ref": "#/components/schemas/Problem"}, name
                assert content["example"]["status"] == int(status)


def test_whatever_needs_a_key_says_so(document):
    assert document["components"]["securitySchemes"]["Bearer"]["scheme"] == "bearer"
    open_to_all = {
        name
        for name, (_, _, operation) in operations(document).items()
        if operation.get("security") != [{"Bearer": []}]
    }
    assert open_to_all == {"read_health", "read_readiness"}


def test_the_keys_that_the_document_asks_for_are_asked_for(document, start_server):
    server = start_server(PLAUDIT_ADMIN_KEY="a-key-of-sixteen-characters")
    with server.client() as client:
        for name, (method, path, operation) in operations(document).items():
            example = _request_example(operation)
            answer = client.request(method, _filled(path, AGENT, EPISODE), json=example)
            if "security" in operation:
                assert answer.status_code == 401, name
                assert answer.headers["www-authenticate"] == "Bearer"
                assert answer.headers["content-type"] == PROBLEM
            else:
                assert answer.status_code in (200, 503), name


AGENT, EPISODE, KEY = "agt_0123456789", "eps_0123456789_0", "key_0123456789abcdef"


def _filled(path, agent, episode):
    return path.format(agent=agent, episode=episode, key=KEY, version=0, webhook="whk_0")


def _request_example(operation):
    content = operation.get("requestBody", {}).get("content", {})
    return content["application/json"]["example"] if "application/json" in content else None


def test_every_example_of_a_request_works_when_pasted(document, client):
    agent = _create(document, client)
    tried = 0
    for name, (method, path, operation) in operations(document).items():
        if _request_example(operation) is None:
            continue
        if name == "change_agent":  # it pauses the agent: one of its own
            path = _filled(path, _create(document, client), None)
        episode = start_episode(client, agent, wait=False)
        if "label" in name:
            play(client, episode, [0])
            client.post(f"/v1/episodes/{episode}/finish").raise_for_status()
        text = (
            json.dumps(_request_example(operation)).replace(EPISODE, episode).replace(AGENT, agent)
        )
        answer = client.request(
            method,
            _filled(path, agent, episode),
            content=text,
            headers={"Content-Type": "application/json"},
        )
        assert answer.is_success, (name, answer.text)
        assert '"problem"' not in answer.text
        assert str(answer.status_code) in operation["responses"]
        tried += 1
    with_bodies = [op for *_, op in operations(document).values() if _request_example(op)]
    assert tried == len(with_bodies) > 10


def _create(document, client):
    _, path, operation = operations(document)["create_agent"]
    answer = client.post(path, json=_request_example(operation))
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def test_every_body_has_an_example_that_fits_its_schema(document):
    bodies = 0
    for name, (_, _, operation) in operations(document).items():
        answers = [part.get("content", {}) for part in operation["responses"].values()]
        for content in [operation.get("requestBody", {}).get("content", {}), *answers]:
            for kind, body in content.items():
                assert "example" in body, (name, kind)
                schema = body.get("schema", {}) | {"components": document["components"]}
                assert jsonschema_rs.Draft202012Validator(schema).is_valid(body["example"]), (
                    name,
                    kind,
                )
                bodies += 1
    assert bodies > 150


def test_every_example_of_a_field_fits_the_field(document):
    for name, schema in document["components"]["schemas"].items():
        for field, part in schema.get("properties", {}).items():
            for example in part.get("examples", []):
                rule = part | {"components": document["components"]}
                assert jsonschema_rs.Draft202012Validator(rule).is_valid(example), (name, field)


@pytest.mark.parametrize("kind", AGENT_KINDS)
def test_an_option_of_the_wrong_type_is_refused(client, document, kind):
    schemas = document["components"]["schemas"]
    mapping = _kinds(schemas)
    options = schemas[mapping[kind].rpartition("/")[2]]["properties"]
    _, path, operation = operations(document)["create_agent"]
    for option in options.keys() - {"kind"}:
        for wrong in ({}, [], True, "1"):
            body = _request_example(operation) | {"algorithm": {"kind": kind, option: wrong}}
            answer = client.post(path, json=body)
            if jsonschema_rs.Draft202012Validator(options[option]).is_valid(wrong):
                continue
            assert answer.status_code == 422, (option, wrong, answer.text)
            assert answer.json()["errors"][0]["pointer"].startswith("/algorithm")


def test_a_method_that_a_path_does_not_take_is_told_which_it_does(client):
    for path, allowed in {
        "/v1/agents": "GET, HEAD, POST",
        f"/v1/agents/{AGENT}": "GET, HEAD, PATCH, DELETE",
        f"/v1/episodes/{EPISODE}/label": "POST, PUT, DELETE",
        "/healthz": "GET, HEAD",
    }.items():
        answer = client.options(path)
        assert answer.status_code == 405
        assert answer.headers["allow"] == allowed
        assert answer.headers["content-type"] == PROBLEM


def test_a_slash_too_many_is_not_found(client):
    answer = client.get("/v1/agents/")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == PROBLEM


@pytest.fixture(scope="module")
def deep_server(tmp_path_factory):
    """A server that a proxy serves under a path."""
    folder = tmp_path_factory.mktemp("deep")
    with RunningServer(folder, PLAUDIT_ROOT_PATH="/deep/plaudit") as server:
        yield server


@pytest.fixture(scope="module", params=["shared_server", "deep_server"])
def manual_url(request):
    return f"{request.getfixturevalue(request.param).url}/docs"


def test_the_manual_takes_every_file_from_its_own_server(manual_url):
    page = httpx.get(manual_url)
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "http" not in policy  # the browser may ask no other server
    links = re.findall(r'(?:src|href)="(?!data:)([^"]+)"', page.text)
    assert len(links) == 3
    for link in links:
        assert ":" not in link
        assert httpx.get(httpx.URL(manual_url).join(link)).status_code == 200
    assert httpx.get(f"{manual_url}/nothing.js").status_code == 404


def test_the_manual_renders_in_a_browser(manual_url, tmp_path):
    if not CHROMIUM.exists():
        assert os.environ.get("CI") != "true", f"CI needs a browser at {CHROMIUM}"
        pytest.skip(f"NOT CHECKED: there is no browser at {CHROMIUM}")
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=30000",
        "--dump-dom",
    ]
    shown = subprocess.run(
        [CHROMIUM, *options, "--dump-dom", f"--user-data-dir={tmp_path}", manual_url],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    ).stdout
    assert "Create an agent" in shown
    assert 'id="operations-labels-give_label"' in shown
    assert "Authorize" in shown
    assert "Failed to load" not in shown


def test_what_is_created_under_a_path_is_found_there(deep_server, document):
    root = deep_server.url.removesuffix("/deep/plaudit")
    _, path, operation = operations(document)["create_agent"]
    answer = httpx.post(f"{deep_server.url}{path}", json=_request_example(operation))
    place = answer.headers["location"]
    assert place.startswith("/deep/plaudit/v1/agents/agt_")
    assert httpx.get(f"{root}{place}").json()["id"] == answer.json()["id"]
    servers = httpx.get(f"{deep_server.url}/openapi.json").json()["servers"]
    assert servers == [{"url": "/deep/plaudit"}]
