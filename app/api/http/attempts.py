"""A limit on failed attempts to sign in, by address and by the beginning of the key."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable

from app.errors import TooManyAttempts

WINDOW_SECONDS = 60.0
_REMEMBERED = 10_000  # addresses and beginnings of keys
_PREFIX = 8  # characters of a key, including "plk_"


class Attempts:
    """Counts failures in windows of a minute. The oldest counts are dropped when there are many.

    An attempt over the limit is refused before the key is looked up, even if the key is right.
    Otherwise the limit would not slow down guessing.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._failures: OrderedDict[str, tuple[float, int]] = OrderedDict()  # began, how many

    def check(self, address: str, key: str) -> None:
        """Refuse an attempt if too many failed in the last minute."""
        for name in _names(address, key):
            began, failures = self._current(name)
            if failures >= self._most:
                left = began + WINDOW_SECONDS - self._clock()
                raise TooManyAttempts(max(1, round(left)))

    def failed(self, address: str, key: str) -> None:
        """Count an attempt that failed."""
        for name in _names(address, key):
            began, failures = self._current(name)
            self._failures[name] = began, failures + 1
            self._failures.move_to_end(name)
        while len(self._failures) > _REMEMBERED:
            self._failures.popitem(last=False)

    def _current(self, name: str) -> tuple[float, int]:
        now = self._clock()
        began, failures = self._failures.get(name, (now, 0))
        return (began, failures) if now - began < WINDOW_SECONDS else (now, 0)


def _names(address: str, key: str) -> tuple[str, str]:
    """The names under which an attempt is counted. Keys are hashed, so that memory holds none."""
    prefix = hashlib.sha256(key[:_PREFIX].encode()).hexdigest()
    return f"address {address}", f"key {prefix}"
