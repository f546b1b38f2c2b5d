"""Large JSON answers: encoded piece by piece in a thread, and streamed.

Encoding a large list in one call keeps every other thread from running until it returns, the event
loop too. So a document is encoded in pieces of a few milliseconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import to_json
from starlette.responses import Response, StreamingResponse

PIECE_BYTES = 100_000
_AT_ONCE = 5000  # numbers of a list that are encoded together
_SCALARS = (int, float, str, type(None))


async def json_response(
    document: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON answer, encoded in a thread; a large one is streamed.

    The document may have models and arrays in it.
    """
    pieces = json_pieces(document)
    first, second = await asyncio.to_thread(lambda: (next(pieces, b""), next(pieces, None)))
    if second is None:
        return Response(first, status, headers, "application/json")
    return StreamingResponse(
        chain((first, second), pieces), status, headers, media_type="application/json"
    )


def json_pieces(document: object) -> Iterator[bytes]:
    """The document as JSON, in pieces of about `PIECE_BYTES`."""
    waiting, size = [], 0
    for part in _encode(document):
        waiting.append(part)
        size += len(part)
        if size >= PIECE_BYTES:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


def _encode(value: object) -> Iterator[bytes]:
    if isinstance(value, np.ndarray):
        yield from _encode_array(value)
    elif isinstance(value, Mapping):
        entries = value.items()
        yield from _joined(b"{}", (chain((_dump(k), b":"), _encode(v)) for k, v in entries))
    elif isinstance(value, list | tuple):
        yield from _encode_list(value)
    else:
        yield _dump(value)


def _encode_array(array: NDArray[Any]) -> Iterator[bytes]:
    if array.size <= _AT_ONCE:
        yield _dump(array.tolist())
        return
    rows = _AT_ONCE * len(array) // array.size  # that are encoded together
    if rows == 0:
        yield from _joined(b"[]", map(_encode_array, array))
    else:
        yield from _encode_blocks(array, rows)


def _encode_list(entries: Sequence[Any]) -> Iterator[bytes]:
    if entries and isinstance(entries[0], _SCALARS):
        yield from _encode_blocks(entries, _AT_ONCE)
    else:
        yield from _joined(b"[]", map(_encode, entries))


def _encode_blocks(entries: Any, length: int) -> Iterator[bytes]:
    blocks = (entries[i : i + length] for i in range(0, len(entries), length))
    plain = (block.tolist() if isinstance(block, np.ndarray) else block for block in blocks)
    yield from _joined(b"[]", ((_dump(block)[1:-1],) for block in plain))


def _joined(brackets: bytes, parts: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    """Parts between brackets, with commas between them."""
    yield brackets[:1]
    for number, part in enumerate(parts):
        if number:
            yield b","
        yield from part
    yield brackets[1:]


def _dump(value: object) -> bytes:
    """A small value, or a model; what is not a finite number becomes null, as in every answer."""
    return to_json(value, by_alias=True, inf_nan_mode="null")
