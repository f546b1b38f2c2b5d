"""The tree of domain errors.

PlauditError
├── InvalidValue     a value that cannot be used; names the field and what was expected
├── BudgetExceeded   work refused before it starts; names the number to lower
└── SnapshotError    stored arrays that cannot be restored

Nothing here knows HTTP: one table in the API maps these classes to answers.
"""

from __future__ import annotations


class PlauditError(Exception):
    """Base of every error that Plaudit raises on purpose."""


class InvalidValue(PlauditError):
    """A value that cannot be used, with the field it came in and what was expected of it."""

    def __init__(self, field: str, expected: str) -> None:
        super().__init__(f"{field}: expected {expected}")
        self.field = field
        self.expected = expected


class BudgetExceeded(PlauditError):
    """Work that would need more than its budget, refused before anything is allocated."""

    def __init__(self, what: str, needed: float, allowed: float, lower: str) -> None:
        super().__init__(f"{what}: needs {needed:.3g}, allowed {allowed:.3g}; {lower}")
        self.what = what
        self.needed = needed
        self.allowed = allowed
        self.lower = lower


class SnapshotError(PlauditError):
    """Stored arrays that this version cannot restore."""
