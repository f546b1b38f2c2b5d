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
Arrays = dict[str, NDArray[Any]]

_FORMAT = "format"  # the entry that holds the version
# Each entry of an npz file has a CRC-32, which is checked when it is read. Damage outside the
# entries shows as one of the other errors.
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
    """Pack named arrays as a compressed npz file; ``version`` is that of their layout."""
    if _FORMAT in arrays:
        raise ValueError(f"an array cannot be named {_FORMAT!r}: the version is stored there")
    buffer = io.BytesIO()
    entries = {_FORMAT: np.array(version), **arrays}
    np.savez_compressed(buffer, allow_pickle=False, **entries)
    return buffer.getvalue()


def unpack_arrays(packed: bytes, what: str, version: int = 1) -> Arrays:
    """Unpack what `pack_arrays` packed. ``what`` names it in the error for unreadable bytes.

    Bytes without a version count as version 1.
    """
    try:
        with np.load(io.BytesIO(packed), allow_pickle=False) as stored:
            arrays: Arrays = {key: stored[key] for key in stored.files}
        found = int(arrays.pop(_FORMAT, np.array(1)))
    except _BAD_BYTES as error:
        raise SnapshotError(f"cannot read the {what}: {error!r}") from error
    if found != version:
        raise SnapshotError(f"the {what} has format {found}; expected format {version}")
    return arrays
