"""Array types, and arrays packed as bytes: one format for snapshots, policies and insights."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import SnapshotError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Arrays = dict[str, NDArray[Any]]

_FORMAT = "format"  # the entry that holds the version
_CHECKED = b"plaudit\x01"  # a CRC-32 of the rest follows; the oldest bytes have neither
_CHECKSUM = struct.Struct("<I")
# Each entry of an npz file has a CRC-32 of its own, which is checked when it is read.
_BAD_BYTES = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    RuntimeError,  # an entry that claims to be encrypted, or compressed in an unknown way
    SyntaxError,
    TypeError,
)


def pack_arrays(arrays: Mapping[str, NDArray[Any]], version: int = 1) -> bytes:
    """Pack named arrays: a checksum, then a compressed npz file.

    ``version`` is that of their layout.
    """
    if _FORMAT in arrays:
        raise ValueError(f"an array cannot be named {_FORMAT!r}: the version is stored there")
    buffer = io.BytesIO()
    entries = {_FORMAT: np.array(version), **arrays}
    np.savez_compressed(buffer, allow_pickle=False, **entries)
    content = buffer.getvalue()
    return _CHECKED + _CHECKSUM.pack(zlib.crc32(content)) + content


def unpack_arrays(packed: bytes, what: str, version: int = 1) -> Arrays:
    """Unpack what `pack_arrays` packed. ``what`` names it in the error for unreadable bytes.

    Bytes without a version count as version 1.
    """
    packed = _without_checksum(packed, what)
    try:
        with np.load(io.BytesIO(packed), allow_pickle=False) as stored:
            arrays: Arrays = {key: stored[key] for key in stored.files}
        found = int(arrays.pop(_FORMAT, np.array(1)))
    except _BAD_BYTES as error:
        raise SnapshotError(f"cannot read the {what}: {error!r}") from error
    if found != version:
        raise SnapshotError(f"the {what} has format {found}; expected format {version}")
    return arrays


def unpacked_size(packed: bytes, what: str) -> int:
    """The bytes that packed arrays take in memory, without unpacking them."""
    try:
        with zipfile.ZipFile(io.BytesIO(_without_checksum(packed, what))) as file:
            return sum(entry.file_size for entry in file.infolist())
    except _BAD_BYTES as error:
        raise SnapshotError(f"cannot read the {what}: {error!r}") from error


def _without_checksum(packed: bytes, what: str) -> bytes:
    """The npz file, once its checksum is verified."""
    if not packed.startswith(_CHECKED):
        return packed
    start = len(_CHECKED) + _CHECKSUM.size
    content, checksum = packed[start:], packed[len(_CHECKED) : start]
    if _CHECKSUM.pack(zlib.crc32(content)) != checksum:
        raise SnapshotError(f"cannot read the {what}: its checksum is wrong")
    return content
