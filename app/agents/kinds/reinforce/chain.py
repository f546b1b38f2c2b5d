"""A chain of updates, one per batch of labels, that replays itself when labels are corrected.

The pairs (episode, label) are sorted and cut into batches; an incomplete last batch waits. State k
+ 1 is the update of state k with batch k. So the newest state depends on the set of labels, not on
when they arrived. After a late, replaced or removed label the chain is replayed from the last
stored state before it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from app.agents.experience import LabelUpdate

State = TypeVar("State")
NumberedLabel = tuple[int, int]  # episode and label


class Chain(Generic[State]):
    """The states after some of the batches, including the newest."""

    def __init__(
        self, first: State, batch: int, update: Callable[[State, Sequence[NumberedLabel]], State]
    ) -> None:
        self.batch = batch
        self.order: list[NumberedLabel] = []
        self.states: dict[int, State] = {0: first}  # by the number of batches behind them
        self.seen = 0  # changes of labels taken in
        self._update = update

    @property
    def length(self) -> int:
        """The number of batches that were applied."""
        return max(self.states)

    @property
    def newest(self) -> State:
        """The state after all applied batches."""
        return self.states[self.length]

    def members(self, index: int) -> Sequence[NumberedLabel]:
        """The labels of one batch."""
        return self.order[index * self.batch : (index + 1) * self.batch]

    def follow(self, changes: Sequence[LabelUpdate]) -> State:
        """Apply the label updates since the last call, then every full batch."""
        self._take_back(self._take_in(changes[self.seen :]))
        self.seen = len(changes)
        for index in range(self.length, len(self.order) // self.batch):
            self.states[index + 1] = self._update(self.newest, self.members(index))
            self.states = {k: self.states[k] for k in kept(index + 1) if k in self.states}
        return self.newest

    def _take_in(self, fresh: Iterable[LabelUpdate]) -> int:
        """Insert and delete labels. Return the first position that changed."""
        first = len(self.order)
        for change in fresh:
            pair = change.episode, change.label
            place = bisect_left(self.order, pair)
            if change.sign > 0:
                self.order.insert(place, pair)
            else:
                del self.order[place]
            first = min(first, place)
        return first

    def _take_back(self, place: int) -> None:
        """Drop every state that used a batch from ``place`` on."""
        intact = place // self.batch
        self.states = {k: state for k, state in self.states.items() if k <= intact}


def kept(length: int) -> list[int]:
    """Which states to keep: the last two multiples of every power of two.

    There are about 2 log2(length) of them. For a change d batches ago there is one at most 4 d ago.
    """
    places = {0, length}
    for power in range(length.bit_length()):
        last = length >> power
        places |= {last << power, max(0, last - 1) << power}
    return sorted(places)
