"""Animated PNG: frames as one picture that every browser plays; only zlib is needed.

The format: PNG signature, IHDR, acTL (how many frames), then for each frame fcTL (how long it is
shown) and its pixels, as IDAT for the first and as fdAT with a sequence number for the others.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Any

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOURS = {3: 2, 4: 6}  # channels -> PNG's colour type: RGB, RGBA


def animated_png(frames: Sequence[Any], milliseconds: int) -> bytes:
    """The bytes of a picture from frames: arrays (height, width, 3 or 4) of bytes."""
    height, width, channels = frames[0].shape
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOURS[channels], 0, 0, 0)
    parts = [
        _SIGNATURE,
        _chunk(b"IHDR", header),
        _chunk(b"acTL", struct.pack(">II", len(frames), 0)),
    ]
    sequence = 0
    for place, frame in enumerate(frames):
        control = (sequence, width, height, 0, 0, milliseconds, 1000, 0, 0)
        parts.append(_chunk(b"fcTL", struct.pack(">IIIIIHHBB", *control)))
        sequence += 1
        if place == 0:
            parts.append(_chunk(b"IDAT", _pixels(frame)))
        else:
            parts.append(_chunk(b"fdAT", struct.pack(">I", sequence) + _pixels(frame)))
            sequence += 1
    return b"".join([*parts, _chunk(b"IEND", b"")])


def _pixels(frame: Any) -> bytes:
    """The rows of a frame, each behind a zero: no filter. Flat pictures compress well without."""
    rows = (b"\0" + row.tobytes() for row in frame)
    return zlib.compress(b"".join(rows), 6)


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)
