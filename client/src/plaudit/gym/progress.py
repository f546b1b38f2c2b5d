"""A progress bar on stderr, with the success so far. It needs no library."""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import TextIO

_WIDTH = 24
_RECENT = 20
_REDRAW_SECONDS = 0.1


class Progress:
    """Shows how many episodes are played, how many of them were good, and the time left.

    A terminal gets one line that changes; a file gets a line for every tenth.
    """

    def __init__(
        self, title: str, total: int, done: int = 0, stream: TextIO | None = None, on: bool = True
    ) -> None:
        self._title, self._total, self._done = title, total, done
        self._stream = stream or sys.stderr
        self._on = on
        self._is_terminal = self._stream.isatty()
        self._began, self._first, self._drawn = time.monotonic(), done, 0.0
        self._labels = self._good = 0
        self._recent: deque[bool] = deque(maxlen=_RECENT)
        self._note = ""

    def episode(self, label: bool | int | None) -> None:
        """One more episode is played; its label, if it has one."""
        self._done += 1
        if label is not None:
            self._labels += 1
            self._good += bool(label)
            self._recent.append(bool(label))
        tenth = max(1, self._total // 10)
        if self._is_terminal or self._done % tenth == 0 or self._done == self._total:
            self._draw()

    def note(self, text: str) -> None:
        """Say something that stays visible, such as where to label."""
        if self._on and text != self._note:
            self._note = text
            self._clear()
            print(text, file=self._stream, flush=True)

    def close(self) -> None:
        """Leave the last line as it is."""
        if self._on and self._is_terminal:
            self._draw(force=True)
            print(file=self._stream, flush=True)

    @property
    def line(self) -> str:
        """What the bar says now."""
        filled = _WIDTH * self._done // max(1, self._total)
        bar = "█" * filled + "░" * (_WIDTH - filled)
        return f"{self._title} {bar} {self._done}/{self._total}{self._success()}{self._time()}"

    def _success(self) -> str:
        if not self._labels:
            return ""
        recent = sum(self._recent) / len(self._recent)
        return f"  success {self._good / self._labels:.2f} (last {len(self._recent)}: {recent:.2f})"

    def _time(self) -> str:
        played, spent = self._done - self._first, time.monotonic() - self._began
        if not played or self._done >= self._total:
            return f"  {_clock(spent)}"
        return f"  {_clock(spent / played * (self._total - self._done))} left"

    def _draw(self, force: bool = False) -> None:
        now = time.monotonic()
        if not self._on or (
            self._is_terminal and not force and now - self._drawn < _REDRAW_SECONDS
        ):
            return
        self._drawn = now
        self._clear()
        print(self.line, end="" if self._is_terminal else "\n", file=self._stream, flush=True)

    def _clear(self) -> None:
        if self._is_terminal:
            print("\r\x1b[2K", end="", file=self._stream)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
