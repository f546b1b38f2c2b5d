"""Lists of agents leave out most of long lists, and name them."""

from hypothesis import given
from hypothesis import strategies as st

from app.service.views.shortened import MOST_ENTRIES, shorten


def leaves(value):
    return sum(map(leaves, value)) if isinstance(value, list) else 1


def test_what_is_short_stays():
    given_ = {"states": {"kind": "labels", "values": ["a"] * MOST_ENTRIES}, "seed": 7, "none": None}
    assert shorten(given_) == (given_, [])


def test_long_lists_are_cut_and_named():
    names = [f"room {i}" for i in range(5000)]
    table = [[[1.0, 2.0]] * 4] * 1000
    given_ = {
        "states": {"kind": "labels", "values": names},
        "features": {"kind": "table", "values": table},
        "initial_states": list(range(101)),
    }
    short, cut = shorten(given_)
    assert cut == ["states.values", "features.values", "initial_states"]
    assert short["states"]["values"] == names[:100]
    assert short["initial_states"] == list(range(100))
    assert short["features"]["values"][0] == table[0]
    assert leaves(short["features"]["values"]) == 100
    assert len(names) == 5000  # the given one is as it was


@given(st.recursive(st.integers(), lambda inner: st.lists(inner, max_size=30), max_leaves=400))
def test_no_list_keeps_more_than_there_is_room_for(value):
    short, cut = shorten({"values": value})
    if isinstance(value, list):
        assert leaves(short["values"]) <= MOST_ENTRIES
        assert (short["values"] != value) == bool(cut)
