"""The random numbers of acting: splitmix64, addressed by seed, episode and step."""

from __future__ import annotations

_MASK = 2**64 - 1


def mix(z: int) -> int:
    """One round of splitmix64."""
    z = (z + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def uniform(seed: int, episode: int, step: int) -> float:
    """The number in [0, 1) that a step of an episode uses; no other step uses it."""
    return float((mix(mix(mix(seed) ^ episode) ^ step) >> 11) * 2.0**-53)
