"""The agent kinds, one folder each: options.py (light) and agent.py (the mathematics).

Adding a kind is adding a folder. The folder ``my_kind`` holds the classes ``MyKindOptions``, with
``kind: Literal["my_kind"]``, and ``MyKind``. Its options then appear in the schemas, and the
contract suite tests its agent.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import BeforeValidator, Field

from app.agents.options import Options

if TYPE_CHECKING:
    from app.agents.base import Agent

DEFAULT_KIND = "thompson"
DEFAULT_OBSERVING_KIND = "smooth"  # for a box without bins


def _member(kind: str, module: str, suffix: str = "") -> Any:
    """Import the class of a kind from one of its modules."""
    name = "".join(part.capitalize() for part in kind.split("_")) + suffix
    return getattr(import_module(f"{__name__}.{kind}.{module}"), name)


def _discover() -> Mapping[str, type[Options]]:
    folders = [found.name for found in pkgutil.iter_modules(__path__) if found.ispkg]
    return MappingProxyType({kind: _member(kind, "options", "Options") for kind in folders})


AGENT_KINDS: Mapping[str, type[Options]] = _discover()
"""The options class of every agent kind, by name."""


def agent_class(kind: str) -> type[Agent[Any]]:
    """The agent class of a kind. Importing it loads numba and SciPy."""
    found: type[Agent[Any]] = _member(kind, "agent")
    return found


def default_kind(has_bins: bool) -> str:
    """The default kind: one for numbered or binned states, another for a box without bins."""
    return DEFAULT_KIND if has_bins else DEFAULT_OBSERVING_KIND


def _with_kind(value: Any) -> Any:
    """Expand a short form: the name of a kind alone, or options without a kind."""
    if isinstance(value, str):
        return {"kind": value}
    return {"kind": DEFAULT_KIND, **value} if isinstance(value, dict) else value


if TYPE_CHECKING:
    Algorithm = Options
    FullAlgorithm = Options
else:
    FullAlgorithm = Annotated[
        Union[tuple(AGENT_KINDS.values())],  # noqa: UP007 - the members are discovered
        Field(discriminator="kind"),
    ]
    Algorithm = Annotated[
        FullAlgorithm,
        BeforeValidator(
            _with_kind, json_schema_input_type=Literal[tuple(AGENT_KINDS)] | FullAlgorithm
        ),
    ]
    """The options of any kind, identified by ``kind``; the name of a kind is a short form."""
