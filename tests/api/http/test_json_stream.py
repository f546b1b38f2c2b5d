"""Large answers: the same JSON, encoded in small pieces beside the event loop."""

import asyncio
import json
import threading
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.http import json_stream
from app.api.http.json_stream import PIECE_BYTES, json_pieces, json_response
from app.wire.base import Answer

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e300, 1e300) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def encoded(document):
    return json.loads(b"".join(json_pieces(document)))


@given(PLAIN)
def test_any_document_is_the_same_json(document):
    assert encoded(document) == document


@pytest.mark.parametrize(
    "shape", [(), (0,), (3,), (20_000,), (0, 4), (9000, 2), (2, 9000), (30, 20, 40)]
)
def test_an_array_is_the_same_json_as_its_list(shape):
    array = np.random.default_rng(1).random(shape)
    assert encoded({"array": array, "after": 1}) == {"array": array.tolist(), "after": 1}


def test_models_times_and_numbers_that_are_not_finite_are_as_in_every_answer():
    class Found(Answer):
        at: datetime
        value: float

    found = Found(at=datetime(2026, 1, 2, tzinfo=UTC), value=float("nan"))
    expected = {"at": "2026-01-02T00:00:00Z", "value": None}
    assert encoded([found, found]) == [expected] * 2
    assert encoded(dict(found)) == expected


def test_pieces_are_small():
    pieces = list(json_pieces({"table": np.random.default_rng(1).random((100, 100, 30))}))
    assert len(pieces) > 20
    assert max(map(len, pieces)) < 3 * PIECE_BYTES


def test_everything_is_encoded_beside_the_loop(monkeypatch):
    """Also what is streamed later: the loop's thread encodes nothing."""
    threads = set()
    encode = json_stream.to_json

    def watched(*args, **options):
        threads.add(threading.get_ident())
        return encode(*args, **options)

    monkeypatch.setattr(json_stream, "to_json", watched)

    async def answer():
        response = await json_response({"table": np.zeros(500_000)})
        return [piece async for piece in response.body_iterator]

    pieces = asyncio.run(answer())
    assert len(json.loads(b"".join(pieces))["table"]) == 500_000
    assert threads
    assert threading.get_ident() not in threads


def test_a_small_answer_has_its_length():
    small, large = ({"table": np.zeros(length)} for length in (10, 500_000))

    async def lengths():
        return [(await json_response(d)).headers.get("content-length") for d in (small, large)]

    assert asyncio.run(lengths()) == [str(len(b"".join(json_pieces(small)))), None]
