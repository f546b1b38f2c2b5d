"""Specifications: what clients ask for, read strictly and checked against the budget."""

import pytest

from app.errors import BudgetExceeded, InvalidValue
from app.planning.problem import PlanBudget
from app.service.agents import specification
from app.service.agents.specification import (
    Limits,
    agent_spec,
    check_limits,
    due,
    read_specification,
    with_default_features,
)
from app.wire.base import LONGEST_SECONDS
from app.wire.specification.features import AutoFeatures, OneHotFeatures

PLAIN = {
    "states": {"kind": "discrete", "n": 4},
    "actions": {"kind": "labels", "values": ["left", "right"]},
    "horizon": 5,
}
LIMITS = Limits(
    max_features=100,
    max_states=100,
    max_cells=10_000,
    max_horizon=5_000,
    job_seconds=20.0,
    job_bytes=1e9,
    budget=PlanBudget(cells=1e7, bytes=1e9),
)


def spec(**changes):
    return read_specification(PLAIN | changes)


def test_the_mathematics_gets_sizes_and_the_default_kind():
    plain = agent_spec(spec())
    assert (plain.states, plain.actions, plain.horizon) == (4, 2, 5)
    assert plain.algorithm.kind == "thompson"
    assert plain.seed == 0


def test_options_without_a_kind_are_those_of_the_default():
    assert spec(algorithm={"draws": 3}).algorithm.kind == "thompson"
    assert spec(algorithm={"draws": 3}).algorithm.draws == 3


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"algorithm": {"kind": "magic"}}, "algorithm.kind"),
        ({"algorithm": {"kind": "uniform", "draws": 3}}, "algorithm.draws"),
        ({"algorithm": {"kind": "thompson", "draws": 0}}, "algorithm.draws"),
        ({"algorithm": {"kind": "thompson", "draws": "3"}}, "algorithm.draws"),
        ({"algorithm": {"kind": "thompson", "spread": True}}, "algorithm.spread"),
        ({"horizon": 0}, "horizon"),
        ({"horizon": "5"}, "horizon"),
        ({"horizon": 5.0}, "horizon"),
        ({"horizon": True}, "horizon"),
        ({"horizon": 10**30}, "horizon"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"states": {"kind": "discrete", "n": 0}}, "states.n"),
        ({"states": {"kind": "cube"}}, "states.kind"),
        ({"actions": {"kind": "box", "low": [0], "high": [1], "bins": [2]}}, "actions.kind"),
        ({"features": {"kind": "one_hot", "over": []}}, "features.over"),
        ({"features": {"kind": "one_hot", "over": ["time"]}}, "features.over.0"),
        ({"default_label": 2}, "default_label"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_what_cannot_be_is_refused_with_its_field(changes, field):
    with pytest.raises(InvalidValue) as refused:
        spec(**changes)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("PT30M", 1800), ("P2D", 172800), ("P1W", 604800), ("P1DT2H3M4.5S", 93784.5), ("PT0.5S", 0.5)],
)
def test_durations_are_read(text, seconds):
    timed = spec(label_timeout=text)
    assert due(timed.label_timeout, 5000) == 5000 + 1000 * seconds
    assert timed.model_dump(mode="json")["label_timeout"] == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "P", "PT", "P1DT", "1D", "PT1X", "P1Y", "P1M", "-PT1S", "PT0S", "P99999W", "pt1s"),
        *("PT1S\n", "PT٣S", "PT" + "9" * 400 + "S"),
    ],
)
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(InvalidValue, match="label_timeout"):
        spec(label_timeout=text)


def test_the_longest_timeout_is_ten_years():
    assert due(spec(label_timeout="P3650D").label_timeout, 0) == 1000 * LONGEST_SECONDS
    assert due(spec().label_timeout, 0) is None


@pytest.mark.parametrize(
    ("given", "start"),
    [
        ([1], (0.0, 1.0, 0.0, 0.0)),
        ([0, 3], (0.5, 0.0, 0.0, 0.5)),
        ([0, 0, 1, 1], (0.5, 0.5, 0.0, 0.0)),
        ([0.25, 0.0, 0.75, 0.0], (0.25, 0.0, 0.75, 0.0)),
        ({"states": [2, 0], "probabilities": [0.9, 0.1]}, (0.1, 0.0, 0.9, 0.0)),
    ],
)
def test_first_states_are_a_list_or_a_distribution(given, start):
    assert agent_spec(spec(initial_states=given)).initial_states == pytest.approx(start)


def test_first_states_may_be_names():
    named = spec(states={"kind": "labels", "values": ["kitchen", "hall"]}, initial_states=["hall"])
    assert agent_spec(named).initial_states == (0.0, 1.0)


@pytest.mark.parametrize(
    "given",
    [
        [],
        [4],
        ["0"],
        [0.5, 0.5],
        [0.5, 0.6, 0.0, 0.0],
        [1.5, -0.5, 0.0, 0.0],
        {"states": [0], "probabilities": [0.5]},
        {"states": [0, 1], "probabilities": [1.0]},
    ],
)
def test_first_states_that_cannot_be_are_refused(given):
    with pytest.raises(InvalidValue, match="initial_states"):
        check_limits(spec(initial_states=given), LIMITS)


def test_a_box_without_bins_is_refused_where_they_are_needed():
    box = {"kind": "box", "low": [0.0], "high": [1.0]}
    with pytest.raises(InvalidValue, match="bins for every number"):
        check_limits(spec(states=box, algorithm={"kind": "thompson"}), LIMITS)


@pytest.mark.parametrize(
    ("changes", "lower"),
    [
        ({"states": {"kind": "discrete", "n": 101}}, "number of states"),
        ({"horizon": 5000}, "horizon"),
        ({"horizon": 500, "algorithm": {"epsilon": 1e-5}}, r"algorithm\.epsilon"),
        (
            {"states": {"kind": "box", "low": [0] * 40, "high": [1] * 40, "bins": [9] * 40}},
            "states",
        ),
    ],
)
def test_what_could_not_be_served_is_refused_with_what_to_lower(changes, lower):
    with pytest.raises(BudgetExceeded, match=lower):
        check_limits(spec(**changes), LIMITS)


def test_what_fits_is_let_through_with_notes():
    assert set(check_limits(spec(), LIMITS)) == {"progress", "warnings"}


def test_what_is_stored_reads_back_the_same():
    full = spec(
        states={"kind": "box", "low": [0.0, -1.0], "high": [1.0, 1.0], "bins": [2, 3]},
        features={"kind": "one_hot", "over": ["state"], "steps": {"last": 2}},
        algorithm={"kind": "ucbvi", "radius": 1.0},
        seed=2**63 - 1,
        label_timeout="PT1H",
        default_label=0,
    )
    stored = full.model_dump(mode="json", exclude_unset=True)
    assert read_specification(stored) == full


def test_the_features_of_the_kind_are_shown_where_none_were_chosen():
    chosen = spec(features={"kind": "one_hot", "over": ["state"]})
    assert with_default_features(chosen) == chosen
    assert with_default_features(spec()).features == AutoFeatures()
    direct = with_default_features(spec(algorithm={"kind": "ucbvi"})).features
    assert direct == OneHotFeatures(over=("step", "state", "action"))
    assert with_default_features(spec(algorithm={"kind": "uniform"})).features is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"initial_states": [0, 1, 2, 3, 0]}, "at most 4 entries"),
        ({"initial_states": {"states": [0] * 5, "probabilities": [0.2] * 5}}, "at most 4 entries"),
        ({"features": {"kind": "table", "values": [[[0.0] * 101] * 2] * 4}}, "features: needs 101"),
        ({"actions": {"kind": "labels", "values": ["left", " "]}}, "not blank"),
    ],
)
def test_lists_that_do_not_fit_the_agent_are_refused(changes, reason):
    data = {"states": 4, "actions": 2, "horizon": 2}
    with pytest.raises((InvalidValue, BudgetExceeded), match=reason):
        check_limits(read_specification(data | changes), LIMITS)


LAST = {"kind": "one_hot", "over": ["state"], "steps": "last"}


class TestPredictedCost:
    """An agent is refused for what its learning jobs will cost, before it costs anything."""

    LARGE = Limits(
        max_features=100,
        max_states=10_000,
        max_cells=20_000_000,
        max_horizon=10_000,
        job_seconds=20.0,
        job_bytes=2e9,
        budget=PlanBudget(cells=5e7, bytes=2e9),
    )

    def check(self, states, horizon, actions, slowness=1.0, monkeypatch=None, **limits):
        monkeypatch.setattr(specification, "slowness", lambda: slowness)
        asked = spec(states=states, horizon=horizon, actions=actions, features=LAST)
        check_limits(asked, self.LARGE.model_copy(update=limits))

    def test_too_many_seconds_are_refused_with_what_to_lower(self, monkeypatch):
        with pytest.raises(BudgetExceeded, match=r"seconds.*lower the horizon") as caught:
            self.check(1000, 10_000, 2, monkeypatch=monkeypatch)
        assert 20.0 < caught.value.needed < 60.0
        assert caught.value.allowed == 20.0

    def test_the_same_cells_in_another_shape_may_cost_less(self, monkeypatch):
        self.check(100, 1000, 200, monkeypatch=monkeypatch)

    def test_a_slow_machine_refuses_more(self, monkeypatch):
        with pytest.raises(BudgetExceeded, match="seconds"):
            self.check(100, 1000, 200, slowness=10.0, monkeypatch=monkeypatch)

    def test_too_many_bytes_are_refused(self, monkeypatch):
        with pytest.raises(BudgetExceeded, match="bytes of a learning job"):
            self.check(100, 1000, 200, job_bytes=1e8, monkeypatch=monkeypatch)

    @pytest.mark.parametrize("kind", ["thompson", "ucbvi"])
    @pytest.mark.parametrize("size", [(100, 100, 4), (500, 50, 4), (5000, 20, 4)])
    def test_an_ordinary_agent_with_many_features_is_admitted(self, monkeypatch, kind, size):
        """Its job takes about a second: features that no label has touched cost nothing."""
        monkeypatch.setattr(specification, "slowness", lambda: 4.0)
        states, horizon, actions = size
        asked = spec(states=states, horizon=horizon, actions=actions, algorithm={"kind": kind})
        check_limits(asked, self.LARGE)

    def test_a_small_agent_costs_next_to_nothing(self, monkeypatch):
        self.check(16, 20, 4, job_seconds=0.5, job_bytes=1e7, monkeypatch=monkeypatch)
