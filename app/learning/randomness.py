"""Randomness by address: the same (seed, episode, step) always gives the same number.

Nothing is carried from one number to the next, so nothing needs saving, a retry repeats itself, and
a client in any language can compute the same numbers: `mix` is the finaliser of splitmix64, on
64-bit unsigned integers with wrap-around.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def mix(value: int) -> int:
    """Scramble 64 bits (splitmix64): every bit of the result depends on every bit given."""
    value = (value + _GOLDEN) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def uniform(seed: int, episode: int, step: int) -> float:
    """A number in [0, 1) with 53 random bits: mix(mix(mix(seed) ^ episode) ^ step) / 2^64."""
    return number_of(stream_of(seed, episode), step)


def stream_of(seed: int, episode: int) -> int:
    """What the numbers of one episode have in common."""
    return mix(mix(seed & _MASK) ^ episode)


def number_of(stream: int, step: int) -> float:
    """The number of a step within its episode's stream."""
    return float(mix(stream ^ step) >> 11) * 2.0**-53


def uniforms(seed: int, episodes: Sequence[int], steps: int) -> NDArray[np.float64]:
    """`uniform` of many episodes at each of their first steps, shape (episodes, steps)."""
    first = np.uint64(mix(seed & _MASK))
    numbers = _mix_all(first ^ np.array(episodes, dtype=np.uint64))
    bits = _mix_all(numbers[:, None] ^ np.arange(steps, dtype=np.uint64))
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix_all(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`mix` of each; arrays of 64-bit integers wrap around by themselves."""
    values = values + np.uint64(_GOLDEN)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def generator(seed: int, *address: int) -> np.random.Generator:
    """A NumPy generator for everything that only the server draws, such as weights."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed & _MASK, *address])))
