"""What an agent believes as tables: against the estimator itself, and against enumeration."""

import math
from dataclasses import dataclass, fields

import numpy as np
import pytest
from scipy.special import expit

from app.agents import AgentSpec, make_agent
from app.agents.insight import unpack_insight
from app.agents.tabular.insight import ROLLOUTS, TabularInsight
from app.errors import SnapshotError
from app.learning.arrays import pack_arrays
from app.learning.trajectory import UNREPORTED, Trajectory
from app.planning.policies.uniform import UniformPolicy

S, A, H = 3, 2, 4
FEATURES = [
    {"kind": "one_hot", "over": ["state"]},
    {"kind": "one_hot", "over": ["state"], "steps": "last"},
    {"kind": "one_hot", "over": ["step", "state", "action"]},
    {"kind": "one_hot", "over": ["action"], "steps": {"last": 2}},
    {"kind": "auto"},
    {
        "kind": "automaton",
        "transitions": [
            [[0, 1], [0, 0], [1, 2]],
            [[1, 1], [2, 0], [1, 0]],
            [[2, 2], [2, 1], [0, 2]],
        ],
        "ends": [[0, 1, 2], [1, 1, 0], [2, 0, 0]],
        "vectors": [[1.0, 0.0], [0.0, 2.0], [-1.0, 1.0]],
    },
]


def trajectories(count, seed=5):
    rng = np.random.default_rng(seed)
    for number in range(count):
        length = int(rng.integers(1, H + 1))
        ended = length < H or rng.random() < 0.5
        final = int(rng.integers(S)) if rng.random() < 0.7 else UNREPORTED
        yield (
            Trajectory(
                rng.integers(S, size=length), rng.integers(A, size=length), final, bool(ended)
            ),
            int(number % 3 == 0),
        )


def taught(features):
    spec = AgentSpec(states=S, actions=A, horizon=H, features=features, seed=3)
    agent = make_agent(spec)
    for number, (trajectory, label) in enumerate(trajectories(30)):
        agent.finish(number, trajectory)
        agent.label(number, label)
    return agent


@pytest.mark.parametrize("features", FEATURES, ids=str)
def test_shares_add_up_to_what_the_estimator_predicts(features):
    agent = taught(features)
    insight = agent.insight()
    learned = agent.best().follow(agent.experience)
    for trajectory, _ in trajectories(40, seed=9):
        shares = insight.share(trajectory)
        logit = learned.fit.logit(*learned.belief.features.row(trajectory))
        assert shares.steps.shape == (len(trajectory),)
        whole = shares.offset + shares.steps.sum() + shares.end
        assert whole == pytest.approx(logit, abs=1e-9)
        assert insight.predict(trajectory) == pytest.approx(float(expit(logit)), abs=1e-12)


def test_what_did_not_end_has_no_share_after_its_end():
    insight = taught(FEATURES[0]).insight()
    for trajectory, _ in trajectories(40, seed=9):
        if not trajectory.ended:
            assert insight.share(trajectory).end == 0.0


def test_visits_and_start_are_those_of_the_episodes():
    insight = taught(FEATURES[0]).insight()
    visits, first = np.zeros((S, A), dtype=int), np.zeros(S)
    for trajectory, _ in trajectories(30):
        # The last action of an episode whose end nobody reported led nowhere that is known.
        known = len(trajectory) - (trajectory.final == UNREPORTED and not trajectory.ended)
        np.add.at(visits, (trajectory.states[:known], trajectory.actions[:known]), 1)
        first[trajectory.states[0]] += 1
    assert (insight.visits == visits).all()
    assert insight.start == pytest.approx(first / first.sum())


def test_tables_come_back_as_they_were_packed():
    agent = taught(FEATURES[0])
    insight, again = agent.insight(), unpack_insight(agent.packed_insight())
    for field in fields(TabularInsight):
        before, after = getattr(insight, field.name), getattr(again, field.name)
        assert np.array_equal(before, after), field.name
        assert type(before) is type(after)


def test_tables_that_were_packed_before_kinds_were_named_can_be_read():
    insight = taught(FEATURES[0]).insight()
    again = unpack_insight(pack_arrays(insight.arrays()))
    assert np.array_equal(again.weights, insight.weights)


def test_tables_that_were_packed_before_automata_read_actions_can_be_read():
    events = {"kind": "events", "events": [{"then": [0, 1]}, {"visited": 2}]}
    insight = taught(events).insight()
    arrays = insight.arrays()
    old = arrays | {"update": arrays["update"][:, :, 0]}
    del old["ends"]
    again = unpack_insight(pack_arrays(old))
    for trajectory, _ in trajectories(20, seed=9):
        assert again.predict(trajectory) == insight.predict(trajectory)


@pytest.mark.parametrize(
    "packed",
    [
        b"not an archive",
        pack_arrays({"kind": np.array("thompson"), "weights": np.zeros((1, 1, 1))}),
        pack_arrays({"kind": np.array("magic")}),
        pack_arrays({"kind": np.array("thompson")}, version=99),
    ],
    ids=["bytes", "tables", "kind", "version"],
)
def test_bytes_that_are_no_insight_are_refused(packed):
    with pytest.raises(SnapshotError, match="insight"):
        unpack_insight(packed)


@dataclass(frozen=True)
class Alternating:
    """A policy with a memory: it counts its steps, and picks the other action half the time."""

    def act(self, step, state, memory, uniform):
        counted = memory[0] if memory else 0
        return (state + counted + (uniform < 0.3)) % A, (counted + 1,)

    def branches(self, step, state, memory):
        counted = memory[0] if memory else 0
        return [
            (0.3, (state + counted + 1) % A, (counted + 1,)),
            (0.7, (state + counted) % A, (counted + 1,)),
        ]


def enumerated(insight, policy, played, memory):
    """The chance of a good label, over every way that the episode can go on."""
    rows = insight.transitions.dense()
    shares = insight.share(played)
    known = 0
    for state, action in zip(played.states, played.actions, strict=True):
        known = insight.update[known, state, action]

    def go_on(step, state, action, memory, known, logit):
        if step + 1 == H:
            return float(expit(logit + insight.remembered[known]))
        total = 0.0
        for column, chance in enumerate(rows[state * A + action]):
            if chance == 0.0:
                continue
            if column >= S:
                last = known if column == 2 * S else insight.ends[known, column - S]
                end = insight.ended_weights[step + 1, column - S] + insight.remembered[last]
                total += chance * float(expit(logit + end))
                continue
            for share, following, kept in policy.branches(step + 1, column, memory):
                more = insight.weights[step + 1, column, following]
                after = insight.update[known, column, following]
                place = step + 1, column, following, kept, after
                total += chance * share * go_on(*place, logit + more)
        return total

    here = len(played) - 1, int(played.states[-1]), int(played.actions[-1])
    so_far = shares.offset + shares.steps.sum() - insight.remembered[known]
    return go_on(*here, memory, known, so_far)


@pytest.mark.parametrize("policy", [UniformPolicy(A), Alternating()], ids=["uniform", "memory"])
@pytest.mark.parametrize("steps", [1, 2, 4])
@pytest.mark.parametrize("features", [FEATURES[0], FEATURES[-1]], ids=["counts", "automaton"])
def test_rollouts_estimate_what_enumeration_gives(policy, steps, features):
    insight = taught(features).insight()
    assert not insight.transitions.seen.all() or insight.columns.max() >= S
    played = Trajectory(np.array([0, 2, 1, 0][:steps]), np.array([1, 0, 0, 1][:steps]))
    memory = (steps,) if isinstance(policy, Alternating) else ()
    exact = enumerated(insight, policy, played, memory)
    seeds = 60
    found = np.mean(
        [
            insight.success_from(policy, played, memory, np.random.default_rng(seed))
            for seed in range(seeds)
        ]
    )
    # Hoeffding: a mean of n numbers in [0, 1] is this far off with probability below 1e-9.
    allowed = math.sqrt(math.log(2.0 / 1e-9) / (2.0 * seeds * ROLLOUTS))
    assert abs(found - exact) < allowed
    if steps == H:
        assert found == pytest.approx(exact, abs=1e-12)  # nothing is left to chance


def test_a_model_that_was_never_seen_leads_anywhere():
    spec = AgentSpec(states=S, actions=A, horizon=H, features=FEATURES[0])
    insight = make_agent(spec).insight()
    played = Trajectory(np.array([0]), np.array([0]))
    found = insight.success_from(UniformPolicy(A), played, (), np.random.default_rng(0))
    assert found == pytest.approx(0.5)  # nothing is known: all weights are zero
