"""Leases: an episode that one person judges is hidden from others for some time."""

from __future__ import annotations

import time
from collections.abc import Callable

LEASE_SECONDS = 120.0  # a page that is open renews its lease well within this


class Leases:
    """The holder of each leased episode. Leases are kept in memory; a restart ends them."""

    def __init__(
        self, seconds: float = LEASE_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._held: dict[str, tuple[str, float]] = {}  # by episode: holder, and when it ends

    def is_free(self, episode: str, holder: str) -> bool:
        """Whether no other holder has a lease on the episode."""
        held = self._held.get(episode)
        return held is None or held[0] == holder or held[1] <= self._clock()

    def take(self, episode: str, holder: str) -> bool:
        """Take or renew a lease. Returns whether the holder has it now."""
        if not self.is_free(episode, holder):
            return False
        self._held[episode] = holder, self._clock() + self._seconds
        return True

    def release(self, episode: str, holder: str) -> None:
        """Give a lease back, if it is the holder's."""
        held = self._held.get(episode)
        if held is not None and held[0] == holder:
            del self._held[episode]

    def release_all(self, holder: str) -> None:
        """Give everything back that a holder has."""
        for episode in [episode for episode, held in self._held.items() if held[0] == holder]:
            del self._held[episode]

    def drop_old(self) -> None:
        """Forget leases that have ended."""
        now = self._clock()
        self._held = {episode: held for episode, held in self._held.items() if held[1] > now}
