"""What `smooth` alone does; the contract suite tests what every kind does."""

import numpy as np
import pytest

from app.agents import AgentSpec, make_agent, restore_agent
from app.agents.kinds.smooth.belief import MOST_EPISODES, Belief, Notes
from app.agents.kinds.smooth.log import checkpoint
from app.agents.kinds.smooth.side_by_side import expected_visits
from app.errors import BudgetExceeded, SnapshotError
from app.learning.continuous.steps import Path
from app.learning.continuous.world import Bounds, World
from app.learning.trajectory import UNREPORTED, Trajectory
from app.planning.policies.net import NetPolicy
from app.planning.policies.uniform import UniformPolicy
from app.wire.validation import parse

HORIZON = 12


def spec(**changes):
    data = {
        "observations": {"low": [-2.0, -1.0], "high": [2.0, 1.0]},
        "actions": 3,
        "horizon": HORIZON,
        "algorithm": {"kind": "smooth", "centres": 120},
        "seed": 4,
    }
    return parse(AgentSpec, data | changes)


def walk(policy, seed, reported=True, length=HORIZON):
    """A cart that is pushed left, not at all, or right."""
    rng = np.random.default_rng(seed)
    rows, actions, memory = [np.array([rng.uniform(-0.1, 0.1), 0.0])], [], ()
    for step in range(length):
        action, memory = policy.act(step, tuple(rows[-1]), memory, rng.random())
        speed = 0.9 * rows[-1][1] + 0.1 * (action - 1)
        rows.append(np.array([rows[-1][0] + 0.3 * speed, speed]))
        actions.append(action)
    final = rows[-1] if reported else None
    return Trajectory.observed(np.array(rows[:-1]), np.array(actions), False, final), rows[-1]


def trained(count=14, reported=True, **changes):
    agent = make_agent(spec(**changes))
    for number in range(count):
        policy = agent.plan(number, certify=False).policy
        played, end = walk(policy, number, reported)
        agent.finish(number, played)
        agent.label(number, int(end[0] > 0.5))
    return agent


def same(one, other):
    arrays = one.arrays()
    return all((value == other.arrays()[name]).all() for name, value in arrays.items())


def test_it_learns_to_stand_on_the_right():
    agent = trained(24)
    plan = agent.plan(99, "exploit")
    ends = [walk(plan.policy, 1000 + i)[1][0] for i in range(20)]
    assert np.mean(np.array(ends) > 0.5) > 0.9
    assert plan.value > 0.5


def test_before_any_step_it_acts_uniformly():
    agent = make_agent(spec())
    for mode in ("learn", "exploit"):
        assert isinstance(agent.plan(0, mode).policy, UniformPolicy)
    assert agent.information([]).shape == (0,)
    assert agent.progress()["steps"] == 0


def test_an_episode_of_one_step_without_a_report_teaches_no_dynamics():
    agent = make_agent(spec())
    agent.finish(0, walk(UniformPolicy(3), 0, reported=False, length=1)[0])
    agent.label(0, 1)
    assert isinstance(agent.plan(1).policy, UniformPolicy)


def test_episodes_side_by_side_have_different_draws_and_avoid_each_other():
    agent = trained(8)
    first, second = agent.plan(8).policy, agent.plan(10).policy
    assert not same(first, second)
    world = agent._current().belief.world
    visits = expected_visits(world, [first, UniformPolicy(3)], HORIZON, np.random.default_rng(0))
    assert visits.shape == (2 * HORIZON, 2)
    alone, beside = agent.plan(10).policy, agent.plan(10, pending=[first] * 5).policy
    assert same(alone, second)
    assert beside.bonuses.sum() < alone.bonuses.sum()


def test_exploit_has_a_hazard_and_no_bonus():
    policy = trained(8).plan(9, "exploit").policy
    assert isinstance(policy, NetPolicy)
    assert (policy.bonuses == 0).all()
    assert (policy.factors < 1).all()
    assert policy.factors.min() >= 1 - 1 / HORIZON - 1e-6


def test_given_up_episodes_teach_the_dynamics_and_survive_a_snapshot():
    agent = make_agent(spec())
    agent.abandon(walk(UniformPolicy(3), 1)[0])
    agent.abandon(walk(UniformPolicy(3), 2, reported=False, length=5)[0])
    plan = agent.plan(0, "exploit")
    assert isinstance(plan.policy, NetPolicy)
    again = restore_agent(spec(), agent.snapshot())
    assert same(again.plan(0, "exploit").policy, plan.policy)


def test_a_broken_snapshot_is_refused():
    agent = make_agent(spec())
    with pytest.raises(SnapshotError, match="smooth"):
        agent._load_own({"lengths": np.array([3])})


def test_an_end_that_is_reported_later_is_learned_as_if_it_had_been_known():
    known, late = make_agent(spec()), make_agent(spec())
    for number in range(6):
        played, end = walk(UniformPolicy(3), number)
        known.finish(number, played)
        late.finish(number, walk(UniformPolicy(3), number, reported=False)[0])
        for agent in (known, late):
            agent.label(number, number % 2)
    before = late.plan(7, "exploit").policy
    for number in range(6):
        end = known.experience.episodes[number].final_observation
        late.report(number, UNREPORTED, False, end)
    after = late.plan(7, "exploit").policy
    assert not same(before, after)
    assert same(after, known.plan(7, "exploit").policy)
    assert same(restore_agent(spec(), late.snapshot()).plan(7, "exploit").policy, after)


def test_a_label_teaches_less_once_it_is_known():
    agent = trained(24)
    agent.finish(24, walk(UniformPolicy(3), 500)[0])
    before = agent.information([24, 3])
    assert (before > 0).all()
    agent.label(24, 0)
    assert agent.information([24])[0] < before[0]


def test_it_warns_of_a_box_that_does_not_fit_and_of_numbers_that_never_change():
    agent = make_agent(spec(observations={"low": [-0.01, 5.0], "high": [0.01, 6.0]}))
    assert agent.warnings() == {}
    played, _ = walk(UniformPolicy(3), 0)
    still = played.observations.copy()
    still[:, 1] = 5.5
    agent.finish(0, Trajectory.observed(still, played.actions))
    found = agent.warnings()
    assert "outside the declared box" in found["outside_the_box"]
    assert "[1]" in found["numbers_never_change"]


def test_it_warns_of_features_that_it_does_not_use():
    features = {"kind": "one_hot", "over": ["action"]}
    assert "features" in make_agent(spec(features=features)).warnings()["features_unused"]


def test_progress_says_what_labels_depend_on():
    progress = trained(24).progress()
    assert "states" in progress["labels_depend_on"]
    assert progress["centres"] <= 120
    assert len(progress["relevance"]) == 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"horizon": 9000}, "horizon"),
        ({"actions": 2000}, "actions"),
    ],
)
def test_what_no_plan_could_hold_is_refused(changes, words):
    with pytest.raises(BudgetExceeded, match=words):
        make_agent(spec(**changes))


def test_a_long_horizon_has_fewer_centres():
    assert make_agent(spec(horizon=8000, algorithm={"kind": "smooth"})).centres == 100


def test_checkpoints_grow_by_a_tenth():
    rungs = sorted({checkpoint(n) for n in range(400)})
    assert rungs[:12] == list(range(12))
    ratios = np.array(rungs[12:]) / np.array(rungs[11:-1])
    assert ratios.max() < 1.2
    assert all(checkpoint(rung) == rung for rung in rungs)


def test_many_labels_are_represented_by_some_with_the_weight_of_all():
    rng = np.random.default_rng(0)
    paths = {}
    for number in range(MOST_EPISODES + 200):
        rows = rng.normal(size=(4, 2))
        paths[number] = Path(rows[:3], np.array([0, 1, 0]), rows[3])
    bounds = Bounds(np.full(2, -3.0), np.full(2, 3.0), 2)
    world = World(list(paths.values())[:50], bounds, 50, np.random.default_rng(1))
    verdicts = [(number, int(number % 10 == 0)) for number in paths]
    labels = Belief(Notes(world, 3), paths, verdicts, seed=0).labels
    assert len(labels) == MOST_EPISODES
    assert labels.counts.sum() == pytest.approx(len(paths))
    assert labels.shares @ labels.counts == pytest.approx(sum(label for _, label in verdicts))
