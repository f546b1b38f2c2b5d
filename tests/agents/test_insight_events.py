"""What an agent with event features says of an episode: an event counts where it first happened."""

import numpy as np
import pytest

from app.agents import AgentSpec, make_agent
from app.agents.insight import unpack_insight
from app.learning.trajectory import Trajectory
from app.wire.validation import parse

EVENTS = {"kind": "events", "events": [{"then": [0, 1]}, {"visited": 2}]}


def taught():
    spec = {"states": 4, "actions": 2, "horizon": 5, "features": EVENTS}
    agent = make_agent(parse(AgentSpec, spec))
    world = np.random.default_rng(3)
    for number in range(30):
        length = int(world.integers(1, 6))
        states, actions = world.integers(4, size=length), world.integers(2, size=length)
        ended = length < 5
        final = int(world.integers(4)) if ended else -1
        agent.finish(number, Trajectory(states, actions, final, ended))
        agent.label(number, int(2 in states.tolist()))
    return agent


def test_shares_add_up_to_what_the_belief_predicts():
    agent = taught()
    insight = unpack_insight(agent.packed_insight())
    learned = agent.best().follow(agent.experience)
    for trajectory in agent.experience.episodes.values():
        indices, values = learned.belief.features.row(trajectory)
        logit = learned.fit.intercept + float(learned.fit.weights[indices] @ values)
        shares = insight.share(trajectory)
        whole = shares.offset + shares.steps.sum() + shares.end
        assert whole == pytest.approx(logit, abs=1e-12)


def test_an_event_counts_where_it_first_has_happened():
    insight = taught().insight()
    then, visited = insight.feature_weights
    shares = insight.share(Trajectory(np.array([1, 0, 2, 1, 1]), np.zeros(5, dtype=int)))
    assert shares.steps.tolist() == pytest.approx([0.0, 0.0, visited, then, 0.0])
    assert shares.end == 0.0


def test_an_end_in_a_state_is_a_visit():
    insight = taught().insight()
    shares = insight.share(Trajectory(np.array([3]), np.array([0]), final=2, ended=True))
    assert shares.steps.tolist() == [0.0]
    assert shares.end == pytest.approx(insight.feature_weights[1])


def test_the_chance_to_succeed_follows_events_too():
    """Where every way leads to the event, rollouts say what the prediction says."""
    agent = make_agent(
        parse(AgentSpec, {"states": 4, "actions": 2, "horizon": 3, "features": EVENTS})
    )
    for number in range(20):
        agent.finish(number, Trajectory(np.array([3, 2, 3]), np.array([0, 0, 0])))
        agent.finish(100 + number, Trajectory(np.array([3, 3, 3]), np.array([1, 1, 1])))
        agent.label(number, 1)
        agent.label(100 + number, 0)
    insight, policy = agent.insight(), agent.plan(200, "exploit").policy
    played = Trajectory(np.array([3, 2]), np.array([0, 0]))
    chance = insight.success_from(policy, played, (), np.random.default_rng(1))
    whole = Trajectory(np.array([3, 2, 3]), np.array([0, 0, 0]))
    assert chance == pytest.approx(insight.predict(whole), abs=1e-12)
