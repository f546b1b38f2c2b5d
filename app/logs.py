"""Logging: one line per event, as text or JSON, with the id of the request it belongs to.

This is a formatter for the standard library's `logging`, which uvicorn, Alembic and SQLAlchemy use
too. structlog was considered: its logfmt renderer writes carriage returns and escape sequences as
they are, so a client could forge lines or drive an operator's terminal; with a renderer of our own
and its formatter for foreign records, no fewer lines would be left here.
"""

from __future__ import annotations

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
_LEFT_TO_US = ("uvicorn", "uvicorn.error", "uvicorn.access", "alembic")


class _EventFormatter(logging.Formatter):
    """The parts that both formats share: the time and the fields of a record."""

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        """The fields given as ``extra``, the request id, and the traceback if there is one."""
        fields = {k: v for k, v in vars(record).items() if k not in _STANDARD and v is not None}
        current = request_id.get()
        if current is not None:
            fields.setdefault("request_id", current)
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return fields

    @staticmethod
    def time(record: logging.LogRecord) -> str:
        """The time in UTC, with milliseconds."""
        moment = datetime.fromtimestamp(record.created, UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class TextFormatter(_EventFormatter):
    """Lines such as `2026-01-31T12:00:00.000Z info    agent created  agent=agt_1  by=key_2`."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as one line; a traceback follows on lines of its own."""
        fields = self.fields(record)
        traceback = fields.pop("traceback", None)
        pairs = "  ".join(f"{name}={_quote(value)}" for name, value in fields.items())
        event = " | ".join(_escape(part) for part in record.getMessage().split("\n"))
        line = f"{self.time(record)} {record.levelname.lower():<7} {event}"
        line = f"{line}  {pairs}" if pairs else line
        return line if traceback is None else f"{line}\n{traceback}"


def _quote(value: object) -> str:
    """A value as it is if it is one printable word, otherwise as JSON with escapes."""
    if not isinstance(value, str):
        return json.dumps(value, default=str)
    is_word = value.isprintable() and not set(value) & set(' "=')
    return value if is_word else json.dumps(value, ensure_ascii=True)


def _escape(text: str) -> str:
    return text if text.isprintable() else json.dumps(text, ensure_ascii=True)


class JsonFormatter(_EventFormatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as one line of JSON."""
        head = {
            "time": self.time(record),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "logger": record.name,
        }
        return json.dumps(head | self.fields(record), default=str)


def set_up_logs(form: str, level: str) -> None:
    """Send every log record of this process to standard error, ``form`` being text or json."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    logging.captureWarnings(True)
    for name in _LEFT_TO_US:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
