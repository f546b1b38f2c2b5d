"""Spaces: what clients send, and the index it becomes."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.errors import InvalidValue
from app.service.agents.spaces import action_codec, state_codec
from app.wire.specification.spaces import Box, Discrete, Labels

NUMBERS = st.floats(-1e6, 1e6)


@given(st.integers(1, 100), st.data())
def test_a_discrete_value_is_its_own_index(n, data):
    codec = action_codec(Discrete(n=n))
    value = data.draw(st.integers(0, n - 1))
    assert codec.size == n
    assert codec.decode(codec.encode(value, "state")) == value


@pytest.mark.parametrize("value", [-1, 4, 10**30, 1.0, True, "1", None, [1], math.nan])
def test_what_is_no_index_is_refused_by_name(value):
    with pytest.raises(InvalidValue, match="state: expected a whole number from 0 to 3"):
        action_codec(Discrete(n=4)).encode(value, "state")


def test_labels_are_indexed_in_their_order():
    codec = action_codec(Labels(values=("kitchen", "hall", "")))
    assert [codec.encode(name, "state") for name in ("kitchen", "hall", "")] == [0, 1, 2]
    assert [codec.decode(i) for i in range(codec.size)] == ["kitchen", "hall", ""]


@pytest.mark.parametrize("value", ["Kitchen", "kitchen ", 0, None, ["kitchen"]])
def test_an_unknown_name_is_refused_with_those_there_are(value):
    with pytest.raises(InvalidValue, match="one of the names 'kitchen', 'hall'"):
        action_codec(Labels(values=("kitchen", "hall"))).encode(value, "state")


def test_a_name_twice_is_refused():
    with pytest.raises(ValidationError, match="all different"):
        Labels(values=("hall", "hall"))


@st.composite
def boxes(draw):
    size = draw(st.integers(1, 3))
    low = draw(st.lists(NUMBERS, min_size=size, max_size=size))
    width = draw(st.lists(st.floats(1e-3, 1e6), min_size=size, max_size=size))
    bins = draw(st.lists(st.integers(1, 6), min_size=size, max_size=size))
    return Box(low=low, high=[a + b for a, b in zip(low, width, strict=True)], bins=bins)


@given(boxes())
def test_every_bin_is_found_from_its_middle(box):
    codec = state_codec(box)
    assert codec.size == math.prod(box.bins)
    for index in range(codec.size):
        assert codec.encode(codec.decode(index), "state") == index


@given(boxes(), st.data())
def test_an_observation_lies_in_its_bin_and_outside_ones_at_the_edge(box, data):
    value = [data.draw(NUMBERS) for _ in box.low]
    codec = state_codec(box)
    middle = codec.decode(codec.encode(value, "state"))
    for x, m, low, high, bins in zip(value, middle, box.low, box.high, box.bins, strict=True):
        width = (high - low) / bins
        assert abs(min(max(x, low), high) - m) <= 0.5 * width * (1 + 1e-6) + 1e-9 * abs(x)


def test_bins_are_numbered_with_the_last_dimension_fastest():
    box = state_codec(Box(low=(0, 0), high=(2, 3), bins=(2, 3)))
    order = [box.encode([x + 0.5, y + 0.5], "state") for x in range(2) for y in range(3)]
    assert order == [0, 1, 2, 3, 4, 5]
    assert box.encode([2, 3], "state") == 5  # the upper edge belongs to the last bin
    assert box.encode([1, 0], "state") == 3  # a border belongs to the bin above it
    assert box.encode([-1e300, 1e300], "state") == 2


@pytest.mark.parametrize(
    "value",
    [
        *([1.0], [1.0, 2.0, 3.0], [math.nan, 0.0], [math.inf, 0.0], [10**400, 0], ["1", 0]),
        *([True, 0], None, 3, "ab", {"x": 1}, [[1.0], [2.0]]),
    ],
)
def test_an_observation_that_cannot_be_one_is_refused(value):
    with pytest.raises(InvalidValue, match="state: expected a list of 2 finite numbers"):
        state_codec(Box(low=(0, 0), high=(1, 1), bins=(2, 2))).encode(value, "state")


@pytest.mark.parametrize(
    "bounds",
    [
        {"low": [0], "high": [0], "bins": [2]},
        {"low": [1], "high": [0], "bins": [2]},
        {"low": [0], "high": [1, 2], "bins": [2]},
        {"low": [0], "high": [1], "bins": [2, 2]},
        {"low": [0], "high": [1], "bins": [0]},
        {"low": [-1e308], "high": [1e308], "bins": [2]},
        {"low": [math.nan], "high": [1], "bins": [2]},
        {"low": ["0"], "high": [1], "bins": [2]},
        {"low": [], "high": [], "bins": []},
    ],
)
def test_bounds_that_make_no_box_are_refused(bounds):
    with pytest.raises(ValidationError):
        Box.model_validate(bounds)
