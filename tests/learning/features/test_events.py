"""Events against their words: a naive reading of paths, and the automaton; rows of many at once."""

import numpy as np
import pytest

from app.errors import BudgetExceeded, InvalidValue
from app.learning.features.automaton import Automaton
from app.learning.features.blocks import Blocks
from app.learning.features.event_automaton import MOST_MEMORIES
from app.learning.features.events import SIZES, PathEvent, PathEvents
from app.learning.features.one_hot import OneHot
from app.learning.features.table import Table
from app.learning.spaces import Spaces
from app.learning.trajectory import UNREPORTED, Trajectory

SPACES = Spaces(4, 3, 5)


def naive(event, path):
    """Whether an event happened on a list of states, by looking at every pair of steps."""
    if event.kind == "visited":
        return event.states[0] in path
    a, b = event.states
    if event.kind == "both":
        return a in path and b in path
    return any(path[i] == a and path[j] == b for j in range(len(path)) for i in range(j))


def path_of(trajectory, spaces=SPACES):
    """The states of steps 0..H-1 as far as they are known."""
    path = trajectory.states.tolist()
    if trajectory.ended and trajectory.final != UNREPORTED:
        path += [trajectory.final] * (spaces.horizon - len(path))
    return path


def random_events(rng, states=4, most=4):
    made = {}
    for _ in range(int(rng.integers(1, most + 1))):
        states_of = tuple(rng.choice(states, 2, replace=False).tolist())
        kind = str(rng.choice(list(SIZES)))
        event = PathEvent(kind, states_of[:1] if kind == "visited" else states_of)
        made[event.meaning] = event
    return tuple(made.values())


def random_trajectory(rng, spaces=SPACES):
    ended = rng.random() < 0.5
    length = int(rng.integers(1, spaces.horizon + 1)) if ended else spaces.horizon
    final = int(rng.integers(-1, spaces.states)) if rng.random() < 0.8 else UNREPORTED
    states = rng.integers(spaces.states, size=length)
    return Trajectory(states, rng.integers(spaces.actions, size=length), final, bool(ended))


class TestRows:
    def test_every_event_is_read_as_its_words_say(self):
        rng = np.random.default_rng(1)
        happened = 0
        for _ in range(400):
            features, trajectory = PathEvents(SPACES, random_events(rng)), random_trajectory(rng)
            indices, values = features.row(trajectory)
            expected = [
                i for i, event in enumerate(features.events) if naive(event, path_of(trajectory))
            ]
            assert indices.tolist() == expected
            assert values.tolist() == [1.0] * len(expected)
            happened += len(expected)
        assert happened > 200

    def test_the_order_matters_only_to_then(self):
        events = (PathEvent("both", (0, 1)), PathEvent("then", (0, 1)), PathEvent("then", (1, 0)))
        features = PathEvents(SPACES, events)
        there = Trajectory(np.array([0, 2, 1, 2, 2]), np.zeros(5, dtype=int))
        assert features.row(there)[0].tolist() == [0, 1]
        back = Trajectory(np.array([1, 0, 0, 2, 2]), np.zeros(5, dtype=int))
        assert features.row(back)[0].tolist() == [0, 2]

    def test_where_an_episode_ends_is_visited_while_steps_are_left(self):
        features = PathEvents(SPACES, (PathEvent("visited", (3,)), PathEvent("then", (0, 3))))
        early = Trajectory(np.array([0, 1]), np.array([0, 0]), 3, ended=True)
        assert features.row(early)[0].tolist() == [0, 1]
        nowhere = Trajectory(np.array([0, 1]), np.array([0, 0]), UNREPORTED, ended=True)
        assert features.row(nowhere)[0].tolist() == []
        late = Trajectory(np.array([0, 1, 1, 1, 1]), np.zeros(5, dtype=int), 3, ended=True)
        assert features.row(late)[0].tolist() == []

    def test_the_norm_bound_is_reached(self):
        events = (PathEvent("visited", (0,)), PathEvent("both", (0, 1)), PathEvent("then", (1, 0)))
        features = PathEvents(SPACES, events)
        everything = Trajectory(np.array([0, 1, 0, 0, 0]), np.zeros(5, dtype=int))
        _, values = features.row(everything)
        assert np.linalg.norm(values) == pytest.approx(features.largest_norm(), rel=1e-15)


class TestAutomaton:
    @pytest.mark.parametrize(
        ("events", "memories"),
        [
            ([PathEvent("visited", (0,))], 2),
            ([PathEvent("both", (0, 1))], 4),
            ([PathEvent("then", (0, 1))], 3),
            (
                [PathEvent("visited", (0,)), PathEvent("visited", (1,)), PathEvent("both", (0, 1))],
                4,
            ),
            (
                [PathEvent("then", (0, 1)), PathEvent("then", (1, 0))],
                6,
            ),  # none, 0, 1, 01, 10, both ways
            ([PathEvent("visited", (i,)) for i in range(4)], 16),
        ],
    )
    def test_it_is_small(self, events, memories):
        assert len(PathEvents(SPACES, tuple(events)).automaton.vectors) == memories

    def test_it_reads_as_the_words_say(self):
        rng = np.random.default_rng(2)
        for _ in range(300):
            features = PathEvents(SPACES, random_events(rng))
            automaton = features.automaton
            memory, path = 0, []
            for state in rng.integers(SPACES.states, size=7).tolist():
                path.append(state)
                memory = automaton.transitions[memory, state]
                expected = [naive(event, path) for event in features.events]
                assert automaton.vectors[memory].tolist() == expected

    def test_its_rows_are_those_of_the_events(self):
        rng = np.random.default_rng(7)
        for _ in range(300):
            features, trajectory = PathEvents(SPACES, random_events(rng)), random_trajectory(rng)
            for ours, theirs in zip(
                features.automaton.row(trajectory), features.row(trajectory), strict=True
            ):
                assert ours.tolist() == theirs.tolist()

    def test_no_two_memories_are_the_same(self):
        """Any two differ after some path of states: the automaton is the smallest there is."""
        rng = np.random.default_rng(3)
        for _ in range(40):
            automaton = PathEvents(SPACES, random_events(rng)).automaton
            update = automaton.transitions
            kinds = automaton.vectors @ 2.0 ** np.arange(automaton.dimension)
            for _ in range(len(kinds)):  # Moore's refinement
                seen = np.column_stack([kinds, kinds[update]])
                kinds = np.unique(seen, axis=0, return_inverse=True)[1].ravel().astype(float)
            assert len(np.unique(kinds)) == len(update)

    def test_too_much_to_remember_is_refused(self):
        spaces = Spaces(20, 2, 30)
        features = PathEvents(spaces, tuple(PathEvent("visited", (i,)) for i in range(20)))
        with pytest.raises(BudgetExceeded, match="list fewer events") as caught:
            _ = features.automaton
        assert caught.value.allowed == MOST_MEMORIES < caught.value.needed
        assert len(features.row(Trajectory(np.arange(20), np.zeros(20, dtype=int)))[0]) == 20

    def test_too_many_states_are_refused_before_they_are_joined(self):
        spaces = Spaces(10**9, 2, 30)
        features = PathEvents(spaces, (PathEvent("both", (0, 1)),))
        with pytest.raises(BudgetExceeded, match="lower the number of states") as caught:
            _ = features.automaton
        assert caught.value.needed == 4e9


class TestRefusals:
    @pytest.mark.parametrize(
        ("kind", "states"),
        [("visited", ()), ("visited", (0, 1)), ("both", (1,)), ("both", (1, 1)), ("then", (2, 2))],
    )
    def test_states_that_make_no_event(self, kind, states):
        with pytest.raises(InvalidValue, match=kind):
            PathEvent(kind, states)

    @pytest.mark.parametrize("state", [-1, 4])
    def test_states_that_do_not_exist(self, state):
        events = (PathEvent("visited", (0,)), PathEvent("then", (0, state)))
        with pytest.raises(InvalidValue) as caught:
            PathEvents(SPACES, events)
        assert caught.value.field == "features.events.1.then"
        assert caught.value.expected == "states from 0 to 3"

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (PathEvent("visited", (1,)), PathEvent("visited", (1,))),
            (PathEvent("both", (1, 2)), PathEvent("both", (2, 1))),
            (PathEvent("then", (1, 2)), PathEvent("then", (1, 2))),
        ],
    )
    def test_the_same_event_twice(self, first, second):
        with pytest.raises(InvalidValue, match="not listed yet") as caught:
            PathEvents(SPACES, (first, second))
        assert caught.value.field == "features.events.1"

    def test_the_other_order_is_another_event(self):
        assert (
            PathEvents(SPACES, (PathEvent("then", (1, 2)), PathEvent("then", (2, 1)))).dimension
            == 2
        )

    def test_none_at_all(self):
        with pytest.raises(InvalidValue, match="at least one"):
            PathEvents(SPACES, ())


def maps():
    rng = np.random.default_rng(4)
    H, S, A = SPACES.shape
    yield from (
        OneHot(SPACES, step, state, action, steps)
        for step in (False, True)
        for state in (False, True)
        for action in (False, True)
        for steps in ((0, 1, 2, 3, 4), (1, 3), (4,))
        if step or state or action
    )
    yield Table(SPACES, rng.normal(size=(S, A, 3)))
    yield Table(SPACES, rng.integers(-1, 2, size=(H, S, A, 2)).astype(float))
    yield PathEvents(SPACES, random_events(rng))
    update, ends = rng.integers(3, size=(3, S, A)), rng.integers(3, size=(3, S))
    yield Automaton(SPACES, update, rng.normal(size=(3, 2)), ends)
    parts = (OneHot(SPACES, False, True, False, (0, 1, 2, 3, 4)), Table(SPACES, np.ones((S, A, 1))))
    yield Blocks(SPACES, parts)


@pytest.mark.parametrize("features", list(maps()), ids=lambda one: type(one).__name__)
def test_many_rows_are_the_rows_of_each(features):
    """As the exact planner asks for them: many episodes of one length, ended or at the horizon."""
    rng = np.random.default_rng(5)
    H, S, A = SPACES.shape
    for length in range(1, H + 1):
        states, actions = rng.integers(S, size=(30, length)), rng.integers(A, size=(30, length))
        ended = rng.integers(S + 1, size=30) if length < H else np.full(30, -1)
        rows = features.rows(states, actions, ended).toarray()
        for i in range(30):
            final = UNREPORTED if ended[i] in (-1, S) else int(ended[i])
            trajectory = Trajectory(states[i], actions[i], final, bool(ended[i] >= 0))
            expected = np.zeros(features.dimension)
            indices, values = features.row(trajectory)
            expected[indices] = values
            np.testing.assert_allclose(rows[i], expected, rtol=1e-13, atol=0.0)
