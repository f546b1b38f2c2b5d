"""Bodies of JSON lines (`application/x-ndjson`), read as they arrive."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Generic, TypeVar

from fastapi import Request
from starlette.exceptions import HTTPException

LINES = "application/x-ndjson"
_BATCH_BYTES = 500_000  # of lines that are read together

Item = TypeVar("Item")


def is_lines(content_type: str) -> bool:
    """Whether a Content-Type is that of JSON lines."""
    return content_type.partition(";")[0].strip().lower() == LINES


class LineReader(Generic[Item]):
    """Reads a body of lines; ``parse`` gets each line with its number, in a thread."""

    def __init__(self, request: Request, longest: int, parse: Callable[[int, bytes], Item]) -> None:
        self._request = request
        self._longest = longest
        self._parse = parse
        self._digest = hashlib.sha256()
        self._line = 0  # the last one that was read

    @property
    def fingerprint(self) -> bytes:
        """Identifies the whole body, once it was read."""
        return self._digest.digest()

    async def batches(self) -> AsyncIterator[Sequence[Item]]:
        """The items of the lines, some at a time; empty lines are left out."""
        rest = bytearray()
        async for chunk in self._request.stream():
            self._digest.update(chunk)
            rest += chunk
            if len(rest) < _BATCH_BYTES:
                continue
            end = rest.rfind(b"\n") + 1
            if end == 0 and len(rest) > self._longest:
                detail = f"A line may have at most {self._longest} bytes (PLAUDIT_BODY_BYTES)."
                raise HTTPException(413, f"Line {self._line + 1}: {detail}")
            if end:
                whole, rest = bytes(rest[:end]), rest[end:]
                yield await asyncio.to_thread(self._items, whole)
        if rest:
            yield await asyncio.to_thread(self._items, bytes(rest))

    def _items(self, text: bytes) -> list[Item]:
        items = []
        for line in text.removesuffix(b"\n").split(b"\n"):
            self._line += 1
            if line.strip():
                items.append(self._parse(self._line, line))
        return items
