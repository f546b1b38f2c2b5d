"""Recordings: stored as they are, told by their content, served in parts, gone with their agent."""

import httpx
import pytest

from app.service.runtime.ids import read_agent_id
from tests.support.databases import execute
from tests.support.running import (
    RunningServer,
    assert_problem,
    create_agent,
    play,
    start_episode,
    wait_until,
)

LARGEST = 9_000_000
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
FILES = {
    "image/png": PNG,
    "image/jpeg": b"\xff\xd8\xff\xe0" + b"j" * 50,
    "image/gif": b"GIF89a" + b"g" * 50,
    "image/webp": b"RIFF\x20\0\0\0WEBPVP8 " + b"w" * 50,
    "video/mp4": b"\0\0\0\x20ftypisom" + b"m" * 50,
    "video/webm": b"\x1a\x45\xdf\xa3\x9f\x42\x82\x84webm" + b"v" * 50,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server whose recordings may be larger than other bodies."""
    folder = tmp_path_factory.mktemp("recordings")
    with RunningServer(folder, PLAUDIT_RECORDING_BYTES=LARGEST) as server:
        yield server


@pytest.fixture
def client(server):
    with server.client() as client:
        yield client


@pytest.fixture(scope="module")
def agent(server):
    with server.client() as client:
        return create_agent(client)


@pytest.fixture
def address(client, agent):
    episode = start_episode(client, agent, wait=False)
    play(client, episode, [0])
    return f"/v1/episodes/{episode}/recording"


@pytest.mark.parametrize("kind", FILES)
def test_a_recording_comes_back_as_it_was_and_as_what_it_is(client, address, kind):
    stored = client.put(address, content=FILES[kind], headers={"Content-Type": "text/html"})
    assert stored.status_code == 200
    assert stored.json()["media_type"] == kind
    assert stored.json()["size"] == len(FILES[kind])
    answer = client.get(address)
    assert answer.content == FILES[kind]
    assert answer.headers["content-type"] == kind
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    again = client.get(address, headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<script>alert(1)</script>",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"\x1a\x45\xdf\xa3 matroska",
        b"%PDF-1.7",
    ],
)
def test_what_is_no_picture_and_no_video_is_refused(client, address, content):
    answer = client.put(address, content=content, headers={"Content-Type": "image/png"})
    assert "image/png" in assert_problem(answer, 422)["detail"]
    assert_problem(client.get(address), 404)


@pytest.mark.parametrize(
    ("wanted", "first", "stop"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=10-19", 10, 20),
        ("bytes=1000-", 1000, len(PNG)),
        ("bytes=-5", len(PNG) - 5, len(PNG)),
        ("bytes=-999999", 0, len(PNG)),
        ("bytes=5-999999", 5, len(PNG)),
    ],
)
def test_a_part_is_served(client, address, wanted, first, stop):
    client.put(address, content=PNG).raise_for_status()
    answer = client.get(address, headers={"Range": wanted})
    assert answer.status_code == 206
    assert answer.content == PNG[first:stop]
    assert answer.headers["content-range"] == f"bytes {first}-{stop - 1}/{len(PNG)}"


@pytest.mark.parametrize("wanted", ["bytes=9-5", "bytes=0-1,4-5", "pages=1-2", "bytes=-", "x"])
def test_what_is_no_range_is_answered_with_everything(client, address, wanted):
    client.put(address, content=PNG).raise_for_status()
    answer = client.get(address, headers={"Range": wanted})
    assert (answer.status_code, answer.content) == (200, PNG)


@pytest.mark.parametrize("wanted", [f"bytes={len(PNG)}-", "bytes=99999-99999", "bytes=-0"])
def test_bytes_that_are_not_there_are_refused(client, address, wanted):
    client.put(address, content=PNG).raise_for_status()
    answer = client.get(address, headers={"Range": wanted})
    assert_problem(answer, 416)
    assert answer.headers["content-range"] == f"bytes */{len(PNG)}"


def test_a_range_of_a_recording_that_was_replaced_is_answered_with_all_of_the_new_one(
    client, address
):
    client.put(address, content=PNG).raise_for_status()
    old = client.get(address).headers["etag"]
    client.put(address, content=FILES["image/gif"]).raise_for_status()
    answer = client.get(address, headers={"Range": "bytes=0-3", "If-Range": old})
    assert (answer.status_code, answer.content) == (200, FILES["image/gif"])


def test_a_recording_may_be_larger_than_other_bodies_but_not_larger_than_its_own_limit(
    client, address
):
    large = PNG + bytes(LARGEST - len(PNG))
    assert len(large) > 8_000_000  # what other bodies may have
    client.put(address, content=large).raise_for_status()
    assert client.get(address).content == large
    answer = client.put(address, content=large + b"\0")
    assert "PLAUDIT_RECORDING_BYTES" in assert_problem(answer, 413)["detail"]
    pieces = (PNG + b"\0" * 1_000_000 for _ in range(10))  # of a length that nobody said
    assert (
        "PLAUDIT_RECORDING_BYTES"
        in assert_problem(client.put(address, content=pieces), 413)["detail"]
    )


def test_it_can_be_removed_once(client, address):
    client.put(address, content=PNG).raise_for_status()
    assert client.delete(address).status_code == 204
    assert_problem(client.get(address), 404)
    assert_problem(client.delete(address), 404)


def test_an_episode_that_is_not_there_has_none(client):
    for method in ("PUT", "GET", "DELETE"):
        answer = client.request(method, "/v1/episodes/eps_0000000000_0/recording", content=PNG)
        assert_problem(answer, 404)


def test_the_content_is_a_file_beside_the_database(client, server, address):
    client.put(address, content=PNG + b"found in a file").raise_for_status()
    folder = server.folder / "plaudit.db.recordings"
    assert any(path.read_bytes().endswith(b"found in a file") for path in folder.glob("*/*"))


def test_it_goes_with_its_agent(client, server):
    agent = create_agent(client)
    episode = start_episode(client, agent, wait=False)
    address = f"/v1/episodes/{episode}/recording"
    client.put(address, content=PNG + b"a mark to be found").raise_for_status()
    client.delete(f"/v1/agents/{agent}").raise_for_status()
    assert httpx.get(server.url + address).status_code == 404
    wait_until(lambda: _rows(server, agent) == 0)
    folder = server.folder / "plaudit.db.recordings"
    assert not (folder / str(read_agent_id(agent))).exists()


def _rows(server, agent):
    """Rows of an agent's recordings, read beside the server."""
    count = "SELECT count(*) FROM recordings WHERE agent = :agent"
    return execute(server.folder, count, agent=read_agent_id(agent))[0][0]
