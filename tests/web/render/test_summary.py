"""The sentence about an agent, what to do next, and the word on a gulf."""

from types import SimpleNamespace as Thing

import pytest

from app.learning.statistics.forecast import Forecast
from app.web.render.summary import gulf, next_step, summary

COUNTS = {"running": 0, "awaiting_label": 0, "labelled": 0, "completed": 0}


def overview(recent=(), promised=None, baseline=None, forecast=None, evaluation=None, **more):
    counts = COUNTS | {name: more.pop(name) for name in COUNTS if name in more}
    agent = Thing(
        episodes=Thing(**counts),
        evaluation=evaluation,
        learning_error=more.get("error"),
        paused=more.get("paused", False),
    )
    return Thing(
        agent=agent,
        recent=list(recent),
        promised=promised,
        baseline=baseline,
        forecast=forecast or Forecast("unknown", "too few"),
    )


def said(one):
    return " ".join(summary(one)).replace("\xa0", " ")


def test_a_manager_understands_it():
    evaluation = Thing(recent=Thing(at_least=0.64))
    forecast = Forecast("expected", "", 0.9, 60, 5, 10, 30)
    one = overview([1] * 10 + [0] * 2, 0.9, 0.04, forecast, evaluation, labelled=40)
    assert said(one) == (
        "Of its last 12 judged episodes 10 were good; random actions would get about 4 %. With "
        "95 % confidence it succeeds at least 64 % of the time. About 10 more labels until 90 %."
    )


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (overview(), "It has learned nothing yet"),
        (overview(awaiting_label=1), "1 episode of it"),
        (overview([0], labelled=1), "Its only judged episode was bad."),
        (overview([1, 0], labelled=2), "Of its 2 judged episodes 1 was good."),
        (overview([1], labelled=1, forecast=Forecast("reached", "", 0.5)), "It has reached 50 %"),
    ],
)
def test_there_is_a_sentence_for_every_stage(one, words):
    assert words in said(one)


@pytest.mark.parametrize(
    ("one", "words", "action"),
    [
        (overview(), "first episode", "act"),
        (overview(awaiting_label=3, labelled=2), "3 episodes wait", "label"),
        (overview(error="disk full", awaiting_label=3), "Learning failed", ""),
        (overview(paused=True, labelled=2), "paused", ""),
        (overview(running=1), "being played", ""),
        (overview([1], labelled=9, forecast=Forecast("reached", "", 0.5)), "Measure it", "act"),
    ],
)
def test_what_to_do_next(one, words, action):
    step = next_step(one)
    assert words in step.words
    assert step.action == action


def test_a_promise_far_from_what_was_observed_gets_a_word():
    assert "only 17" in gulf(overview([1, 1] + [0] * 10, promised=1.0))
    assert "too little" in gulf(overview([1] * 12, promised=0.3))
    assert gulf(overview([1] * 12, promised=0.9)) is None
    assert gulf(overview([0] * 3, promised=1.0)) is None  # too few to say
    assert gulf(overview([0] * 12)) is None
