"""Optional packages of the extra ``simulate``, imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from app.errors import PlauditError


class MissingExtra(PlauditError):
    """An optional package that is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(package)
        self.package = package

    def __str__(self) -> str:
        return f"{self.package} is not installed: pip install 'plaudit[simulate]'"


def load_extra(module: str) -> ModuleType:
    """Import a module of the extra ``simulate``; the error says how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        # A module that is missing inside an installed package is another error: raise it.
        if (error.name or "").partition(".")[0] != package:
            raise
        raise MissingExtra(package) from error
