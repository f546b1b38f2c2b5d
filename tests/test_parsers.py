"""Every parser of untrusted text or bytes: any input gives a value or the error for bad input."""

import json
import string
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from app.agents.insight import unpack_insight
from app.api.http.parameters import read_cursor
from app.api.routes.insights import _event_number
from app.api.routes.recordings import _part
from app.errors import InvalidValue, NotFound, SnapshotError
from app.learning.arrays import pack_arrays, unpack_arrays
from app.planning.policies.registry import unpack_policy
from app.service.agents.specification import read_specification
from app.service.episodes.media_types import MEDIA_TYPES, media_type_of
from app.service.runtime.ids import (
    agent_id,
    episode_id,
    read_agent_id,
    read_episode_id,
)
from app.web.pages.sessions import device_name
from app.wire.base import LONGEST_SECONDS, duration_seconds

TEXTS = st.text() | st.text(string.digits + "PTWDHMS.-_=,") | st.from_regex(r"[a-z]{3}_.*")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(TEXTS)
def test_durations(text):
    with suppress(ValueError):
        assert 0 < duration_seconds(text) <= LONGEST_SECONDS


@given(TEXTS, st.integers(1, 3))
def test_cursors(text, parts):
    with suppress(InvalidValue):
        assert len(read_cursor(text, parts)) == parts


@given(TEXTS)
def test_ids(text):
    for read, write in ((read_agent_id, agent_id), (read_episode_id, episode_id)):
        try:
            found = read(text)
        except NotFound:
            continue
        again = write(*found) if isinstance(found, tuple) else write(found)
        assert read(again) == found


@given(TEXTS)
def test_event_numbers(text):
    with suppress(InvalidValue):
        assert _event_number(text) >= 0


@given(TEXTS | st.from_regex(r"bytes=[0-9]*-[0-9]*"), st.integers(1, 10**12))
def test_ranges(text, size):
    with suppress(HTTPException):  # 416
        part = _part(text, size)
        assert part is None or 0 <= part.start < part.stop <= size


@given(st.binary(max_size=200))
def test_media_types(content):
    assert media_type_of(content) in (None, *MEDIA_TYPES)


@given(st.text())
def test_names_of_devices(text):
    assert 0 < len(device_name(text)) <= 80


@pytest.mark.parametrize("unpack", [unpack_policy, unpack_insight])
@given(content=st.binary(max_size=300))
def test_packed_bytes(unpack, content):
    for packed in (content, b"plaudit\x01" + content):
        with pytest.raises(SnapshotError):
            unpack(packed)


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_every_flipped_byte_of_packed_arrays_is_noticed(place, flip):
    packed = bytearray(pack_arrays({}))
    packed[place % len(packed)] ^= flip
    with pytest.raises(SnapshotError):
        unpack_arrays(bytes(packed), "test")


@given(st.dictionaries(st.sampled_from(["states", "actions", "horizon", "algorithm"]), JSON))
def test_specifications(document):
    with suppress(InvalidValue):  # nothing else is raised
        read_specification(document)


def test_the_bill_of_materials_names_every_pinned_package():
    root = Path(__file__).parents[1]
    printed = subprocess.run(
        [sys.executable, root / ".ci" / "sbom.py"],
        capture_output=True,
        check=True,
    )
    document = json.loads(printed.stdout)
    assert (document["bomFormat"], document["metadata"]["component"]["name"]) == (
        "CycloneDX",
        "plaudit",
    )
    found = {part["purl"] for part in document["components"]}
    pins = [line.split("==") for line in (root / "requirements.lock").read_text().split()]
    wanted = {
        f"pkg:pypi/{name.lower().replace('_', '-').replace('.', '-')}@{v}" for name, v in pins
    }
    assert wanted <= found
