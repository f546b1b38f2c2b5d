"""Agents with features by events: plans on tracked states, policies on plain ones."""

import math

import numpy as np
import pytest
from scipy.special import expit

from app.agents import AgentSpec, make_agent, restore_agent
from app.agents.base import MODEL_TOLERANCE
from app.errors import BudgetExceeded, InvalidValue
from app.learning.features.events import PathEvent, PathEvents
from app.learning.randomness import uniform
from app.learning.trajectory import UNREPORTED, Trajectory
from app.planning.policies.tracked import TrackedPolicy
from app.planning.problem import PlanBudget
from app.planning.reference.exact import plan_histories
from app.simulation.runner import Setting, run
from app.wire.validation import parse

S, A, H = 3, 2, 4
EVENTS = {"kind": "events", "events": [{"visited": 2}, {"both": [2, 1]}, {"then": [2, 0]}]}
KINDS = ["thompson", "ucbvi"]


def history(seed=3, count=25):
    """Episodes that end early now and then; good if they were in 2 and later in 0."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        ended = bool(rng.random() < 0.4)
        length = int(rng.integers(1, H)) if ended else H
        states, actions = rng.integers(S, size=length), rng.integers(A, size=length)
        final = int(rng.integers(-1, S)) if ended else UNREPORTED
        path = states.tolist() + ([final] if ended else [])
        good = any(path[i] == 2 and 0 in path[i:] for i in range(len(path)))
        yield number, Trajectory(states, actions, final, ended), int(good ^ (rng.random() < 0.1))


def agent_of(kind="thompson", count=25, features=EVENTS, budget=None, **options):
    data = {"states": S, "actions": A, "horizon": H, "features": features, "seed": 6}
    spec = parse(AgentSpec, data | {"algorithm": {"kind": kind} | options})
    agent = make_agent(spec, budget)
    for number, trajectory, label in history(count=count):
        agent.finish(number, trajectory)
        agent.label(number, label)
    return agent


def happened(states, ended):
    """Naively, which of the three events happened; ``ended`` may be no state."""
    path = [*states, ended]
    later = any(path[i] == 2 and 0 in path[i:] for i in range(len(path)))
    return [2 in path, 2 in path and 1 in path, later]


def worth_of(fit, radius=0.0, covariance=None, bonuses=None):
    """mu(c + w . phi + radius ||phi||) + bonuses, one episode at a time."""

    def worth(states, actions, ended):
        values = []
        for i in range(len(states)):
            phi = np.array(happened(states[i].tolist(), int(ended[i])), dtype=float)
            width = radius * math.sqrt(phi @ covariance @ phi) if radius else 0.0
            values.append(float(expit(fit.intercept + phi @ fit.weights + width)))
            if bonuses is not None:
                taken = (np.arange(states.shape[1]), states[i], actions[i])
                values[-1] += float(bonuses[taken].sum())
        return np.array(values)

    return worth


def best(agent, worth):
    """The exact optimum over all histories of the estimated plain model."""
    model = agent.experience.transitions.estimate()
    return plan_histories(agent.start(), model, H, worth).value


class TestPlans:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("count", [0, 3, 25])
    def test_exploit_is_the_best_for_the_estimate(self, kind, count):
        agent = agent_of(kind, count)
        fit = agent.beliefs[0].follow(agent.experience).fit
        plan = agent.plan(90, "exploit")
        optimum = best(agent, worth_of(fit))
        assert plan.lower - 1e-9 <= optimum <= plan.upper + 1e-9
        assert plan.gap <= agent.options.epsilon

    @pytest.mark.parametrize("count", [3, 25])
    def test_optimism_is_about_the_whole_trajectory(self, count):
        """No sum over steps: earned at the end, the norm is that of all that happened."""
        agent = agent_of("ucbvi", count, radius=2.0)
        learned = agent.beliefs[0].follow(agent.experience)
        inverse = np.array([learned.posterior.solve(row) for row in np.eye(4)])[:3, :3]
        room = agent.room(learned)
        bonuses = agent.visit_bonus(agent.options.visit_bonus * room, 90, ())
        worth = worth_of(learned.fit, 2.0 * math.sqrt(room), inverse, bonuses)
        plan = agent.plan(90)
        assert plan.lower - 1e-9 <= best(agent, worth) <= plan.upper + 1e-9
        assert plan.gap <= agent.options.epsilon

    @pytest.mark.parametrize(
        "options",
        [
            {"kind": "thompson"},
            {"kind": "ucbvi"},
            {"kind": "ucbvi", "optimism": "reward"},
            {"kind": "ucbvi", "constants": "paper"},
        ],
    )
    def test_policies_act_on_plain_states(self, options):
        agent = agent_of(**options)
        policy = agent.plan(90).policy
        assert isinstance(policy, TrackedPolicy)
        assert policy.entered.shape[1] == S
        for episode in range(20):
            memory = ()
            for step in range(H):
                state = int(uniform(1, episode, step) * S)
                action, memory = policy.act(step, state, memory, uniform(2, episode, step))
                assert 0 <= action < A

    def test_transitions_are_learned_on_plain_states(self):
        transitions = agent_of().experience.transitions
        assert transitions.visits.shape == (S * A,)
        assert transitions.estimate().states == S

    @pytest.mark.parametrize("kind", KINDS)
    def test_pending_episodes_count_as_visits(self, kind):
        agent = agent_of(kind)
        pending = [agent.plan(90, certify=False).policy] * 5
        plain, crowded = agent.visit_bonus(1.0, 91, ()), agent.visit_bonus(1.0, 91, pending)
        assert (crowded <= plain).all()
        assert crowded.sum() < plain.sum()
        assert isinstance(agent.plan(91, pending=pending).policy, TrackedPolicy)


@pytest.mark.parametrize("kind", [*KINDS, "ucbvi_exact"])
class TestEveryKindThatPlans:
    def test_a_snapshot_goes_on_bit_by_bit(self, kind):
        agent = agent_of(kind, count=10)
        again = restore_agent(agent.spec, agent.snapshot())
        for number, trajectory, label in history(seed=8, count=10):
            for one in (agent, again):
                one.finish(100 + number, trajectory)
                one.label(100 + number, label)
            ours, theirs = (one.plan(200 + number).policy.arrays() for one in (agent, again))
            assert ours.keys() == theirs.keys()
            assert all(np.array_equal(array, theirs[name]) for name, array in ours.items())

    def test_a_corrected_label_leaves_no_trace(self, kind):
        clean, corrected = agent_of(kind), agent_of(kind)
        corrected.label(3, 1 - corrected.experience.labels[3, 0])
        corrected.plan(90, certify=False)
        corrected.label(3, clean.experience.labels[3, 0])
        plans = [agent.plan(91, certify=False) for agent in (clean, corrected)]
        assert plans[0].value == pytest.approx(plans[1].value, abs=MODEL_TOLERANCE)

    def test_what_the_client_gave_is_at_hand(self, kind):
        events = (PathEvent("visited", (2,)), PathEvent("both", (2, 1)), PathEvent("then", (2, 0)))
        assert agent_of(kind).given_features == PathEvents(agent_of(kind).spaces, events)


class TestBudget:
    MANY = {"kind": "events", "events": [{"visited": s} for s in range(16)]}  # noqa: RUF012

    def agent(self, features, budget=None, **changes):
        sizes = {"states": 40, "actions": 3, "horizon": 30}
        return make_agent(parse(AgentSpec, sizes | changes | {"features": features}), budget)

    def test_too_many_events_say_what_to_lower(self):
        with pytest.raises(BudgetExceeded, match="list fewer events"):
            self.agent(self.MANY).check_budget()

    def test_too_little_memory_says_what_to_lower(self):
        few = {"kind": "events", "events": self.MANY["events"][:5]}
        self.agent(few).check_budget()
        with pytest.raises(
            BudgetExceeded, match="list fewer events or automaton states, or lower the number of"
        ):
            self.agent(few, PlanBudget(bytes=1e6)).check_budget()

    def test_what_fits_can_be_planned_while_nothing_is_known(self):
        """Within the number of bytes that the check itself asked for."""
        few = {"kind": "events", "events": self.MANY["events"][:5]}
        with pytest.raises(BudgetExceeded) as caught:
            self.agent(few, PlanBudget(bytes=1.0)).check_budget()
        agent = self.agent(few, PlanBudget(bytes=caught.value.needed))
        agent.check_budget()
        plan = agent.plan(0)
        assert plan.bytes <= caught.value.needed

    def test_a_kind_that_enumerates_needs_no_automaton(self):
        sizes = {"states": 16, "actions": 2, "horizon": 2, "algorithm": {"kind": "ucbvi_exact"}}
        agent = self.agent(self.MANY, **sizes)
        agent.check_budget()
        agent.finish(0, Trajectory(np.array([0, 1]), np.array([0, 0])))
        assert agent.plan(1).gap == 0.0


def refusal(features):
    with pytest.raises(InvalidValue) as caught:
        make_agent(
            parse(AgentSpec, {"states": S, "actions": A, "horizon": H, "features": features})
        )
    return caught.value


class TestRefusals:
    @pytest.mark.parametrize(
        ("event", "field", "expected"),
        [
            ({"seen": 1}, "features.events.0.seen", "one of "),
            ({}, "features.events.0", "exactly one of visited, both, then"),
            ({"visited": 1, "both": [0, 1]}, "features.events.0", "exactly one of"),
            ({"visited": S}, "features.events.0.visited", "states from 0 to 2"),
            ({"visited": -1}, "features.events.0.visited", "states from 0 to 2"),
            ({"visited": 1.0}, "features.events.0.visited", "a whole number"),
            ({"visited": True}, "features.events.0.visited", "a whole number"),
            ({"visited": [1]}, "features.events.0.visited", "a whole number"),
            ({"both": 1}, "features.events.0.both", "a list"),
            ({"both": [1]}, "features.events.0.both", "two different states"),
            ({"both": [0, 1, 2]}, "features.events.0.both", "two different states"),
            ({"both": [1, 1]}, "features.events.0.both", "two different states"),
            ({"then": [2, 2]}, "features.events.0.then", "two different states"),
            ({"then": [0, S]}, "features.events.0.then", "states from 0 to 2"),
            ({"then": [0, "x"]}, "features.events.0.then", "numbers of states"),
            ("visited", "features.events.0", "an object"),
        ],
    )
    def test_an_event_that_is_none(self, event, field, expected):
        error = refusal({"kind": "events", "events": [event]})
        assert error.field == field
        assert expected in error.expected

    def test_no_events(self):
        error = refusal({"kind": "events", "events": []})
        assert (error.field, error.expected) == ("features.events", "at least 1 item")

    def test_events_left_out(self):
        error = refusal({"kind": "events"})
        assert (error.field, error.expected) == ("features.events", "a value; it is missing")

    def test_the_same_event_twice(self):
        error = refusal({"kind": "events", "events": [{"both": [0, 1]}, {"both": [1, 0]}]})
        assert error.field == "features.events.1"
        assert error.expected == "an event that is not listed yet"


class TestLearning:
    """Was in both corners: no sum of visits says it, events do. Fixed seeds, one in four may fail.

    Of the 100 seeds 1000..1099 all reached 90 % of the optimum within 68 episodes with events, and
    none within 150 with counts of states. So a run with events fails within 100 with a probability
    below 3 % (at 95 % confidence) and one with counts succeeds with one below 3 %; two of four do
    with one below 0.6 %.
    """

    def reached(self, features):
        setting = Setting("visit-both", 100, features=features, rollouts=20)
        return sum(run(setting, seed).reached is not None for seed in range(4))

    def test_thompson_learns_it_with_events(self):
        assert self.reached(None) >= 3

    def test_counts_of_states_do_not(self):
        assert self.reached({"kind": "one_hot", "over": ["state"]}) <= 1
