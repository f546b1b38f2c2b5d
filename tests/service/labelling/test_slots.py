"""Label slots: who has which, and what they amount to."""

import pytest

from app.errors import Conflict
from app.service.labelling.slots import (
    TIMEOUT,
    GivenLabel,
    free_slot,
    has_room,
    labels_in_force,
    majority,
    slot_of,
    with_label,
    without_label,
)
from app.storage.rows import LabelRow

ADA, BEN = GivenLabel(1, "Ada"), GivenLabel(0, "Ben")


def row(slot, label, labeller="Ada", at=0):
    return LabelRow(1, 2, slot, label, labeller, None, at)


def test_the_last_entry_of_a_slot_is_in_force_unless_it_is_a_withdrawal():
    history = [row(0, 1), row(1, 0, "Ben"), row(0, 0), row(1, None, "Ben"), row(2, 1, "Cid")]
    assert labels_in_force(history) == {0: GivenLabel(0, "Ada"), 2: GivenLabel(1, "Cid")}


@pytest.mark.parametrize(
    ("labels", "outcome"), [([1], 1), ([0], 0), ([1, 0], 0), ([1, 1, 0], 1), ([], 0)]
)
def test_more_than_half_must_be_good(labels, outcome):
    assert majority([GivenLabel(label) for label in labels]) == outcome


def test_where_one_label_is_wanted_its_slot_is_everybodys():
    assert slot_of({0: ADA}, 1, "Ben") == 0
    assert slot_of({}, 1, "Ben") is None


def test_where_several_are_wanted_each_labeller_has_a_slot():
    slots = {0: ADA, 2: BEN}
    assert (slot_of(slots, 3, "Ada"), slot_of(slots, 3, "Ben")) == (0, 2)
    assert slot_of(slots, 3, "Cid") is None
    assert free_slot(slots, 3) == 1


def test_a_full_episode_takes_no_more():
    assert not has_room({0: ADA, 1: BEN}, 2)
    with pytest.raises(Conflict) as refused:
        free_slot({0: ADA, 1: BEN}, 2)
    assert refused.value.code == "already_labelled"


@pytest.mark.parametrize("wanted", [1, 2])
def test_a_default_label_leaves_its_slot_to_people(wanted):
    default = {0: GivenLabel(0, TIMEOUT)}
    assert has_room(default, wanted)
    assert slot_of(default, wanted, "Ada") is None
    assert free_slot(default, wanted) == 0


def test_slots_are_replaced_and_emptied_without_changing_the_old_ones():
    slots = {1: BEN}
    assert list(with_label(slots, 0, ADA).items()) == [(0, ADA), (1, BEN)]
    assert without_label({0: ADA, 1: BEN}, 0) == {1: BEN}
    assert slots == {1: BEN}
