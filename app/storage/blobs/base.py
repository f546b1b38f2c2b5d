"""The interface of blob storage. Its methods block: call them in a thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Blob:
    """A stored blob without its content. ``modified_at`` is in seconds since 1970."""

    name: str
    size: int
    modified_at: float


class BlobWriter(Protocol):
    """A blob that is being written. It is invisible before `commit`."""

    def write(self, chunk: bytes) -> None:
        """Append some bytes."""
        ...

    def commit(self) -> None:
        """Make the blob durable, then visible under its name."""
        ...

    def abort(self) -> None:
        """Discard what was written; does nothing after `commit`."""
        ...


class BlobReader(Protocol):
    """An open blob."""

    def read(self, first: int, length: int) -> bytes:
        """Some bytes from ``first`` on; fewer where the blob ends."""
        ...


class BlobStore(Protocol):
    """Stores blobs by name. A name is used once: a blob never changes after its commit.

    Errors of the store are `StorageUnavailable`; a blob that does not exist is `NotFound`.
    """

    def create(self, name: str) -> BlobWriter:
        """Begin to write a blob."""
        ...

    def open(self, name: str) -> AbstractContextManager[BlobReader]:
        """Open a blob for reading."""
        ...

    def delete(self, name: str) -> None:
        """Delete a blob; does nothing if it does not exist."""
        ...

    def list(self, prefix: str = "") -> Iterator[Blob]:
        """Every blob whose name starts with ``prefix``."""
        ...

    def discard_unfinished(self, before: float) -> None:
        """Discard blobs that a crash left half written before a time in seconds since 1970."""
        ...
