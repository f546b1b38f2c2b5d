"""Specifications as clients write them: every form, and what is said of those that are wrong."""

import numpy as np
import pytest

from app.agents import AgentSpec, make_agent
from app.agents.build_features import build_features
from app.agents.kinds.thompson.options import ThompsonOptions
from app.errors import InvalidValue
from app.learning.features.one_hot import OneHot
from app.learning.features.table import Table
from app.learning.spaces import Spaces
from app.wire.specification.features import OneHotFeatures
from app.wire.validation import parse

S, A, H = 3, 2, 5
SPACES = Spaces(S, A, H)
SMALL = {"states": S, "actions": A, "horizon": H}


def refusal(**changes):
    """What is said of a specification with these changes."""
    with pytest.raises(InvalidValue) as caught:
        make_agent(parse(AgentSpec, SMALL | changes))
    return caught.value


def built(features):
    """The feature map of a specification with these features."""
    return build_features(parse(AgentSpec, SMALL | {"features": features}).features, SPACES)


class TestForms:
    def test_everything_has_a_default_but_the_spaces(self):
        spec = parse(AgentSpec, SMALL)
        assert make_agent(spec).spaces == SPACES
        assert spec.features is None
        assert spec.algorithm == ThompsonOptions()
        assert spec.seed == 0
        assert make_agent(spec).given_start is None

    @pytest.mark.parametrize(
        ("steps", "chosen"),
        [
            ("all", (0, 1, 2, 3, 4)),
            ("last", (4,)),
            ({"last": 1}, (4,)),
            ({"last": 3}, (2, 3, 4)),
            ({"last": 5}, (0, 1, 2, 3, 4)),
            ([0], (0,)),
            ([3, 1], (1, 3)),
        ],
    )
    def test_steps(self, steps, chosen):
        features = {"kind": "one_hot", "over": ["state"], "steps": steps}
        assert built(features) == OneHot(SPACES, False, True, False, chosen)

    def test_all_steps_are_the_default(self):
        assert built({"kind": "one_hot", "over": ["state"]}).steps == (0, 1, 2, 3, 4)

    @pytest.mark.parametrize(
        "over", [["step"], ["state"], ["action"], ["action", "step"], ["step", "state", "action"]]
    )
    def test_parts_in_any_order(self, over):
        one_hot = built({"kind": "one_hot", "over": over})
        assert (one_hot.step, one_hot.state, one_hot.action) == tuple(
            part in over for part in ("step", "state", "action")
        )

    @pytest.mark.parametrize("shape", [(S, A, 2), (H, S, A, 3)])
    def test_tables(self, shape):
        values = np.random.default_rng(1).normal(size=shape)
        table = built({"kind": "table", "values": values.tolist()})
        assert isinstance(table, Table)
        np.testing.assert_array_equal(table.values, values)

    def test_tables_of_very_different_sizes(self):
        values = np.zeros((S, A, 3))
        values[0, 0], values[1, 1], values[2, 0] = 1e-9, -9.9e8, 1.0
        table = built({"kind": "table", "values": values.tolist()})
        np.testing.assert_array_equal(table.values, values)
        assert not built({"kind": "table", "values": (0.0 * values).tolist()}).values.any()

    def test_auto_is_the_default_of_thompson(self):
        auto = make_agent(parse(AgentSpec, SMALL | {"features": {"kind": "auto"}}))
        assert len(auto.beliefs) > 1
        assert len(make_agent(parse(AgentSpec, SMALL)).beliefs) == len(auto.beliefs)

    def test_the_direct_parametrisation_is_the_default_of_ucbvi(self):
        agent = make_agent(parse(AgentSpec, SMALL | {"algorithm": {"kind": "ucbvi"}}))
        assert agent.beliefs[0].features == OneHot(SPACES, True, True, True, (0, 1, 2, 3, 4))

    def test_a_kind_may_be_left_out(self):
        agent = make_agent(parse(AgentSpec, SMALL | {"algorithm": {"draws": 5}}))
        assert agent.options.kind == "thompson"
        assert agent.options.draws == 5

    def test_a_distribution_of_first_states(self):
        spec = parse(AgentSpec, SMALL | {"initial_states": [0.25, 0.75, 0]})
        assert make_agent(spec).start().tolist() == [0.25, 0.75, 0.0]

    def test_the_largest_seed(self):
        assert parse(AgentSpec, SMALL | {"seed": 2**63 - 1}).seed == 2**63 - 1

    def test_what_was_asked_for_cannot_be_changed(self):
        spec = parse(AgentSpec, SMALL)
        with pytest.raises(ValueError, match="frozen"):
            spec.horizon = 9

    def test_it_survives_the_way_through_json(self):
        data = SMALL | {"features": {"kind": "one_hot", "over": ["state"], "steps": {"last": 2}}}
        spec = parse(AgentSpec, data)
        again = AgentSpec.model_validate_json(spec.model_dump_json())
        assert again == spec


BOX = {"low": [0.0, -1.0], "high": [9, 1.0]}
SEES = {"actions": A, "horizon": H, "algorithm": {"kind": "reinforce"}}


class TestObservations:
    def refusal(self, box, **changes):
        with pytest.raises(InvalidValue) as caught:
            make_agent(parse(AgentSpec, SEES | {"observations": box} | changes))
        return caught.value

    def test_they_take_the_place_of_states(self):
        spec = parse(AgentSpec, SEES | {"observations": BOX})
        assert spec.states == 1
        assert spec.observations.size == 2
        assert spec.observations.high == (9.0, 1.0)
        assert make_agent(spec).experience.observed == 2

    def test_they_survive_the_way_through_json(self):
        spec = parse(AgentSpec, SEES | {"observations": BOX})
        assert AgentSpec.model_validate_json(spec.model_dump_json()) == spec

    def test_no_observations_are_none(self):
        assert parse(AgentSpec, SMALL | {"observations": None}).observations is None

    @pytest.mark.parametrize(
        ("box", "field", "expected"),
        [
            ({"low": [], "high": []}, "low", "at least 1 item"),
            ({"low": [0.0]}, "high", "a value; it is missing"),
            ({"low": [0.0], "high": [1.0, 2.0]}, "high", "1 numbers, as many as low has"),
            ({"low": [0.0, 2.0], "high": [1.0, 2.0]}, "high", "numbers above those of low"),
            ({"low": [0.0], "high": [float("inf")]}, "high.0", None),
            ({"low": [float("nan")], "high": [1.0]}, "low.0", "a finite number, got NaN"),
            ({"low": [-1e10], "high": [1.0]}, "low.0", None),
            ({"low": ["x"], "high": [1.0]}, "low.0", None),
            ({"low": [0.0], "high": [1.0], "bins": [3]}, "bins", "one of high, low"),
        ],
    )
    def test_boxes_that_are_none(self, box, field, expected):
        error = self.refusal(box)
        assert error.field == f"observations.{field}"
        assert expected is None or error.expected == expected

    def test_something_that_is_no_box(self):
        assert self.refusal([0.0, 1.0]).field == "observations"

    @pytest.mark.parametrize("kind", ["thompson", "ucbvi", "uniform"])
    def test_a_kind_that_counts_states_needs_bins(self, kind):
        error = self.refusal(BOX, algorithm={"kind": kind})
        assert (error.field, "bins" in error.expected) == ("states", True)

    def test_a_kind_that_sees_numbers_takes_no_numbered_states(self):
        assert refusal(algorithm={"kind": "reinforce"}).field == "states"
        error = self.refusal(BOX, states=4)
        assert (error.field, error.expected) == (
            "states",
            "1, because observations take their place",
        )


class TestRefusals:
    @pytest.mark.parametrize("field", ["states", "actions", "horizon"])
    @pytest.mark.parametrize("size", [0, -1, 2.5, None, "many", [3], 3.0, "3", True])
    def test_spaces(self, field, size):
        assert refusal(**{field: size}).field == field

    @pytest.mark.parametrize("field", ["states", "actions", "horizon"])
    def test_a_space_that_is_missing(self, field):
        data = {key: value for key, value in SMALL.items() if key != field}
        with pytest.raises(InvalidValue) as caught:
            parse(AgentSpec, data)
        assert str(caught.value) == f"{field}: expected a value; it is missing"

    @pytest.mark.parametrize("seed", [-1, 2**63, 0.5, "x", 7.0, "7", True, None])
    def test_seeds(self, seed):
        assert refusal(seed=seed).field == "seed"

    def test_unknown_fields(self):
        assert str(refusal(colour="red")).startswith("colour: unknown field 'colour'. Fields: ")

    @pytest.mark.parametrize(
        ("features", "field"),
        [
            ({"kind": "two_hot"}, "features.kind"),
            ({"over": ["state"]}, "features.kind"),
            ({"kind": "one_hot"}, "features.over"),
            ({"kind": "one_hot", "over": []}, "features.over"),
            ({"kind": "one_hot", "over": "state"}, "features.over"),
            ({"kind": "one_hot", "over": ["state", "place"]}, "features.over.1"),
            ({"kind": "one_hot", "over": ["state"], "size": 3}, "features.size"),
            ({"kind": "one_hot", "over": ["state"], "steps": "first"}, "features.steps"),
            ({"kind": "one_hot", "over": ["state"], "steps": []}, "features.steps"),
            ({"kind": "one_hot", "over": ["state"], "steps": [0, H]}, "features.steps"),
            ({"kind": "one_hot", "over": ["state"], "steps": [-1]}, "features.steps"),
            ({"kind": "one_hot", "over": ["state"], "steps": [1, 1]}, "features.steps"),
            ({"kind": "one_hot", "over": ["state"], "steps": [1, 0.5]}, "features.steps.1"),
            ({"kind": "one_hot", "over": ["state"], "steps": {"last": 0}}, "features.steps.last"),
            (
                {"kind": "one_hot", "over": ["state"], "steps": {"last": H + 1}},
                "features.steps.last",
            ),
            ({"kind": "one_hot", "over": ["state"], "steps": {"first": 1}}, "features.steps.last"),
            ({"kind": "table"}, "features.values"),
            ({"kind": "table", "values": 3}, "features.values"),
            ({"kind": "table", "values": []}, "features.values"),
            ({"kind": "table", "values": [[1.0, 2.0]] * S}, "features.values"),
            ({"kind": "table", "values": [[[1.0]], [[1.0], [2.0]], [[1.0]]]}, "features.values"),
            ({"kind": "table", "values": [[["x"]] * A] * S}, "features.values"),
            ({"kind": "table", "values": [[[1e400]] * A] * S}, "features.values"),
            ({"kind": "table", "values": [[[10**400]] * A] * S}, "features.values"),
            ({"kind": "table", "values": [[[float("nan")]] * A] * S}, "features.values"),
            ({"kind": "table", "values": [[[None]] * A] * S}, "features.values"),
            ({"kind": "table", "values": [[[1.0]] * S] * A}, "features.values"),
            ({"kind": "auto", "over": ["state"]}, "features.over"),
            ("auto", "features"),
        ],
    )
    def test_the_field_is_the_clients_own(self, features, field):
        """The way to the value in the request, with no name of a type on it."""
        assert refusal(features=features).field == field

    @pytest.mark.parametrize("number", [1.0, "1", True, None])
    def test_steps_that_only_look_like_integers(self, number):
        """Nothing is taken for a number that was not written as one."""
        features = {"kind": "one_hot", "over": ["state"]}
        error = refusal(features=features | {"steps": [0, number]})
        assert error.field == "features.steps.1"
        assert error.expected.startswith("a whole number, got ")
        error = refusal(features=features | {"steps": {"last": number}})
        assert error.field == "features.steps.last"
        assert error.expected.startswith("a whole number, got ")

    @pytest.mark.parametrize("size", [1e-300, 1e-12, 9.9e-10, 1.1e9, 1e12, 1e300])
    def test_tables_of_sizes_that_cannot_be_learned_from(self, size):
        for value in (size, -size):
            values = np.ones((H, S, A, 2))
            values[2, 1, 0, 1] = value
            error = refusal(features={"kind": "table", "values": values.tolist()})
            assert error.field == "features.values"
            assert error.expected == "0, or numbers of a size from 1e-09 to 1e+09"

    def test_what_was_expected_is_said(self):
        unknown = {"kind": "two_hot", "over": ["state"]}
        assert (
            refusal(features=unknown).expected
            == "one of 'one_hot', 'table', 'events', 'automaton', 'auto', got \"two_hot\""
        )
        nothing = {"kind": "one_hot", "over": []}
        assert refusal(features=nothing).expected == "at least 1 item"
        far = {"kind": "one_hot", "over": ["state"], "steps": {"last": 9}}
        assert refusal(features=far).expected == f"at most the horizon, {H}"
        late = {"kind": "one_hot", "over": ["state"], "steps": [H]}
        assert f"from 0 to {H - 1}" in refusal(features=late).expected
        swapped = {"kind": "table", "values": np.zeros((A, S, 1)).tolist()}
        wanted = refusal(features=swapped).expected
        assert wanted == "shape (3, 2, d) or (5, 3, 2, d), got (2, 3, 1)"

    @pytest.mark.parametrize("kind", ["magic", None, 3, ["thompson"], {"kind": "thompson"}])
    def test_unknown_kinds(self, kind):
        error = refusal(algorithm={"kind": kind})
        assert error.field == "algorithm.kind"
        assert "thompson" in error.expected

    @pytest.mark.parametrize(
        ("algorithm", "field"),
        [
            (["thompson"], "algorithm"),
            ({"kind": "thompson", "draws": 0}, "algorithm.draws"),
            ({"kind": "thompson", "draws": 1.5}, "algorithm.draws"),
            ({"kind": "thompson", "spread": -0.1}, "algorithm.spread"),
            ({"kind": "thompson", "spread": float("inf")}, "algorithm.spread"),
            ({"kind": "thompson", "prior_deviation": 0}, "algorithm.prior_deviation"),
            ({"kind": "ucbvi", "constants": "magic"}, "algorithm.constants"),
            ({"kind": "ucbvi", "optimism": "both"}, "algorithm.optimism"),
            ({"kind": "ucbvi", "delta": 1.0}, "algorithm.delta"),
            ({"kind": "ucbvi", "episodes": 0}, "algorithm.episodes"),
            ({"kind": "ucbvi", "norm_bound": 0}, "algorithm.norm_bound"),
            ({"kind": "uniform", "epsilon": 0.1}, "algorithm.epsilon"),
        ],
    )
    def test_options(self, algorithm, field):
        assert refusal(algorithm=algorithm).field == field

    @pytest.mark.parametrize("start", [[0.5, 0.5], [0.5, 0.6, -0.1], [0.3, 0.3, 0.3], [1, 1, 1]])
    def test_first_states_that_are_no_distribution(self, start):
        error = refusal(initial_states=start)
        assert error.field == "initial_states"
        assert error.expected == "3 probabilities that sum to one"

    def test_a_first_state_that_is_no_number(self):
        assert refusal(initial_states=[float("nan"), 0.5, 0.5]).field == "initial_states.0"

    @pytest.mark.parametrize("data", [None, [], "spec", 3])
    def test_something_that_is_no_object(self, data):
        with pytest.raises(InvalidValue) as caught:
            parse(AgentSpec, data)
        assert caught.value.field == "value"

    def test_the_field_of_a_part_has_its_place_before_it(self):
        with pytest.raises(InvalidValue) as caught:
            parse(OneHotFeatures, {"over": ["place"]}, "features")
        assert caught.value.field == "features.over.0"

    def test_the_first_of_several_is_reported(self):
        assert refusal(states=0, actions=0, features={"kind": "one_hot"}).field == "states"
