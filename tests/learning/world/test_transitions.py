"""Transition counts against a dictionary, and guesses against the law that they claim."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import InvalidValue
from app.learning.spaces import Spaces
from app.learning.trajectory import UNREPORTED, Trajectory
from app.learning.world.transitions import TransitionCounts

S, A, H = 3, 2, 4
SPACES = Spaces(S, A, H)
NOWHERE = 2 * S  # the column of an end that nobody located


def episode(states: list[int], actions: list[int], final: int = UNREPORTED, ended: bool = False):
    return Trajectory(np.array(states, dtype=int), np.array(actions, dtype=int), final, ended)


def counted(*episodes: Trajectory) -> TransitionCounts:
    counts = TransitionCounts(SPACES)
    for one in episodes:
        counts.add(one)
    return counts


def state_of(counts: TransitionCounts) -> dict[str, list[int]]:
    return {key: array.tolist() for key, array in counts.arrays().items()}


@st.composite
def episodes(draw: st.DrawFn) -> Trajectory:
    n = draw(st.integers(0, H))
    states = draw(st.lists(st.integers(0, S - 1), min_size=n, max_size=n))
    actions = draw(st.lists(st.integers(0, A - 1), min_size=n, max_size=n))
    return episode(states, actions, draw(st.integers(-1, S - 1)), draw(st.booleans()))


def naive(played: list[Trajectory]) -> tuple[Counter, Counter, Counter]:
    """(what followed (s, a), visits of (s, a), first states), by plain loops."""
    followed: Counter = Counter()
    visits: Counter = Counter()
    starts: Counter = Counter()
    for one in played:
        for h in range(len(one)):
            pair = int(one.states[h]), int(one.actions[h])
            visits[pair] += 1
            if h == 0:
                starts[pair[0]] += 1
            if h + 1 < len(one):
                followed[*pair, int(one.states[h + 1])] += 1
            elif one.ended:
                followed[*pair, NOWHERE if one.final == UNREPORTED else S + one.final] += 1
            elif one.final != UNREPORTED:
                followed[*pair, one.final] += 1
    return followed, visits, starts


@settings(max_examples=200, deadline=None)
@given(st.lists(episodes(), max_size=12))
def test_counts_are_those_of_a_dictionary(played: list[Trajectory]) -> None:
    followed, visits, starts = naive(played)
    counts = counted(*played)
    estimate = counts.estimate().dense()
    for s, a in np.ndindex(S, A):
        assert counts.visits[s * A + a] == visits[s, a]
        row = np.array([followed[s, a, column] for column in range(2 * S + 1)], dtype=float)
        if row.sum() == 0:
            row[:S] = 1.0
        np.testing.assert_allclose(estimate[s * A + a], row / row.sum())
    assert counts.starts.tolist() == [starts[s] for s in range(S)]
    first = np.array([starts[s] for s in range(S)]) if starts else np.ones(S)
    np.testing.assert_allclose(counts.start(), first / first.sum())


class TestWhatFollows:
    def test_a_state_passed_through_is_not_one_ended_in(self) -> None:
        through = episode([0, 2, 1], [1, 0, 0])
        ended = episode([0], [1], final=2, ended=True)
        row = counted(through, ended, ended).estimate().dense()[0 * A + 1]
        assert row[2] == pytest.approx(1 / 3)
        assert row[S + 2] == pytest.approx(2 / 3)

    def test_an_end_that_nobody_located_has_a_column_of_its_own(self) -> None:
        row = counted(episode([1], [0], ended=True)).estimate().dense()[1 * A + 0]
        assert row.tolist() == [0.0] * NOWHERE + [1.0]

    def test_a_missing_successor_is_a_visit_but_not_in_the_ratio(self) -> None:
        """The horizon came after the second (0, 1); what that led to nobody knows."""
        counts = counted(episode([0, 0], [1, 1]))
        assert counts.visits[0 * A + 1] == 2
        row = counts.estimate().dense()[0 * A + 1]
        assert row[0] == 1.0
        assert row.sum() == 1.0

    def test_a_last_step_alone_leaves_its_row_unseen(self) -> None:
        counts = counted(episode([1], [1]))
        assert counts.visits[1 * A + 1] == 1
        assert not counts.estimate().seen.any()

    def test_a_reported_successor_of_the_last_step_counts(self) -> None:
        counts = counted(episode([0, 1, 0, 1], [0, 0, 0, 1], final=2))
        assert counts.estimate().dense()[1 * A + 1, 2] == 1.0

    @pytest.mark.parametrize(("final", "ended"), [(2, False), (0, True), (UNREPORTED, True)])
    def test_a_successor_reported_later_counts_the_same(self, final: int, ended: bool) -> None:
        silent = episode([0, 1, 2], [1, 0, 1])
        told = episode([0, 1, 2], [1, 0, 1], final, ended)
        counts = counted(silent, silent)
        counts.report(told)
        assert state_of(counts) == state_of(counted(told, silent))
        counts.report(silent)  # still unknown
        counts.report(episode([], [], final, ended))
        assert state_of(counts) == state_of(counted(told, silent))

    def test_first_states_are_counted_once_an_episode(self) -> None:
        counts = counted(episode([0, 1], [0, 0]), episode([2], [1]), episode([2, 2], [1, 1]))
        assert counts.starts.tolist() == [1, 0, 2]
        np.testing.assert_allclose(counts.start(), [1 / 3, 0.0, 2 / 3])

    def test_unvisited_rows_are_uniform_over_the_states(self) -> None:
        matrix = counted().estimate().dense()
        np.testing.assert_allclose(matrix[:, :S], 1.0 / S)
        assert not matrix[:, S:].any()
        assert len(counted().estimate().columns) == 0  # and take no memory

    def test_an_episode_without_actions_teaches_nothing(self) -> None:
        assert state_of(counted(episode([], [], final=1, ended=True))) == state_of(counted())


PLAYED = (
    episode([0, 1, 0, 1], [0, 0, 0, 1], final=2),
    episode([0, 1], [0, 1], final=0, ended=True),
    episode([0, 0], [0, 0], ended=True),
)


class TestDraw:
    """What was tried is drawn by its counts and where its state led; the rest stays as it is."""

    def test_entries_follow_the_law_of_a_dirichlet(self) -> None:
        """Each entry of a row is Beta(own, others): mean and square lie in [0, 1], so by
        Hoeffding, with a union over the entries, a right draw fails with probability below 1e-6.
        """
        counts, n, rng = counted(*PLAYED), 4000, np.random.default_rng(5)
        draws = np.array([counts.draw(rng, mass=2.0).dense() for _ in range(n)])
        seen = counts.estimate().seen
        own = np.where(seen[:, None], counts.estimate().dense(), 0.0)
        own *= counts.successors()[:, None]
        led = own.reshape(S, A, -1).sum(axis=1)
        with np.errstate(invalid="ignore"):
            own += np.repeat(2.0 * led / led.sum(axis=1, keepdims=True), A, axis=0)
        total = own.sum(axis=1, keepdims=True)
        mean, square = own / total, own * (own + 1) / (total * (total + 1))
        assert ((mean[seen] > 0) & (mean[seen] < 1)).sum() >= 4
        margin = np.sqrt(np.log(4 * mean.size / 1e-6) / (2 * n))
        assert np.abs(draws.mean(axis=0) - mean)[seen].max() < margin
        assert np.abs((draws**2).mean(axis=0) - square)[seen].max() < margin

    def test_an_action_that_always_fell_may_lead_where_others_do(self) -> None:
        stays = episode([0, 0, 0], [1, 1, 1], 1)
        falls = episode([0], [0], 2, ended=True)
        counts = counted(stays, falls, falls)
        assert counts.estimate().dense()[0, S + 2] == 1.0
        drawn = counts.draw(np.random.default_rng(1)).dense()[0]
        assert 0.0 < drawn[0] < 1.0
        assert set(np.flatnonzero(drawn)) == {0, 1, S + 2}

    def test_rows_that_were_never_seen_are_the_estimate(self) -> None:
        counts = counted(*PLAYED)
        model = counts.draw(np.random.default_rng(1))
        np.testing.assert_array_equal(model.seen, counts.estimate().seen)
        assert not model.seen.all()


class TestGuess:
    """What was never tried is guessed; what was tried stays the estimate."""

    def test_rows_that_were_seen_are_the_estimate(self) -> None:
        counts = counted(*PLAYED)
        estimate = counts.estimate()
        assert 0 < estimate.seen.sum() < S * A
        for seed in range(5):
            guess = counts.guess(np.random.default_rng(seed)).dense()
            np.testing.assert_allclose(guess[estimate.seen], estimate.dense()[estimate.seen])

    @pytest.mark.parametrize("few", [1, 2, 3, 9])
    def test_the_others_are_distributions_over_few_states(self, few: int) -> None:
        for counts in (counted(), counted(*PLAYED)):
            model = counts.guess(np.random.default_rng(1), few)
            assert model.seen.all()
            guessed = ~counts.estimate().seen
            rows = model.dense()[guessed]
            np.testing.assert_allclose(rows.sum(axis=1), 1.0)
            assert not rows[:, S:].any()  # nothing is guessed to end an episode
            assert (np.diff(model.indptr)[guessed] <= few).all()

    def test_on_average_every_state_is_as_likely(self) -> None:
        """Entries lie in [0, 1]: by Hoeffding, with a union over the entries, a right guess
        fails with probability below 1e-6.
        """
        counts, n, rng = counted(), 4000, np.random.default_rng(7)
        mean = sum(counts.guess(rng).dense()[:, :S] for _ in range(n)) / n
        assert np.abs(mean - 1 / S).max() < np.sqrt(np.log(2 * mean.size / 1e-6) / (2 * n))

    def test_a_guess_is_as_uneven_as_a_dirichlet_of_its_mass(self) -> None:
        """Two random states, the prior's mass of 0.5 shared between them.

        The share of one state is 0 when neither is it, 1 when both are, else Beta(1/4, 1/4). Its
        square lies in [0, 1]: Hoeffding, probability of failure below 1e-6.
        """
        counts, n, rng = counted(), 8000, np.random.default_rng(8)
        a = 0.25
        expected = 1 / 9 + 4 / 9 * a * (a + 1) / (2 * a * (2 * a + 1))
        draws = [counts.guess(rng, few=2, mass=0.5).dense()[0, 1] ** 2 for _ in range(n)]
        assert abs(np.mean(draws) - expected) < np.sqrt(np.log(2e6) / (2 * n))

    def test_the_same_generator_gives_the_same_model(self) -> None:
        counts = counted(*PLAYED)
        first, second, third = (
            counts.guess(np.random.default_rng(seed)).dense() for seed in (1, 1, 2)
        )
        np.testing.assert_array_equal(first, second)
        assert not np.array_equal(first, third)

    def test_it_changes_no_count(self) -> None:
        counts = counted(*PLAYED)
        before = state_of(counts)
        counts.guess(np.random.default_rng(1))
        assert state_of(counts) == before


@settings(max_examples=50, deadline=None)
@given(st.lists(episodes(), max_size=8), episodes())
def test_arrays_give_the_same_counts_back(played: list[Trajectory], one_more: Trajectory) -> None:
    counts, restored = counted(*played), TransitionCounts(SPACES)
    restored.load(counts.arrays())
    assert state_of(restored) == state_of(counts)
    before = state_of(counts)
    restored.add(one_more)
    assert state_of(counts) == before  # nothing is shared
    counts.add(one_more)
    assert state_of(restored) == state_of(counts)


@pytest.mark.parametrize("spaces", [Spaces(S + 1, A, H), Spaces(S, A + 1, H)])
def test_counts_of_other_spaces_are_refused(spaces: Spaces) -> None:
    with pytest.raises(InvalidValue) as caught:
        TransitionCounts(spaces).load(counted().arrays())
    assert caught.value.field == "transitions"


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (episode([0, S], [0, 0]), "trajectory.states"),
        (episode([-1, 0], [0, 0]), "trajectory.states"),
        (episode([0, 0], [0, A]), "trajectory.actions"),
        (episode([0, 0], [-1, 0]), "trajectory.actions"),
        (episode([0, 0], [0]), "trajectory"),
        (episode([0], [0, 0]), "trajectory"),
        (episode([0] * (H + 1), [0] * (H + 1)), "trajectory"),
        (episode([0], [0], final=S), "trajectory.final"),
        (episode([0], [0], final=-2, ended=True), "trajectory.final"),
        (Trajectory(np.array([0.0, 0.5]), np.array([0, 0])), "trajectory.states"),
        (Trajectory(np.array([0, 1]), np.array([0.0, np.nan])), "trajectory.actions"),
        (Trajectory(np.array([]), np.array([]), final=0, ended=True), "trajectory.states"),
    ],
)
def test_a_bad_trajectory_changes_nothing(bad: Trajectory, field: str) -> None:
    counts = counted(*PLAYED)
    before = state_of(counts)
    with pytest.raises(InvalidValue) as caught:
        counts.add(bad)
    assert caught.value.field == field
    assert state_of(counts) == before


def test_the_longest_trajectory_is_taken() -> None:
    Trajectory(np.full(H, S - 1), np.full(H, A - 1), S - 1, ended=True).check(S, A, H)
