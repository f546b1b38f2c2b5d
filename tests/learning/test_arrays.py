from __future__ import annotations

import io

import numpy as np
import pytest

from app.errors import SnapshotError
from app.learning.arrays import pack_arrays, unpack_arrays


def test_arrays_survive_packing() -> None:
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b.c": np.array("text")}
    restored = unpack_arrays(pack_arrays(arrays), "thing")
    assert restored.keys() == arrays.keys()
    for name, array in arrays.items():
        assert restored[name].dtype == array.dtype
        np.testing.assert_array_equal(restored[name], array)


def test_bytes_without_a_version_count_as_version_1() -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, a=np.ones(2))
    assert list(unpack_arrays(buffer.getvalue(), "thing")) == ["a"]
    with pytest.raises(SnapshotError, match="the thing has format 1; expected format 2"):
        unpack_arrays(buffer.getvalue(), "thing", version=2)


def test_another_version_is_refused() -> None:
    with pytest.raises(SnapshotError, match="format 3; expected format 2"):
        unpack_arrays(pack_arrays({"a": np.ones(1)}, version=3), "thing", version=2)


def test_the_name_of_the_version_is_reserved() -> None:
    with pytest.raises(ValueError, match="format"):
        pack_arrays({"format": np.ones(1)})


def damaged() -> list[bytes]:
    whole = pack_arrays({"a": np.arange(1000)})
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    pickled = io.BytesIO()
    np.savez(pickled, a=np.array([object()]), allow_pickle=True)
    return [b"", b"nonsense", whole[: len(whole) // 2], bytes(flipped), pickled.getvalue()]


@pytest.mark.parametrize("packed", damaged(), ids=["none", "text", "half", "flipped", "pickle"])
def test_bad_bytes_are_a_snapshot_error(packed: bytes) -> None:
    with pytest.raises(SnapshotError, match="cannot read the thing"):
        unpack_arrays(packed, "thing")
