"""Addressed randomness: published numbers, uniformity, independence, and the compiled twin."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from app.learning.randomness import generator, mix, uniform
from app.simulation.tables import _mix, random_unit

GOLDEN = 0x9E3779B97F4A7C15
# The first outputs of splitmix64 seeded with 1234567, as they are published for other languages.
PUBLISHED = (
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
)


class TestMix:
    """Output k of splitmix64 finalises the state seed + k * golden, k from 1; `mix` adds one."""

    @pytest.mark.parametrize(("k", "output"), list(enumerate(PUBLISHED, start=1)))
    def test_it_gives_the_published_stream(self, k: int, output: int) -> None:
        state = (1234567 + (k - 1) * GOLDEN) % 2**64
        assert mix(state) == output
        assert int(_mix(np.uint64(state))) == output

    def test_it_is_its_compiled_twin(self) -> None:
        values = [0, 1, 2**63 - 1, 2**63, 2**64 - 1]
        values += np.random.default_rng(1).integers(2**64, size=200, dtype=np.uint64).tolist()
        assert [mix(value) for value in values] == [int(_mix(np.uint64(v))) for v in values]

    def test_different_values_stay_different(self) -> None:
        assert len({mix(value) for value in range(20_000)}) == 20_000

    def test_every_bit_depends_on_every_bit(self) -> None:
        """A flipped bit flips each of the 64 bits half of the time.

        4096 frequencies of 400 fair coins each: within 6.5 deviations with probability 1 - 4e-7.
        """
        rng = np.random.default_rng(2)
        values = rng.integers(2**64, size=400, dtype=np.uint64).tolist()
        flipped = np.zeros((64, 64))
        for value in values:
            here = mix(value)
            for bit in range(64):
                change = here ^ mix(value ^ (1 << bit))
                flipped[bit] += np.unpackbits(np.array([change], dtype=">u8").view(np.uint8))
        assert np.abs(flipped / 400 - 0.5).max() < 6.5 * 0.5 / np.sqrt(400)


class TestUniform:
    ADDRESSES = (
        list(product([7], range(200), range(100))),
        list(product([7], range(100, 200), range(200))),
        list(product(range(200), [3], range(100))),
        list(product(range(200), range(100), [0])),
    )

    @pytest.mark.parametrize("addresses", ADDRESSES, ids=["steps", "episodes", "seeds", "both"])
    def test_it_is_uniform(self, addresses: list[tuple[int, int, int]]) -> None:
        # Chi-square over 100 bins: rejects a right generator once in a million.
        draws = np.array([uniform(*address) for address in addresses])
        assert 0.0 <= draws.min() <= draws.max() < 1.0
        counts = np.histogram(draws, bins=100, range=(0.0, 1.0))[0]
        assert stats.chisquare(counts).pvalue > 1e-6

    @pytest.mark.parametrize("move", [(0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 1, 0), (0, 1, -1)])
    def test_neighbours_are_independent(self, move: tuple[int, int, int]) -> None:
        # Chi-square over 10 x 10 pairs; an episode's next step, the next episode, the next seed
        # and mixtures of them: each rejects a right generator once in a million.
        pairs = np.zeros((10, 10))
        for address in product(range(12), range(40), range(1, 41)):
            beside = [part + by for part, by in zip(address, move, strict=True)]
            pairs[int(10 * uniform(*address)), int(10 * uniform(*beside))] += 1
        assert stats.chisquare(pairs.ravel()).pvalue > 1e-6

    def test_low_bits_are_random_too(self) -> None:
        # The lowest 8 of the 53 bits; chi-square, rejects a right generator once in a million.
        draws = [uniform(5, episode, step) for episode in range(160) for step in range(160)]
        lowest = [int(draw * 2**53) % 256 for draw in draws]
        assert stats.chisquare(np.bincount(lowest, minlength=256)).pvalue > 1e-6

    def test_the_parts_of_an_address_are_told_apart(self) -> None:
        """Symmetric addresses are different addresses: no draw is shared."""
        addresses = list(product(range(12), repeat=3))
        assert len({uniform(*address) for address in addresses}) == len(addresses)

    def test_the_same_address_gives_the_same_number(self) -> None:
        first = [uniform(3, episode, step) for episode in range(20) for step in range(20)]
        assert first == [uniform(3, episode, step) for episode in range(20) for step in range(20)]

    def test_it_can_be_computed_elsewhere_by_its_description(self) -> None:
        for seed, episode, step in [(0, 0, 0), (7, 41, 3), (2**63 - 1, 10**12, 499)]:
            bits = mix(mix(mix(seed) ^ episode) ^ step)
            assert uniform(seed, episode, step) == pytest.approx(bits / 2**64, abs=2**-53)

    def test_it_is_its_compiled_twin_up_to_the_largest_seed(self) -> None:
        rng = np.random.default_rng(4)
        for seed in (0, 1, 2**53, 2**63 - 1, *rng.integers(2**63 - 1, size=50).tolist()):
            episode, step = int(rng.integers(2**40)), int(rng.integers(1000))
            assert random_unit(seed, episode, step) == uniform(seed, episode, step)


class TestGenerator:
    def test_the_same_address_gives_the_same_numbers(self) -> None:
        first, second = (generator(5, 1, 2).standard_normal(10) for _ in range(2))
        np.testing.assert_array_equal(first, second)

    def test_every_part_of_the_address_matters(self) -> None:
        addresses = [(5, 1, 2), (6, 1, 2), (5, 2, 2), (5, 1, 3), (5, 2, 1), (5, 1), (5, 1, 2, 1)]
        assert len({generator(*address).random() for address in addresses}) == len(addresses)

    def test_neighbouring_addresses_do_not_correlate(self) -> None:
        # 45 coefficients of deviation 1/sqrt(4000): within 6 deviations with probability 1 - 1e-7.
        table = np.array([generator(5, 1, episode).standard_normal(4000) for episode in range(10)])
        correlations = np.corrcoef(table)[np.triu_indices(10, 1)]
        assert np.abs(correlations).max() < 6 / np.sqrt(4000)
