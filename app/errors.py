"""The tree of domain errors.

PlauditError
├── InvalidValue         a value that cannot be used; names the field and what was expected
├── BudgetExceeded       work refused before it starts; names the number to lower
├── SnapshotError        stored arrays that cannot be restored
├── NumericalError       a computation that failed on the numbers it was given
├── NotFound             no such agent, episode or key
├── Conflict             a request that does not fit the state that things are in
├── Unauthenticated      no key, or one that nobody knows
├── Forbidden            a key whose role does not allow it
├── UnsafeStart          a server that would let anybody in, or that cannot open its database
├── Overloaded           too much at once; try again
└── StorageUnavailable   nothing was stored and nothing is acknowledged; try again

Nothing here knows HTTP: one table in the API maps these classes to answers.
"""

from __future__ import annotations


class PlauditError(Exception):
    """Base of every error that Plaudit raises on purpose.

    A subclass hands its own arguments to `Exception`, so that it survives the way from a worker
    process to its parent, and puts the sentence for people into ``__str__``.
    """


class InvalidValue(PlauditError):
    """A value that cannot be used, with the field it came in and what was expected of it."""

    def __init__(self, field: str, expected: str) -> None:
        super().__init__(field, expected)
        self.field = field
        self.expected = expected

    def __str__(self) -> str:
        return f"{self.field}: expected {self.expected}"


class BudgetExceeded(PlauditError):
    """Work that would need more than its budget, refused before anything is allocated."""

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
    """Something that is not, or no longer, there."""

    def __init__(self, what: str, name: str) -> None:
        super().__init__(what, name)
        self.what = what
        self.name = name

    def __str__(self) -> str:
        return f"there is no {self.what} {self.name!r}"


class Conflict(PlauditError):
    """A request that does not fit the state that things are in; ``code`` tells programs why."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail

    def __str__(self) -> str:
        return self.detail


class Unauthenticated(PlauditError):
    """No key, or one that nobody knows."""


class Forbidden(PlauditError):
    """A key whose role does not allow it."""


class UnsafeStart(PlauditError):
    """A server that must not, or cannot, start as it is configured."""


class Overloaded(PlauditError):
    """Too much at once; the same request may succeed in a moment."""


class StorageUnavailable(PlauditError):
    """The database could not take a write: nothing of it was stored."""
