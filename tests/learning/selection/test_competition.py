"""Competing feature maps: labels that one map made speak for that map."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from app.learning.arrays import Floats
from app.learning.features.one_hot import OneHot
from app.learning.selection import competition, evidence
from app.learning.selection.competition import (
    GROWTH,
    MOST_EPISODES,
    candidates,
    checkpoint,
    readings,
    weigh,
)
from app.learning.selection.evidence import laplace_log_evidence
from app.learning.spaces import Spaces
from app.learning.trajectory import Trajectory

S, A, H = 3, 2, 12  # with 12 steps "the last states" are those of two steps
SPACES = Spaces(S, A, H)
CHOICES = candidates(SPACES)
PRIOR = np.array([0.0, -0.5, -1.0, -1.5, -0.5, -0.5, -1.5, -3.0])
FINE = ("everything", "states and actions at steps")  # the same features, other variances


def wander(rng: np.random.Generator, count: int) -> list[Trajectory]:
    """Episodes that each have favourite states and actions, a third of them ended early."""
    episodes = []
    for _ in range(count):
        favourites, eager = rng.dirichlet(np.ones(S)), rng.random()
        ended = rng.random() < 1 / 3
        length = int(rng.integers(H // 2, H)) if ended else H
        states = rng.choice(S, size=length, p=favourites)
        actions = (rng.random(length) < eager).astype(np.int64)
        final = int(rng.choice(S, p=favourites)) if ended else -1
        episodes.append(Trajectory(states, actions, final, ended))
    return episodes


def staying(one: Trajectory, h: int) -> tuple[int, int | None]:
    """State and action at step h; after the end the state it ended in, and no action."""
    if h < len(one):
        return int(one.states[h]), int(one.actions[h])
    return one.final, None


def by_state(table: Floats, one: Trajectory) -> float:
    return sum(table[0, staying(one, h)[0], 0] for h in range(H))


def by_pair(table: Floats, one: Trajectory) -> float:
    return sum(table[0, s, a] for s, a in (staying(one, h) for h in range(H)) if a is not None)


def by_state_and_step(table: Floats, one: Trajectory) -> float:
    return sum(table[h, staying(one, h)[0], 0] for h in range(H))


def by_everything(table: Floats, one: Trajectory) -> float:
    return sum(table[h, one.states[h], one.actions[h]] for h in range(len(one)))


def by_last_state(table: Floats, one: Trajectory) -> float:
    return float(table[0, staying(one, H - 1)[0], 0])


def by_last_states(table: Floats, one: Trajectory) -> float:
    return sum(table[0, staying(one, h)[0], 0] for h in (H - 2, H - 1))


def labelled(
    rule: Callable[[Floats, Trajectory], float], seed: int, count: int = 150
) -> tuple[list[Trajectory], Floats]:
    """Episodes and labels whose logit is a rule's sum of random weights, four deviations wide."""
    rng = np.random.default_rng(seed)
    episodes = wander(rng, count)
    table = rng.normal(size=(H, S, A))
    logits = np.array([rule(table, one) for one in episodes])
    logits = 4.0 * (logits - logits.mean()) / logits.std()
    return episodes, (rng.random(count) < expit(logits)).astype(np.float64)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("rule", "names"),
    [
        (by_state, ("visits of states",)),
        (by_pair, ("visits of states and actions",)),
        (by_state_and_step, ("visits of states at steps",)),
        (by_everything, FINE),
        (by_last_state, ("the last state",)),
        (by_last_states, ("the last states",)),
    ],
)
def test_the_map_that_made_the_labels_wins(
    rule: Callable[[Floats, Trajectory], float], names: tuple[str, ...], seed: int
) -> None:
    shares = weigh(CHOICES, *labelled(rule, seed), seed=0)
    assert shares.sum() == pytest.approx(1.0)
    assert sum(shares[i] for i, one in enumerate(CHOICES) if one.name in names) > 0.8


def scattered(
    spaces: Spaces, rng: np.random.Generator, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[Trajectory]]:
    """States and actions (count, horizon) without any order, and the episodes that they make."""
    shape = count, spaces.horizon
    states, actions = (
        rng.integers(spaces.states, size=shape),
        rng.integers(spaces.actions, size=shape),
    )
    return states, actions, [Trajectory(*both) for both in zip(states, actions, strict=True)]


@pytest.mark.parametrize("seed", range(1, 6))
def test_how_labels_came_about_tells_how_to_read_a_map(seed: int) -> None:
    """That one pair was visited at all, or that every visit added a little."""
    spaces = Spaces(10, 3, 10)
    pairs = OneHot(spaces, False, True, True, tuple(range(10)))
    rng = np.random.default_rng(seed)
    states, actions, episodes = scattered(spaces, rng, 400)
    chances = expit(rng.normal(scale=0.25, size=(10, 3))[states, actions].sum(axis=1))
    noisy = (rng.random(400) < chances).astype(np.float64)
    decided = ((states == 4) & (actions == 1)).any(axis=1).astype(np.float64)
    assert weigh(readings(pairs), episodes, noisy, seed=0)[1] > 0.9
    assert weigh(readings(pairs), episodes, decided, seed=0)[0] > 0.9


@pytest.mark.parametrize("seed", range(1, 6))
def test_whether_steps_are_alike_tells_too(seed: int) -> None:
    """That a state was visited at all, or that it was at one step; of a map of all steps."""
    spaces = Spaces(6, 2, 8)
    full = OneHot(spaces, True, True, True, tuple(range(8)))
    states, actions, episodes = scattered(spaces, np.random.default_rng(seed), 300)
    ever = (states == 4).any(axis=1).astype(np.float64)
    at_one_step = ((states == 4) & (actions == 1))[:, 5].astype(np.float64)
    assert weigh(readings(full), episodes, ever, seed=0)[2] > 0.9
    assert weigh(readings(full), episodes, at_one_step, seed=0)[2] < 0.1


@pytest.mark.parametrize(
    ("over", "shared"),
    [
        ((True, True, True), (False, True, False)),
        ((True, True, False), (False, True, False)),
        ((True, False, True), (False, False, True)),
        ((True, False, False), None),
        ((False, True, True), None),
        ((False, True, False), None),
    ],
)
def test_steps_share_the_state_or_else_the_action(
    over: tuple[bool, bool, bool], shared: tuple[bool, bool, bool] | None
) -> None:
    steps = (1, 3, 4)
    given = OneHot(Spaces(3, 2, 5), *over, steps)
    parts = [one.features.parts for one in readings(given)[2:]]
    assert parts == ([] if shared is None else [(OneHot(Spaces(3, 2, 5), *shared, steps), given)])


class TestThePrior:
    SHARES = np.exp(PRIOR) / np.exp(PRIOR).sum()

    @pytest.mark.parametrize("label", [0.0, 1.0])
    def test_labels_of_one_kind_do_not_speak(self, label: float) -> None:
        episodes = wander(np.random.default_rng(1), 9)
        shares = weigh(CHOICES, episodes, np.full(9, label), seed=0)
        np.testing.assert_allclose(shares, self.SHARES)

    def test_nor_do_none(self) -> None:
        np.testing.assert_allclose(weigh(CHOICES, [], np.empty(0), seed=0), self.SHARES)

    def test_one_label_of_each_kind_does(self) -> None:
        episodes = wander(np.random.default_rng(1), 2)
        shares = weigh(CHOICES, episodes, np.array([0.0, 1.0]), seed=0)
        assert np.abs(shares - self.SHARES).max() > 1e-3


def naive_rows(part: OneHot, episodes: Sequence[Trajectory]) -> Floats:
    """Counts by plain loops; which column is which does not matter to a kernel."""
    columns: dict[tuple[int | None, ...], int] = {}
    entries: list[tuple[int, int]] = []
    for i, one in enumerate(episodes):
        for h in part.steps:
            if h >= len(one) and not (one.ended and not part.action):
                continue
            s, a = staying(one, h)
            key = (h if part.step else None, s if part.state else None, a if part.action else None)
            entries.append((i, columns.setdefault(key, len(columns))))
    rows = np.zeros((len(episodes), len(columns)))
    for i, j in entries:
        rows[i, j] += 1.0
    return rows


def naive_shares(episodes: Sequence[Trajectory], labels: Floats, times: float = 1.0) -> Floats:
    """The posterior with dense matrices: counts over their maximum, blocks over their mean."""
    scores = []
    for log_prior, choice in zip(PRIOR, CHOICES, strict=True):
        kernel = np.full((len(labels), len(labels)), 9.0)
        for part, variance in zip(choice.features.parts, choice.variances, strict=True):
            rows = naive_rows(part, episodes)
            if choice.units == "own":
                rows = rows / rows.max(axis=0)
            rows /= math.sqrt(max(1.0, float(np.mean([row @ row for row in rows]))))
            kernel += variance * rows @ rows.T
        evidence = laplace_log_evidence(kernel, labels).log_evidence
        scores.append(2.0 * times * evidence + log_prior)
    shares = np.exp(np.array(scores) - max(scores))
    return shares / shares.sum()


@pytest.mark.parametrize("count", [5, 30])
def test_the_posterior_is_that_of_dense_kernels(count: int) -> None:
    episodes, labels = labelled(by_state, seed=3, count=count)
    assert 0 < labels.sum() < count
    shares = weigh(CHOICES, episodes, labels, seed=0)
    np.testing.assert_allclose(shares, naive_shares(episodes, labels), rtol=1e-6, atol=1e-12)


class TestPurity:
    def test_the_order_of_episodes_does_not_matter(self) -> None:
        episodes, labels = labelled(by_pair, seed=4, count=40)
        order = np.random.default_rng(5).permutation(40)
        shuffled = weigh(CHOICES, [episodes[i] for i in order], labels[order], seed=0)
        np.testing.assert_allclose(shuffled, weigh(CHOICES, episodes, labels, seed=0), rtol=1e-6)

    def test_nor_does_the_seed_while_every_episode_counts(self) -> None:
        episodes, labels = labelled(by_pair, seed=4, count=40)
        first, second = (weigh(CHOICES, episodes, labels, seed) for seed in (0, 1))
        np.testing.assert_array_equal(first, second)


class Recording(list[Trajectory]):
    """Episodes that note which of them were looked at."""

    def __init__(self, episodes: list[Trajectory]) -> None:
        super().__init__(episodes)
        self.seen: list[int] = []

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        self.seen.append(index)
        return super().__getitem__(index)


class TestManyEpisodes:
    """With more episodes than the evidence is taken on, some of both kinds speak for all."""

    def setup_method(self) -> None:
        self.episodes, self.labels = labelled(by_pair, seed=6, count=60)

    @pytest.fixture(autouse=True)
    def _few(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert MOST_EPISODES == 250
        monkeypatch.setattr(competition, "MOST_EPISODES", 20)

    def looked_at(self, labels: Floats, seed: int) -> tuple[list[int], Floats]:
        episodes = Recording(self.episodes)
        return episodes.seen, weigh(CHOICES, episodes, labels, seed)

    def test_they_stand_for_as_many_as_there_are_of_the_rarer_kind(self) -> None:
        kept, shares = self.looked_at(self.labels, seed=2)
        assert len(set(kept)) == len(kept) == 20
        labels = self.labels[kept]
        assert labels.sum() == 10
        rarer = min(self.labels.sum(), 60 - self.labels.sum())
        assert rarer > 10
        expected = naive_shares([self.episodes[i] for i in kept], labels, rarer / 10)
        np.testing.assert_allclose(shares, expected, rtol=1e-6, atol=1e-12)

    @pytest.mark.parametrize("kind", [0, 1])
    def test_the_rarer_kind_is_looked_at_whole(self, kind: int) -> None:
        labels = np.full(60, 1.0 - kind)
        labels[[3, 17, 40]] = kind
        kept, _ = self.looked_at(labels, seed=2)
        assert len(set(kept)) == len(kept) == 20
        assert {3, 17, 40} <= set(kept)

    @pytest.mark.parametrize("seed", range(5))
    def test_many_noisy_labels_do_not_speak_for_the_finest_map(self, seed: int) -> None:
        """One that can tell each episode apart would explain its noise, if it stood for others."""
        spaces, rng = Spaces(6, 3, 10), np.random.default_rng(seed)
        states, actions, episodes = scattered(spaces, rng, 600)
        chances = expit(1.5 + rng.normal(scale=0.25, size=(6, 3))[states, actions].sum(axis=1))
        labels = (rng.random(600) < chances).astype(np.float64)
        shares = weigh(candidates(spaces), episodes, labels, seed)
        assert sum(shares[i] for i, one in enumerate(CHOICES) if one.name in FINE) < 0.01

    def test_the_choice_is_fixed_by_the_seed(self) -> None:
        first, again, other = (self.looked_at(self.labels, seed)[0] for seed in (2, 2, 3))
        assert first == again != other

    def test_a_map_is_not_forgotten_while_all_goes_well(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Episodes that tell the maps apart, then 400 times one that succeeds."""
        monkeypatch.setattr(competition, "MOST_EPISODES", 60)
        episodes, labels = labelled(by_last_states, seed=8, count=40)
        good = episodes[int(np.argmax(labels))]
        before = weigh(CHOICES, episodes, labels, seed=0)
        after = [
            weigh(CHOICES, [*episodes, *[good] * 400], np.append(labels, np.ones(400)), seed)
            for seed in range(10)
        ]
        assert {int(np.argmax(shares)) for shares in after} == {int(np.argmax(before))}


class TestCheckpoint:
    EVEN = np.arange(2000) % 2
    RARE = (np.arange(2000) % 100 == 99).astype(np.int64)

    @staticmethod
    def points(labels: NDArray[np.int64]) -> list[int]:
        return [checkpoint(labels[:count]) for count in range(len(labels) + 1)]

    def test_without_labels_there_is_none(self) -> None:
        assert checkpoint(np.empty(0)) == 0

    @pytest.mark.parametrize("labels", [EVEN, RARE, 1 - RARE])
    def test_it_never_goes_back_nor_ahead(self, labels: NDArray[np.int64]) -> None:
        points = self.points(labels)
        assert all(a <= b for a, b in pairwise(points))
        assert all(point <= count for count, point in enumerate(points))

    @pytest.mark.parametrize("labels", [EVEN, RARE, 1 - RARE])
    def test_it_is_never_far_behind(self, labels: NDArray[np.int64]) -> None:
        """In no kind of labels, nor in all of them."""
        assert GROWTH == 1.25
        for count, point in enumerate(self.points(labels)):
            for seen, known in (
                (count, point),
                *((np.sum(labels[:count] == k), np.sum(labels[:point] == k)) for k in (0, 1)),
            ):
                assert known > seen / 1.25 - 1

    @pytest.mark.parametrize("labels", [EVEN, RARE, 1 - RARE])
    def test_it_moves_seldom(self, labels: NDArray[np.int64]) -> None:
        assert len(set(self.points(labels))) <= 1 + 3 * (1 + math.log(2000) / math.log(1.25))

    def test_the_first_bad_labels_after_many_good_ones_all_move_it(self) -> None:
        for bad in (1, 2, 3):
            labels = np.append(np.ones(500), np.zeros(bad))
            assert checkpoint(labels) == 500 + bad


def test_every_candidate_covers_the_spaces() -> None:
    """Also where the horizon is a single step."""
    for spaces in (Spaces(1, 1, 1), Spaces(4, 3, 25)):
        for choice in candidates(spaces):
            assert choice.features.spaces == spaces
            assert len(choice.variances) == len(choice.features.parts)
            assert all(variance > 0 for variance in choice.variances)
    late = candidates(Spaces(4, 3, 25))[5].features.parts[0]
    assert late.steps == (22, 23, 24)


def test_the_simplest_sees_a_little_of_the_action() -> None:
    simplest, every = CHOICES[0], tuple(range(H))
    assert simplest.features.parts == (
        OneHot(SPACES, False, True, False, every),
        OneHot(SPACES, False, True, True, every),
    )
    assert simplest.variances == (8.0, 1.0)
    # Every candidate has as much in all, but for the one in which each visit adds a little.
    assert [sum(choice.variances) for choice in CHOICES] == [9.0] * 7 + [1.0]
    assert [choice.units for choice in CHOICES] == ["own"] * 7 + ["common"]


class TestEvidenceThatCannotBeComputed:
    """A candidate whose solver fails must not win, and must not spoil the others' shares."""

    def test_it_has_no_share(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rng = np.random.default_rng(0)
        played = wander(rng, 40)
        labels = rng.integers(0, 2, size=40).astype(float)
        monkeypatch.setattr(evidence, "ITERATION_LIMIT", 8)  # enough for proper variances
        broken = replace(CHOICES[0], variances=(1e15, 1e15))
        shares = weigh([broken, *CHOICES[1:]], played, labels, seed=0)
        assert shares[0] == 0.0
        np.testing.assert_allclose(shares[1:], weigh(CHOICES[1:], played, labels, seed=0))

    def test_the_prior_holds_where_all_fail(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(evidence, "ITERATION_LIMIT", 1)
        rng = np.random.default_rng(0)
        labels = rng.integers(0, 2, size=40).astype(float)
        shares = weigh(CHOICES, wander(rng, 40), labels, seed=0)
        np.testing.assert_allclose(shares, np.exp(PRIOR) / np.exp(PRIOR).sum())
