"""How long starts wait, from the agent's own record."""

import pytest

from app.service.agents.pace import MovingAverage, Pace


def pace(learning=None, episode=None):
    made = Pace()
    for part, seconds in ((made.learning, learning), (made.episode, episode)):
        if seconds is not None:
            part.record(seconds)
    return made


def test_an_average_moves_towards_what_is_new():
    average = MovingAverage()
    assert average.seconds is None
    average.record(1.0)
    assert average.seconds == 1.0
    average.record_all([2.0] * 30)
    assert average.seconds == pytest.approx(2.0, abs=1e-3)
    assert average.is_known


@pytest.mark.parametrize(
    ("wait", "learning", "episode", "expected"),
    [
        (True, 9.0, 1.0, 30.0),  # waiting keeps runs reproducible, however long it takes
        (False, 0.1, 5.0, 0.0),
        ("adaptive", 2.0, 0.5, 0.0),  # learning holds up play
        ("adaptive", 0.5, 2.0, 2.0),  # at most as long as an episode takes
        ("adaptive", 0.5, 99.0, 30.0),  # and as long as the server allows
        ("adaptive", None, 0.5, 30.0),
        ("adaptive", 0.5, None, 30.0),
    ],
)
def test_how_long_a_start_may_wait(wait, learning, episode, expected):
    assert pace(learning, episode).longest_wait(wait, 30.0) == expected
