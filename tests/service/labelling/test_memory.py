"""What is remembered about labels is bounded in bytes."""

from types import SimpleNamespace

import numpy as np

from app.service.agents.hosted_agent import HostedPlan
from app.service.labelling import impact, ranking
from app.service.labelling.impact import Before, Impacts
from app.service.labelling.ranking import Ranking


class LargePolicy:
    def __init__(self, numbers):
        self._numbers = numbers

    def arrays(self):
        return {"table": self._numbers}


def plan(size):
    return HostedPlan(0, 0, LargePolicy(np.zeros(size, dtype=np.uint8)))


def episode(number):
    return SimpleNamespace(id=f"eps_{number}", agent=SimpleNamespace(last_lesson=number))


def test_plans_before_labels_are_kept_within_the_bound(monkeypatch):
    monkeypatch.setattr(impact, "_CACHE_BYTES", 1_000_000)
    impacts = Impacts(None, None, None)
    for number in range(50):
        impacts.remember(episode(number), "Ada", Before(0.5, plan(100_000)))
    kept = impacts._before
    assert kept.currsize <= 1_000_000
    assert 5 <= len(kept) < 10
    assert ("eps_49", "Ada") in kept


def test_a_plan_larger_than_the_bound_is_left_out_and_the_rest_kept(monkeypatch):
    monkeypatch.setattr(impact, "_CACHE_BYTES", 1_000_000)
    impacts = Impacts(None, None, None)
    impacts.remember(episode(7), "Ada", Before(0.5, plan(2_000_000)))
    remembered = impacts._before["eps_7", "Ada"]
    assert (remembered.plan, remembered.predicted, remembered.event) == (None, 0.5, 7)


def test_rankings_are_kept_within_the_bound(monkeypatch):
    monkeypatch.setattr(ranking, "_CACHE_BYTES", 100_000)
    known = Ranking(None, None, None, 1.0)._known
    for agent in range(100):
        known[agent] = ranking._Ranking(0, tuple(range(99)), (0.0,) * 99)
    assert known.currsize <= 100_000
    assert 5 <= len(known) <= 10
