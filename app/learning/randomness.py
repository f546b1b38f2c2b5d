"""Counter-based random numbers: the same (seed, episode, step) always gives the same number.

The generator has no state, so there is nothing to save, a retry repeats its numbers, and a client
in any language can compute them. `mix` is the finaliser of splitmix64, on 64-bit unsigned integers
with wrap-around.
"""

from __future__ import annotations

import numpy as np

SECOND_NUMBER = 1 << 32
"""Added to a step's number: the address of its second random number."""

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
    """The stream of one episode: the part of the address that its numbers share."""
    return mix(mix(seed & _MASK) ^ episode)


def number_of(stream: int, step: int) -> float:
    """The number of a step in an episode's stream."""
    return float(mix(stream ^ step) >> 11) * 2.0**-53


def generator(seed: int, *address: int) -> np.random.Generator:
    """A NumPy generator for what only the server draws, such as sampled weights."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed & _MASK, *address])))
