"""Bodies: the key is checked before them, then their type and size; large ones leave the loop."""

import asyncio
import json
import socket
import threading

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from pydantic import BaseModel, field_validator

from app.api.http.json_body import LARGE_BODY, JsonRoute
from tests.api.routes.test_keys import create_key
from tests.support.running import LAKE, RunningServer, assert_problem, create_agent, start_episode

ADMIN_KEY = "an-admin-key-of-this-test"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with keys on, without learning."""
    folder = tmp_path_factory.mktemp("bodies")
    with RunningServer(folder, learning=False, PLAUDIT_ADMIN_KEY=ADMIN_KEY) as server:
        yield server


@pytest.fixture(scope="module")
def paths(server):
    """Every route that takes a body."""
    with server.client(ADMIN_KEY) as admin:
        agent = create_agent(admin)
        episode = start_episode(admin, agent, wait=False)
    return {
        "create": ("POST", "/v1/agents"),
        "change": ("PATCH", f"/v1/agents/{agent}"),
        "start": ("POST", f"/v1/agents/{agent}/episodes"),
        "step": ("POST", f"/v1/episodes/{episode}/steps"),
        "finish": ("POST", f"/v1/episodes/{episode}/finish"),
        "label": ("POST", f"/v1/episodes/{episode}/label"),
        "relabel": ("PUT", f"/v1/episodes/{episode}/label"),
        "steps": ("POST", "/v1/steps"),
        "import": ("POST", f"/v1/agents/{agent}/trajectories"),
        "key": ("POST", "/v1/keys"),
        "recording": ("PUT", f"/v1/episodes/{episode}/recording"),
        "desk": ("POST", "/label/next"),
    }


NAMES = [
    "create",
    "change",
    "start",
    "step",
    "finish",
    "label",
    "relabel",
    "steps",
    "import",
    "key",
    "recording",
    "desk",
]


def answer_to_headers(server, method, path, key, length):
    """The first line of the answer to a request whose body never comes."""
    address = httpx.URL(server.url)
    head = [
        f"{method} {path} HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        f"Content-Length: {length}",
        *([f"Authorization: Bearer {key}"] if key else []),
    ]
    with socket.create_connection((address.host, address.port), timeout=20) as connection:
        connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n")
        return int(connection.recv(4096).split()[1])


@pytest.mark.parametrize("name", NAMES)
def test_without_a_key_no_body_is_waited_for(server, paths, name):
    for length in (7_900_000, 10**12):
        assert answer_to_headers(server, *paths[name], None, length) == 401


@pytest.mark.parametrize("name", NAMES)
def test_with_the_wrong_role_neither(server, paths, name):
    with server.client(ADMIN_KEY) as admin:
        key = create_key(admin, "viewer")["secret"]
    assert answer_to_headers(server, *paths[name], key, 7_900_000) == 403


@pytest.mark.parametrize("name", NAMES)
def test_with_the_right_one_a_length_over_the_limit_is_enough(server, paths, name):
    assert answer_to_headers(server, *paths[name], ADMIN_KEY, 10**12) == 413


class TestMediaTypes:
    @pytest.mark.parametrize(
        "kind",
        [
            "application/json",
            "APPLICATION/JSON",
            "Application/Json; charset=utf-8",
            "application/json;charset=utf-8",
            "application/vnd.plaudit+json",
        ],
    )
    @pytest.mark.parametrize("name", ["create", "step"])
    def test_json_is_json(self, server, paths, name, kind):
        body = LAKE if name == "create" else {"state": 0}
        with server.client(ADMIN_KEY) as admin:
            answer = admin.request(
                *paths[name], content=json.dumps(body), headers={"Content-Type": kind}
            )
        assert answer.status_code in (200, 201), answer.text

    @pytest.mark.parametrize(
        "kind",
        [
            "application/jsonx",
            "application/json-seq",
            "application/x-json",
            "text/json",
            "text/plain; application/json",
            "multipart/form-data",
            "",
        ],
    )
    @pytest.mark.parametrize("name", [name for name in NAMES if name != "recording"])
    def test_nothing_else_is(self, server, paths, name, kind):
        with server.client(ADMIN_KEY) as admin:
            answer = admin.request(*paths[name], content=b"{}", headers={"Content-Type": kind})
        problem = assert_problem(answer, 415, "unsupported_media_type")
        assert "expected application/json" in problem["detail"]


class TestLargeBodies:
    """Parsed in a thread; what is wrong with them is told as for small ones."""

    @pytest.fixture
    def client(self):
        class Schema(BaseModel):
            text: str
            number: int = 0

            @field_validator("text")
            @classmethod
            def note(cls, text):
                seen.append(threading.current_thread() is threading.main_thread())
                return text

        seen = []
        router = APIRouter(route_class=JsonRoute)

        @router.post("/")
        async def post(body: Schema) -> int:
            return len(body.text)

        app = FastAPI()
        app.state.large_bodies = asyncio.Semaphore(1)
        app.include_router(router)
        app.openapi()

        async def send(body):
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                headers = {"Content-Type": "application/json"}
                return await client.post("/", content=body, headers=headers)

        return lambda body: (asyncio.run(send(body)), seen)

    @pytest.mark.parametrize(("length", "on_the_loop"), [(10, True), (2 * LARGE_BODY, False)])
    def test_where_they_are_parsed(self, client, length, on_the_loop):
        answer, seen = client(json.dumps({"text": "x" * length}))
        assert (answer.status_code, answer.json()) == (200, length)
        assert seen == [on_the_loop]

    @pytest.mark.parametrize("length", [10, 2 * LARGE_BODY])
    def test_what_is_wrong_is_told_alike(self, client, length):
        answer, _ = client(json.dumps({"text": "x" * length, "number": "many"}))
        assert answer.status_code == 422
        (error,) = answer.json()["detail"]
        assert (error["type"], error["loc"]) == ("int_parsing", ["body", "number"])
        answer, _ = client('{"text": "' + "x" * length)
        assert answer.status_code == 422
        assert answer.json()["detail"][0]["type"] == "json_invalid"

    def test_an_import_of_megabytes_works(self, server):
        with server.client(ADMIN_KEY) as admin:
            agent = create_agent(admin)
            trajectory = {"states": [0, 1, 2, 3, 3], "actions": [0, 1, 0, 1, 0], "label": 1}
            body = {"trajectories": [trajectory] * 20_000}
            answer = admin.post(f"/v1/agents/{agent}/trajectories", json=body)
            assert answer.status_code == 201, answer.text
            assert answer.json()["imported"] == 20_000
            body["trajectories"][-1] = trajectory | {"label": 2}
            answer = admin.post(f"/v1/agents/{agent}/trajectories", json=body)
            problem = assert_problem(answer, 422, "invalid_value")
            assert problem["errors"][0]["pointer"] == "/trajectories/19999/label"
