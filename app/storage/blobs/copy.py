"""Copying a blob from one store to another."""

from __future__ import annotations

from app.storage.blobs.base import BlobStore

_CHUNK_BYTES = 1_000_000


def copy_blob(source: BlobStore, target: BlobStore, name: str, size: int) -> None:
    """Copy one blob; `NotFound` if it does not exist."""
    with source.open(name) as reader:
        writer = target.create(name)
        try:
            for first in range(0, size, _CHUNK_BYTES):
                writer.write(reader.read(first, min(_CHUNK_BYTES, size - first)))
            writer.commit()
        finally:
            writer.abort()
