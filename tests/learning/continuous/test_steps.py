import numpy as np

from app.learning.continuous.steps import Path, gather


def path(rows, final=None, ended=False):
    seen = np.array(rows, dtype=np.float64).reshape(-1, 1)
    end = None if final is None else np.array([final], dtype=np.float64)
    return Path(seen, np.arange(len(seen)) % 2, end, ended)


def test_every_step_with_a_known_successor_is_a_transition():
    steps = gather([path([1, 2], final=3, ended=True), path([5, 6, 7])], 1)
    assert steps.before.ravel().tolist() == [1, 2, 5, 6]
    assert steps.after.ravel().tolist() == [2, 3, 6, 7]
    assert steps.actions.tolist() == [0, 1, 0, 1]
    assert steps.ended.tolist() == [0, 1, 0, 0]


def test_a_last_step_without_a_report_is_kept_apart():
    steps = gather([path([1, 2], ended=True), path([4])], 1)
    assert steps.open_before.ravel().tolist() == [2, 4]
    assert steps.open_actions.tolist() == [1, 0]
    assert steps.open_ended.tolist() == [1, 0]


def test_visited_states_include_where_episodes_ended():
    steps = gather([path([1, 2], final=3, ended=True), path([5], final=6), path([8])], 1)
    assert sorted(steps.visited().ravel().tolist()) == [1, 2, 3, 5, 8]


def test_no_paths_give_no_steps():
    steps = gather([], 3)
    assert len(steps) == 0
    assert steps.visited().shape == (0, 3)


def test_a_sample_keeps_each_transition_whole():
    steps = gather([path(range(50), final=50)], 1).sample(10, np.random.default_rng(0))
    assert len(steps) == 10
    assert (steps.after - steps.before == 1).all()
    assert len(np.unique(steps.before)) == 10
