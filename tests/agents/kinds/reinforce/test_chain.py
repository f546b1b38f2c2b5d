"""The chain of updates against a chain built from nothing, for any story of labels."""

from collections import Counter

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from app.agents.experience import Experience
from app.agents.kinds.reinforce.chain import Chain, kept
from app.learning.spaces import Spaces

BATCH = 3


class Told:
    """An experience and a chain whose state is everything that went into it."""

    def __init__(self):
        self.experience = Experience(Spaces(1, 1, 1))
        self.updates = 0
        self.chain = Chain((), BATCH, self.update)

    def update(self, state, verdicts):
        self.updates += 1
        return (*state, tuple(verdicts))

    def tell(self, episode, label, slot=0):
        if episode not in self.experience.episodes:
            self.experience.episodes[episode] = None
        if label is None:
            self.experience.remove_label(episode, slot)
        else:
            self.experience.set_label(episode, label, slot)

    def follow(self):
        return self.chain.follow(self.experience.changes)


def from_nothing(labels):
    order = sorted((episode, label) for (episode, _), label in labels.items())
    full = len(order) // BATCH * BATCH
    return tuple(tuple(order[i : i + BATCH]) for i in range(0, full, BATCH))


STORIES = st.lists(
    st.tuples(st.integers(0, 40), st.sampled_from([0, 1, None]), st.integers(0, 2), st.booleans()),
    max_size=120,
)


@settings(deadline=None)
@given(STORIES)
def test_any_story_of_labels_ends_as_if_told_right_from_the_start(story):
    told = Told()
    for episode, label, slot, look in story:
        told.tell(episode, label, slot)
        if look:
            assert told.follow() == from_nothing(told.experience.labels)
    assert told.follow() == from_nothing(told.experience.labels)


@settings(deadline=None)
@given(STORIES)
def test_an_episode_counts_once_for_each_voice(story):
    told = Told()
    for episode, label, slot, _ in story:
        told.tell(episode, label, slot)
    used = Counter(n for batch in told.follow() for n, _ in batch)
    slots = Counter(episode for episode, _ in told.experience.labels)
    assert used <= slots
    assert used.total() == slots.total() // BATCH * BATCH


def test_labels_in_order_cost_one_update_a_batch():
    told = Told()
    for episode in range(60):
        told.tell(episode, 1)
        told.follow()
    assert told.updates == 20


@pytest.mark.parametrize("back", [1, 2, 5, 17, 60, 150])
def test_a_correction_costs_in_proportion_to_its_age(back):
    told, batches = Told(), 200
    for episode in range(batches * BATCH):
        told.tell(episode, 0)
    told.follow()
    told.updates = 0
    told.tell((batches - back) * BATCH, 1)
    told.follow()
    assert back <= told.updates <= 4 * back + 1


@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 64, 65, 1000, 1023])
def test_few_states_are_kept(length):
    places = kept(length)
    assert places[0] == 0
    assert places[-1] == length
    assert len(places) <= 2 * max(1, length.bit_length()) + 1


def test_a_state_that_should_be_kept_always_was_kept_before():
    """Going one batch further never needs a state that was let go."""
    for length in range(500):
        assert set(kept(length + 1)) <= {*kept(length), length + 1}
