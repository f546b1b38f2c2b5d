"""How labellers do: counts, speed, and agreement against another implementation."""

import random
from types import SimpleNamespace

import pytest
from sklearn.metrics import cohen_kappa_score

from app.learning.statistics.agreement import (
    PAUSE_SECONDS,
    agreements,
    contradicts,
    kappa,
    labellers,
)


def row(labeller, label, at=0, episode=0, agent=1):
    """A label; None is a withdrawal, and "cannot tell" an answer without a label."""
    return SimpleNamespace(
        agent=agent,
        episode=episode,
        label=None if label == "cannot tell" else label,
        cannot_tell=label == "cannot tell",
        labeller=labeller,
        at=int(at * 1000),
    )


def test_counts_and_speed_leave_pauses_out():
    rows = [
        row("ann", 1, 0),
        row("ann", 0, 4),
        row("bob", 1, 5),
        row("ann", 1, 10),
        row("ann", None, 11),
        row("ann", 1, 10 + PAUSE_SECONDS + 1),
        row(None, 0, 2000),
    ]
    ann, *others = labellers(rows)
    assert (ann.name, ann.verdicts, ann.good, ann.withdrawn) == ("ann", 4, 3, 1)
    assert ann.seconds == 5.0
    assert {one.name: one.seconds for one in others} == {"bob": None, None: None}


def test_who_cannot_tell_counts_in_pace_and_agreement():
    rows = [
        row("ann", 1, 0, episode=1),
        row("ann", "cannot tell", 4, episode=2),
        row("ann", "cannot tell", 8, episode=3),
        row("bob", "cannot tell", 0, episode=1),
        row("bob", "cannot tell", 0, episode=2),
    ]
    ann, _ = labellers(rows)
    assert (ann.verdicts, ann.cannot_tell, ann.withdrawn, ann.seconds) == (1, 2, 0, 4.0)
    (pair,) = agreements(rows)
    assert (pair.shared, pair.agreed) == (2, 1)


def test_nobody_is_no_labeller():
    assert labellers([]) == []
    assert agreements([]) == []


def test_agreement_counts_the_last_verdict_of_each_on_shared_episodes():
    rows = [
        row("ann", 0, episode=1),
        row("bob", 1, episode=1),
        row("ann", None, episode=1),
        row("ann", 1, episode=1),
        row("bob", 0, episode=2),
        row("ann", 1, episode=2),
        row("ann", 1, episode=3),
        row(None, 1, episode=3),
        row("bob", 1, episode=3, agent=2),
    ]
    (pair,) = agreements(rows)
    assert (pair.first, pair.second, pair.shared, pair.agreed) == ("ann", "bob", 2, 1)


@pytest.mark.parametrize("seed", range(5))
def test_kappa_is_cohens(seed):
    luck = random.Random(seed)
    both = [(luck.randrange(3), luck.choice([0, 1, 1, 2])) for _ in range(50)]
    assert kappa(both) == pytest.approx(cohen_kappa_score(*zip(*both, strict=True)))


def test_kappa_is_not_defined_where_chance_explains_everything():
    assert kappa([(1, 1)] * 5) is None
    assert kappa([(1, 1), (0, 0)]) == 1.0


@pytest.mark.parametrize(
    ("predicted", "label", "doubted"),
    [(0.95, 0, True), (0.95, 1, False), (0.05, 1, True), (0.05, 0, False), (0.5, 0, False)],
)
def test_only_a_sure_model_is_contradicted(predicted, label, doubted):
    assert contradicts(predicted, label) is doubted
