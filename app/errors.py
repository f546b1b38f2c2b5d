"""The tree of domain errors.

PlauditError
├── InvalidValue         an invalid value; names the field and what was expected
│   └── UnknownField     a field that the schema does not have
├── BudgetExceeded       work refused before it starts; names the number to lower
├── SnapshotError        stored arrays that cannot be restored
├── NumericalError       a computation that failed on the numbers it was given
├── NotFound             no such agent, episode or key
├── Conflict             a request that the current state does not allow
├── Unauthenticated      no key, or an unknown or revoked one
├── TooManyAttempts      too many failed attempts to sign in; try again later
├── Forbidden            a key whose role does not allow it
├── UnsafeStart          a server that would be open to everyone, or that cannot open its database
├── Overloaded           too many requests at once; try again
│   └── Stale            a change that was decided from an outdated state; load again and retry
└── StorageUnavailable   nothing was stored and nothing is acknowledged; try again

Nothing here knows HTTP: one table in the API maps these classes to answers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence


class PlauditError(Exception):
    """Base of every error that Plaudit raises on purpose.

    A subclass passes its arguments to `Exception`, so that it can be sent from a worker process to
    its parent. ``__str__`` is the message for people.
    """


class InvalidValue(PlauditError):
    """An invalid value: its field, and what was expected."""

    def __init__(self, field: str, expected: str) -> None:
        super().__init__(field, expected)
        self.field = field
        self.expected = expected

    @property
    def reason(self) -> str:
        """What is wrong, without the name of the field."""
        return f"expected {self.expected}"

    def __str__(self) -> str:
        return f"{self.field}: {self.reason}"


def shown(value: object) -> str:
    """A value that was refused, in few words."""
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    try:
        text = json.dumps(value, ensure_ascii=False)
        text.encode()  # a lone surrogate cannot be answered as it is
    except UnicodeEncodeError:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return "something else"
    return text if len(text) <= 40 else f"{text[:39]}…"


class UnknownField(InvalidValue):
    """A field that the schema does not have, with the fields that it has.

    ``owner`` is the kind that the fields are options of, if there are several kinds.
    """

    def __init__(self, field: str, known: Sequence[str], owner: str | None = None) -> None:
        super().__init__(field, f"one of {', '.join(known)}")
        self.args = (field, known, owner)
        self.known = known
        self.owner = owner

    @property
    def reason(self) -> str:
        """The unknown field, and those that exist."""
        name, known = self.field.rpartition(".")[2], ", ".join(self.known) or "none"
        if self.owner is None:
            return f"unknown field {name!r}. Fields: {known}"
        return f"unknown option {name!r}. Options of {self.owner}: {known}"


class BudgetExceeded(PlauditError):
    """Work that needs more than its budget. It is refused before anything is allocated."""

    def __init__(self, what: str, needed: float, allowed: float, lower: str) -> None:
        super().__init__(what, needed, allowed, lower)
        self.what = what
        self.needed = needed
        self.allowed = allowed
        self.lower = lower

    def __str__(self) -> str:
        needed, allowed = _rough(self.needed), _rough(self.allowed)
        return f"{self.what}: needs {needed}, allowed {allowed}; {self.lower}"


def _rough(number: float) -> str:
    """Three digits of a number, which may be a whole number larger than any float."""
    try:
        return f"{number:.3g}"
    except OverflowError:
        return "more than 1e308"


class SnapshotError(PlauditError):
    """Stored arrays that this version cannot restore."""


class NumericalError(PlauditError):
    """A computation that failed on the numbers it was given, such as a matrix factorisation."""


class NotFound(PlauditError):
    """Something that does not exist, or no longer. ``by`` says how ``name`` identifies it."""

    def __init__(self, what: str, name: str, by: str = "with id") -> None:
        super().__init__(what, name, by)
        self.what = what
        self.name = name
        self.by = by

    def __str__(self) -> str:
        return f"No {self.what} {self.by} {self.name!r}."


class Conflict(PlauditError):
    """A request that the current state does not allow; ``code`` tells programs why."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail

    def __str__(self) -> str:
        return self.detail


class Unauthenticated(PlauditError):
    """A request without a key, or with an unknown or revoked one."""


class TooManyAttempts(PlauditError):
    """Too many failed attempts to sign in; ``seconds`` until the next one is allowed."""

    def __init__(self, seconds: int) -> None:
        super().__init__(seconds)
        self.seconds = seconds

    def __str__(self) -> str:
        return f"Too many failed attempts to sign in. Try again in {self.seconds} s."


class Forbidden(PlauditError):
    """A request that the role of its key does not allow."""


class UnsafeStart(PlauditError):
    """A configuration that the server must not, or cannot, start with."""


class Overloaded(PlauditError):
    """Too many requests at once. The same request may succeed in a moment."""


class Stale(Overloaded):
    """A change that was decided from an outdated state: load it again, decide again, retry."""


class StorageUnavailable(PlauditError):
    """The database failed. Nothing of the request was stored."""
