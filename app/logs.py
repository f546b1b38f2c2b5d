"""Logs: one line an event, as text or as JSON, with the id of the request that it belongs to."""

from __future__ import annotations

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


class _Lines(logging.Formatter):
    """What every form of a line holds."""

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        fields = {k: v for k, v in vars(record).items() if k not in _STANDARD and v is not None}
        current = request_id.get()
        if current is not None:
            fields.setdefault("request_id", current)
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return fields

    @staticmethod
    def time(record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class TextLines(_Lines):
    """`2026-01-31T12:00:00.000Z info  what happened  name=value …`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line; what has lines of its own follows below."""
        fields = self.fields(record)
        below = fields.pop("traceback", None)
        pairs = "  ".join(f"{name}={_on_one_line(value)}" for name, value in fields.items())
        event = record.getMessage().replace("\n", " | ")
        head = f"{self.time(record)} {record.levelname.lower():<7} {event}"
        line = f"{head}  {pairs}" if pairs else head
        return line if below is None else f"{line}\n{below}"


def _on_one_line(value: object) -> str:
    """A value as it is where that can be read, else in quotes: what clients send forges no line."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    is_plain = text.isprintable() and not (set(text) & set(' "='))
    return text if is_plain or not isinstance(value, str) else json.dumps(text, ensure_ascii=True)


class JsonLines(_Lines):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        head = {
            "time": self.time(record),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "logger": record.name,
        }
        return json.dumps(head | self.fields(record), default=str)


def set_up_logs(form: str, level: str) -> None:
    """Send every line of this process to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    logging.captureWarnings(True)
    for noisy in ("uvicorn", "uvicorn.error", "uvicorn.access", "alembic"):
        logger = logging.getLogger(noisy)
        logger.handlers, logger.propagate = [], True
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
