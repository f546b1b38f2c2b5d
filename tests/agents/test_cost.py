"""The predicted cost of learning jobs: it grows with every size, and knows the machine."""

import pytest

from app.agents import cost
from app.agents.cost import Cost, slowness, sweep_cost, table_cost


def test_a_probe_that_was_disturbed_is_held_within_bounds(monkeypatch):
    for seconds, expected in ((1e-9, 0.5), (1e9, 20.0), (2 * cost._PROBE_SECONDS, 2.0)):
        monkeypatch.setattr(cost, "_probe", lambda seconds=seconds: seconds)
        slowness.cache_clear()
        assert slowness() == pytest.approx(expected)
    slowness.cache_clear()


def test_the_machine_is_measured_once(monkeypatch):
    probes = []
    monkeypatch.setattr(cost, "_probe", lambda: probes.append(1) or cost._PROBE_SECONDS)
    slowness.cache_clear()
    assert [slowness(), slowness()] == [1.0, 1.0]
    assert len(probes) == 1
    slowness.cache_clear()


def test_every_size_makes_a_sweep_longer():
    base = (1000.0, 4, 2.0, 5000.0)
    for place in range(4):
        larger = [2 * size if i == place else size for i, size in enumerate(base)]
        assert sweep_cost(*larger) > sweep_cost(*base)


def test_costs_add_up():
    both = Cost(1.0, 10.0) + table_cost(1e6, 2)
    assert both.seconds > 1.0
    assert both.bytes > 1e7
