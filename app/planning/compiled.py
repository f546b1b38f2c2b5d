"""How the planners' kernels are compiled.

Rows are short: counting who holds which array, or passing a dozen arrays to a function, can cost as
much as what is done with a row. So kernels allocate nothing, so that nothing has to be counted, and
the innermost are inlined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core.dispatcher import Dispatcher
from numpy.typing import NDArray

Array = NDArray[Any]
Kernel = TypeVar("Kernel", bound=Callable[..., object])

# Contraction and reassociation cost a few ulps and buy vector instructions.
_OPTIONS: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc", "nsz", "arcp"},
    "_nrt": False,
}


def jit(function: Kernel) -> Dispatcher[Kernel]:
    """Compile a kernel."""
    compiled: Dispatcher[Kernel] = numba.njit(function, **_OPTIONS)
    return compiled


def inlined(function: Kernel) -> Dispatcher[Kernel]:
    """Compile a kernel into whatever calls it."""
    compiled: Dispatcher[Kernel] = numba.njit(function, **_OPTIONS, forceinline=True)
    return compiled
