"""Exponential backoff with full jitter: how long to wait before the next try."""

from __future__ import annotations

import random
from dataclasses import dataclass

FIRST_SECONDS = 0.1
LONGEST_SECONDS = 8.0


@dataclass(frozen=True)
class Backoff:
    """Delays drawn from [0, first * 2^n], up to a longest.

    With full jitter, the clients of a restarted server do not all return at the same time.
    """

    first: float = FIRST_SECONDS
    longest: float = LONGEST_SECONDS

    def delay(self, failures: int, at_least: float = 0.0) -> float:
        """Seconds to wait after a number of failures; ``at_least`` is the server's Retry-After.

        The jitter is added to the server's Retry-After, so that no client returns too early.
        """
        most = min(self.longest, self.first * 2.0 ** min(failures - 1, 30))
        return at_least + random.random() * most
