"""Gymnasium spaces as whole numbers and back, and what cannot be one."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

import plaudit
from plaudit.gym.adapter import OutOfBounds, adapt, adapt_to
from plaudit.gym.codecs import Binned, Levels
from plaudit.gym.description import describe
from plaudit.gym.spaces import Cut, action_codec, state_codec

leaves = st.one_of(
    st.builds(spaces.Discrete, st.integers(1, 6), start=st.integers(-3, 3)),
    st.builds(
        lambda nvec, start: spaces.MultiDiscrete(nvec, start=[start] * len(nvec)),
        st.lists(st.integers(1, 4), min_size=1, max_size=3),
        st.integers(-2, 2),
    ),
    st.builds(spaces.MultiBinary, st.integers(1, 4)),
    st.just(spaces.MultiDiscrete([[2, 3], [1, 4]])),
    st.just(spaces.MultiBinary([2, 2])),
)
whole = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(spaces.Tuple, st.lists(inner, min_size=1, max_size=3)),
        st.builds(
            spaces.Dict,
            st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3),
        ),
    ),
    max_leaves=4,
)


def same(first, second):
    """Whether two values of a space are equal, arrays and containers too."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[k], second[k]) for k in first)
    if isinstance(first, tuple):
        return all(same(a, b) for a, b in zip(first, second, strict=True))
    return np.array_equal(first, second)


@settings(deadline=None)
@given(whole, st.integers(0, 2**31))
def test_every_value_has_a_number_of_its_own(space, seed):
    codec = state_codec(space, Cut())
    space.seed(seed)
    value = space.sample()
    number = codec.encode(value)
    assert 0 <= number < codec.size
    again = codec.decode(number)
    assert same(again, value)
    assert again in space


@settings(deadline=None)
@given(whole)
def test_every_number_has_a_value_of_its_own(space):
    codec = state_codec(space, Cut())
    for number in range(min(codec.size, 300)):
        value = codec.decode(number)
        assert value in space
        assert codec.encode(value) == number


def test_the_last_part_counts_fastest():
    space = spaces.Tuple([spaces.Discrete(3), spaces.Discrete(4, start=1)])
    codec = state_codec(space, Cut())
    assert codec.size == 12
    assert [codec.encode(value) for value in [(0, 1), (0, 2), (1, 1), (2, 4)]] == [0, 1, 4, 11]


class TestBoxes:
    def test_bins(self):
        space = spaces.Box(np.float32([-1.0, 0.0]), np.float32([1.0, 10.0]))
        codec = state_codec(space, Cut(bins=[4, 5]))
        assert codec.size == 20
        assert codec.encode(np.array([-1.0, 0.0])) == 0
        assert codec.encode(np.array([99.0, 99.0])) == 19
        for number in range(20):
            assert codec.encode(codec.decode(number)) == number

    def test_levels_of_actions_hold_the_bounds(self):
        codec = action_codec(spaces.Box(-2.0, 2.0, (1,)), Cut(action_bins=5))
        values = [codec.decode(i).item() for i in range(codec.size)]
        assert values == [-2.0, -1.0, 0.0, 1.0, 2.0]
        (middle,) = Levels((1,), (0.0,), (4.0,), (1,)).decode(0)
        assert middle == 2.0

    def test_whole_numbers_stay_whole(self):
        codec = action_codec(spaces.Box(0, 8, (2,), dtype=np.int64), Cut(action_bins=3))
        assert codec.decode(8).dtype == np.int64
        assert codec.decode(8).tolist() == [8, 8]

    def test_inside_a_dict(self):
        space = spaces.Dict({"where": spaces.Box(0.0, 1.0, (2,)), "holds": spaces.Discrete(2)})
        codec = state_codec(space, Cut(bins=3))
        assert codec.size == 18

    def test_nan_is_refused(self):
        with pytest.raises(plaudit.InvalidArgument, match="nan"):
            Binned((1,), (0.0,), (1.0,), (2,)).encode(np.array([np.nan]))


class TestNumbersAsTheyAre:
    def test_a_side_without_a_bound_is_null(self):
        space = adapt(gym.make("CartPole-v1"), Cut()).states
        assert (space.kind, space.bins) == ("box", None)
        assert space.low == [pytest.approx(-4.8), None, pytest.approx(-0.419, abs=1e-3), None]
        assert space.high == [pytest.approx(4.8), None, pytest.approx(0.419, abs=1e-3), None]

    def test_bounds_of_the_user_come_first(self):
        space = adapt(gym.make("CartPole-v1"), Cut(low=-3.0), "smooth").states
        assert space.low == [-3.0] * 4

    def test_numbers_outside_are_sent_as_they_are(self, recwarn):
        adapter = adapt(gym.make("MountainCar-v0"), Cut())
        assert adapter.state(np.array([5.0, 0.0])) == [5.0, 0.0]
        assert not [w for w in recwarn if w.category is OutOfBounds]

    def test_reinforce_needs_bounds(self):
        with pytest.raises(plaudit.UnsupportedSpace, match="dimension 1, 3"):
            adapt(gym.make("CartPole-v1"), Cut(), "reinforce")


class TestRefused:
    """Each says what to do."""

    def test_continuous_actions(self):
        with pytest.raises(plaudit.UnsupportedSpace, match="action_bins=5"):
            action_codec(spaces.Box(-1.0, 1.0, (2,)), Cut())

    def test_no_bounds(self):
        with pytest.raises(plaudit.UnsupportedSpace, match=r"dimension 1, 3.*low=.*high="):
            adapt(gym.make("CartPole-v1"), Cut(bins=4))

    def test_the_bounds_it_asks_for_are_taken(self):
        low, high = [-2.4, -3.0, -0.21, -3.0], [2.4, 3.0, 0.21, 3.0]
        adapter = adapt(gym.make("CartPole-v1"), Cut(bins=[4, 4, 6, 4], low=low, high=high))
        assert adapter.states == plaudit.Space("box", low=low, high=high, bins=[4, 4, 6, 4])

    def test_too_many_bins_by_default(self):
        env = gym.Env()
        env.observation_space = spaces.Box(0.0, 1.0, (9,))
        env.action_space = spaces.Discrete(2)
        with pytest.raises(plaudit.UnsupportedSpace, match=r'bins=\[…\].*algorithm="smooth"'):
            adapt(env, Cut(), "thompson")
        assert adapt(env, Cut(), "reinforce").states.bins is None
        assert adapt(env, Cut(), {"kind": "reinforce"}).states.bins is None

    @pytest.mark.parametrize(
        "space",
        [
            spaces.Text(5),
            spaces.Sequence(spaces.Discrete(2)),
            spaces.Graph(spaces.Discrete(2), None),
        ],
    )
    def test_without_a_fixed_number_of_values(self, space):
        with pytest.raises(plaudit.UnsupportedSpace, match="wrap the environment"):
            state_codec(space, Cut())
        with pytest.raises(plaudit.UnsupportedSpace, match=r"observation space\['x'\]"):
            state_codec(spaces.Dict({"x": space}), Cut())

    @pytest.mark.parametrize(
        ("cut", "message"),
        [
            (Cut(bins=[2, 2]), "Give one, or 1"),
            (Cut(low=[0.0, 1.0]), "Give one, or 1"),
            (Cut(low=2.0, high=1.0), "below its high"),
        ],
    )
    def test_bounds_and_bins_that_do_not_fit(self, cut, message):
        with pytest.raises(plaudit.InvalidArgument, match=message):
            state_codec(spaces.Box(0.0, 1.0, (1,)), cut)

    def test_an_observation_that_is_not_in_its_space(self):
        codec = state_codec(spaces.Discrete(4), Cut())
        for value in (4, -1, 1.5, "x"):
            with pytest.raises(plaudit.InvalidArgument, match="Correct the environment"):
                codec.encode(value)
        with pytest.raises(plaudit.InvalidArgument, match="3 values where its space has 2"):
            state_codec(spaces.MultiDiscrete([2, 2]), Cut()).encode([0, 1, 1])

    def test_no_horizon(self):
        env = gym.make("FrozenLake-v1").unwrapped
        env.spec = None
        with pytest.raises(plaudit.InvalidArgument, match="horizon="):
            describe(env, Cut(), None, None)
        assert describe(env, Cut(), None, 30).horizon == 30


def test_a_frozen_lake_is_drawn_as_a_grid():
    described = describe(gym.make("FrozenLake8x8-v1"), Cut(), None, None)
    assert described.states.n == 64
    assert described.horizon == 200
    assert {name: described.display[name] for name in ("kind", "rows", "cols")} == {
        "kind": "grid",
        "rows": 8,
        "cols": 8,
    }
    assert described.display["cells"]["hole"] == [19, 29, 35, 41, 42, 46, 49, 52, 54, 59]


def test_leaving_the_bounds_is_said_once(recwarn):
    env = gym.Env()
    env.observation_space = spaces.Box(0.0, 1.0, (2,))
    env.action_space = spaces.Discrete(2)
    adapter = adapt(env, Cut(bins=4))
    assert adapter.state(np.array([0.5, 0.5])) == [0.5, 0.5]
    with pytest.warns(OutOfBounds, match=r"number 1 is 3, outside 0 to 1.*high="):
        assert adapter.state(np.array([0.5, 3.0])) == [0.5, 3.0]
    adapter.state(np.array([0.5, 4.0]))


class TestExistingAgents:
    def view(self, **changes):
        from datetime import UTC, datetime

        fields = {
            "id": "agt_x",
            "name": "x",
            "states": plaudit.Space("discrete", n=16),
            "actions": plaudit.Space("discrete", n=4),
            "horizon": 100,
            "paused": False,
            "created_at": datetime.now(UTC),
            "episodes": plaudit.EpisodeCounts(0, 0, 0, 0, 0),
            "policy_version": 0,
            "pinned_version": None,
            "timing": None,
            "learning": "idle",
            "learning_error": None,
            "success_rate": None,
            "plan": None,
            "evaluation": None,
            "metadata": {},
            "progress": {},
            "warnings": [],
            "question": None,
            "guidelines": None,
            "guidelines_version": 0,
            "examples": plaudit.Examples(),
        }
        return plaudit.AgentView(**fields | changes)

    def test_that_fit(self):
        adapter = adapt_to(self.view(), gym.make("FrozenLake-v1"))
        assert (adapter.state(np.int64(3)), adapter.action(2)) == (3, 2)

    def test_that_do_not_fit(self):
        with pytest.raises(plaudit.InvalidArgument, match=r"states .*500.*agent .*16"):
            adapt_to(self.view(), gym.make("Taxi-v4"))
        with pytest.raises(plaudit.InvalidArgument, match=r"actions .*6.*agent .*4"):
            adapt_to(self.view(states=plaudit.Space("discrete", n=500)), gym.make("Taxi-v4"))

    def test_how_numbers_were_cut_is_kept_in_the_metadata(self):
        env = gym.make("Pendulum-v1")
        cut = Cut(bins=[4, 4, 5], action_bins=3)
        described = describe(env, cut, None, None)
        view = self.view(
            states=described.states, actions=described.actions, metadata=dict(described.metadata)
        )
        adapter = adapt_to(view, env)
        assert adapter.action(2).tolist() == [2.0]
        assert adapter.state(np.zeros(3, dtype=np.float32)) == [0.0, 0.0, 0.0]
