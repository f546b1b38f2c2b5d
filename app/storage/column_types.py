"""Column types whose damaged values stay with their row: reading one never raises an error."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from sqlalchemy import JSON, Dialect, LargeBinary
from sqlalchemy.types import TypeDecorator

log = logging.getLogger(__name__)


class Document(TypeDecorator[dict[str, Any]]):
    """A JSON object. A damaged one is empty, so that it fails the check of its own row alone."""

    impl = JSON
    cache_ok = True

    def process_result_value(self, value: Any, _dialect: Dialect) -> dict[str, Any] | None:
        """The object; empty if it is damaged."""
        if value is None or isinstance(value, dict):
            return value
        log.warning("a JSON column is damaged", extra={"reason": "it has no object"})
        return {}


class Numbers(TypeDecorator[list[float]]):
    """A list of numbers, or null. A damaged one is null."""

    impl = JSON(none_as_null=True)
    cache_ok = True

    def process_result_value(self, value: Any, _dialect: Dialect) -> list[float] | None:
        """The list; None if it is damaged."""
        if value is None:
            return None
        if isinstance(value, list) and all(type(one) in (int, float) for one in value):
            return value
        log.warning("a JSON column is damaged", extra={"reason": "it has no list of numbers"})
        return None


class Blob(TypeDecorator[bytes]):
    """Bytes. SQLite returns text where the type of a damaged value says so."""

    impl = LargeBinary
    cache_ok = True

    def result_processor(
        self, _dialect: Dialect, _coltype: object
    ) -> Callable[[Any | None], Any | None]:
        """Convert whatever is stored to bytes; its checksum is checked where it is unpacked."""

        def process(value: Any | None) -> Any | None:
            if value is None or isinstance(value, bytes):
                return value
            return bytes(value) if isinstance(value, memoryview) else str(value).encode()

        return process
