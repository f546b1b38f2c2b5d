"""Compiler options of the planners' kernels (numba).

Rows are short, so counting references to arrays, or passing a dozen arrays to a function, can cost
as much as the arithmetic on a row. Kernels therefore allocate no arrays, which lets reference
counting be switched off, and the innermost kernels are inlined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core.dispatcher import Dispatcher
from numpy.typing import NDArray

Array = NDArray[Any]
Kernel = TypeVar("Kernel", bound=Callable[..., object])

# Numba compiles a kernel again for a literal argument. as_integer(0) shares the compiled kernel.
as_integer = cast(Callable[[int], int], numba.int64)

# Contraction and reassociation cost a few ulps and buy vector instructions.
_OPTIONS: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc", "nsz", "arcp"},
    "_nrt": False,
    "no_cfunc_wrapper": True,  # nothing passes a kernel to C code, and it takes a tenth of the time
}


def jit(function: Kernel) -> Dispatcher[Kernel]:
    """Compile a kernel."""
    compiled: Dispatcher[Kernel] = numba.njit(function, **_OPTIONS)
    return compiled


def inlined(function: Kernel) -> Dispatcher[Kernel]:
    """Compile a kernel that is inlined into its callers."""
    compiled: Dispatcher[Kernel] = numba.njit(function, **_OPTIONS, forceinline=True)
    return compiled
