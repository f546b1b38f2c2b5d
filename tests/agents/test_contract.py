"""What every agent kind must keep, run over the registry: a new kind is tested with no edit."""

import numpy as np
import pytest

from app.agents import AGENT_KINDS, AgentSpec, make_agent, restore_agent
from app.agents.options import OptimistOptions
from app.agents.tabular.model_based import ModelBased
from app.errors import InvalidValue, SnapshotError
from app.learning.features.one_hot import OneHot
from app.learning.randomness import generator, uniform
from app.learning.spaces import Spaces
from app.learning.trajectory import UNREPORTED, Trajectory
from app.planning.policies.registry import act_in, pack_policy, unpack_policy
from app.wire.validation import parse

STATES, ACTIONS, HORIZON = 4, 2, 5
KINDS = sorted(AGENT_KINDS)
COUNTING = [kind for kind in KINDS if not AGENT_KINDS[kind].observes]
QUICK = {"reinforce": {"batch": 4, "step_size": 0.2}}  # options that learn from a few episodes


def spec_of(kind, seed=3, **changes):
    """A small specification; a kind that sees numbers is shown the state as one of them."""
    states = {"states": STATES}
    if kind in AGENT_KINDS and AGENT_KINDS[kind].observes:
        states = {"observations": {"low": [0.0], "high": [STATES - 1.0]}}
    data = states | {
        "actions": ACTIONS,
        "horizon": HORIZON,
        "algorithm": {"kind": kind, **QUICK.get(kind, {})},
        "seed": seed,
    }
    return parse(AgentSpec, data | changes)


def episode_of(agent, states, actions, final=UNREPORTED, ended=False):
    """An episode in the form that the agent takes."""
    if not agent.observes:
        return Trajectory(np.array(states), np.array(actions), final, ended)
    seen = np.array(states, dtype=np.float64).reshape(-1, 1)
    return Trajectory.observed(seen, np.array(actions), ended)


def play(agent, number, policy, world):
    """A small world that walks right or left and ends in its last state half of the time."""
    states, actions, state, memory = [], [], 0, ()
    for step in range(HORIZON):
        shown = (float(state),) if agent.observes else state
        action, memory = act_in(policy, step, shown, memory, uniform(agent.spec.seed, number, step))
        assert 0 <= action < ACTIONS
        assert all(isinstance(part, int) for part in memory)
        states.append(state)
        actions.append(action)
        state = min(state + 1, STATES - 1) if action else max(state - 1, 0)
        if state == STATES - 1 and world.random() < 0.5:
            return episode_of(agent, states, actions, state, ended=True)
    return episode_of(agent, states, actions)


def learn(agent, numbers, seed=11):
    """Play and label episodes one after the other; every action that was taken."""
    taken = []
    for number in numbers:
        world = generator(seed, number)
        policy = agent.plan(number, certify=False).policy
        trajectory = play(agent, number, policy, world)
        agent.finish(number, trajectory)
        agent.label(number, int(trajectory.ended or world.random() < 0.2))
        taken.append(trajectory.actions.tolist())
    return taken


def recorded(seed=11, count=12):
    """Episodes and labels that came from somewhere else."""
    world = generator(seed, 0)
    episodes = {}
    for number in range(count):
        length = HORIZON if world.random() < 0.5 else int(world.integers(1, HORIZON))
        states, actions = world.integers(STATES, size=length), world.integers(ACTIONS, size=length)
        ended = length < HORIZON
        final = int(world.integers(STATES)) if ended else UNREPORTED
        episodes[number] = ((states, actions, final, ended), int(world.random() < 0.5))
    return episodes


def actions_of(agent, modes=("learn", "exploit")):
    """What the agent would do in many situations: the actions of rollouts of both its plans."""
    taken = []
    for mode in modes:
        policy = agent.plan(99, mode, certify=False).policy
        taken += [play(agent, n, policy, generator(5, n)).actions.tolist() for n in range(40)]
    return taken


@pytest.mark.parametrize("kind", KINDS)
class TestEveryKind:
    def test_the_same_seed_gives_the_same_actions(self, kind):
        first, second = (learn(make_agent(spec_of(kind)), range(15)) for _ in range(2))
        assert first == second

    def test_a_snapshot_goes_on_as_if_nothing_had_happened(self, kind):
        whole = make_agent(spec_of(kind))
        learn(whole, range(9))
        stored = whole.snapshot()
        rest = learn(whole, range(9, 18))
        assert learn(restore_agent(spec_of(kind), stored), range(9, 18)) == rest

    def test_a_snapshot_is_plain_arrays(self, kind):
        agent = make_agent(spec_of(kind))
        learn(agent, range(3))
        with pytest.raises(SnapshotError):
            restore_agent(spec_of(kind), agent.snapshot()[:-30])
        with pytest.raises(SnapshotError):
            restore_agent(spec_of(kind), b"not an archive")

    def test_a_snapshot_of_another_agent_is_refused(self, kind):
        agent = make_agent(spec_of(kind))
        learn(agent, range(3))
        with pytest.raises(SnapshotError):
            restore_agent(spec_of(kind, actions=ACTIONS + 1), agent.snapshot())

    def test_the_order_of_late_labels_does_not_matter(self, kind):
        episodes = recorded()
        agents = [make_agent(spec_of(kind)) for _ in range(2)]
        for agent, order in zip(agents, (list(episodes), list(episodes)[::-1]), strict=True):
            for number, (played, _) in episodes.items():
                agent.finish(number, episode_of(agent, *played))
            for number in order:
                agent.label(number, episodes[number][1])
        assert actions_of(agents[0]) == actions_of(agents[1])

    def test_a_corrected_label_leaves_no_trace(self, kind):
        episodes = recorded()
        clean, corrected = (make_agent(spec_of(kind)) for _ in range(2))
        for number, (played, label) in episodes.items():
            for agent in (clean, corrected):
                agent.finish(number, episode_of(agent, *played))
            clean.label(number, label)
            corrected.label(number, 1 - label if number % 3 == 0 else label)
        corrected.plan(50, certify=False)
        for number, (_, label) in episodes.items():
            corrected.label(number, label)
        assert actions_of(corrected) == actions_of(clean)

    def test_a_withdrawn_label_leaves_no_trace(self, kind):
        episodes = recorded()
        clean, corrected = (make_agent(spec_of(kind)) for _ in range(2))
        for number, (played, label) in episodes.items():
            for agent in (clean, corrected):
                agent.finish(number, episode_of(agent, *played))
            if number % 4:
                clean.label(number, label)
            corrected.label(number, label)
        corrected.plan(50, certify=False)
        for number in episodes:
            if number % 4 == 0:
                corrected.remove_label(number)
        assert actions_of(corrected) == actions_of(clean)

    def test_the_order_of_voices_does_not_matter(self, kind):
        """Two people judge every other episode, in whatever order and with whichever slot."""
        episodes = recorded()
        agents = [make_agent(spec_of(kind)) for _ in range(2)]
        for agent, swapped in zip(agents, (False, True), strict=True):
            for number, (played, _) in episodes.items():
                agent.finish(number, episode_of(agent, *played))
            for number in list(episodes)[:: -1 if swapped else 1]:
                verdicts = [episodes[number][1], number % 4 // 2][: 1 + number % 2]
                for slot, label in enumerate(verdicts[::-1] if swapped else verdicts):
                    agent.label(number, label, slot)
        assert len(agents[0].experience.labels) == 18
        assert agents[0].experience.sorted_labels() == agents[1].experience.sorted_labels()
        assert actions_of(agents[0]) == actions_of(agents[1])

    def test_a_voice_that_is_corrected_or_withdrawn_leaves_no_trace(self, kind):
        episodes = recorded()
        clean, corrected = (make_agent(spec_of(kind)) for _ in range(2))
        for number, (played, label) in episodes.items():
            for agent in (clean, corrected):
                agent.finish(number, episode_of(agent, *played))
                agent.label(number, label)
            corrected.label(number, 1 - label if number % 3 == 0 else label, slot=1)
            if number % 2 == 0:
                clean.label(number, label, slot=1)
        corrected.plan(50, certify=False)
        for number, (_, label) in episodes.items():
            if number % 2 == 0:
                corrected.label(number, label, slot=1)
            else:
                corrected.remove_label(number, slot=1)
        assert corrected.experience.labels == clean.experience.labels
        assert actions_of(corrected) == actions_of(clean)

    def test_a_snapshot_keeps_every_voice(self, kind):
        whole = make_agent(spec_of(kind))
        learn(whole, range(9))
        for number in (0, 3, 4):
            whole.label(number, 1 - whole.experience.labels[number, 0], slot=1)
        again = restore_agent(spec_of(kind), whole.snapshot())
        assert again.experience.labels == whole.experience.labels
        for agent in (whole, again):
            agent.remove_label(3, slot=1)
            agent.label(4, 1, slot=2)
        assert learn(again, range(9, 14)) == learn(whole, range(9, 14))
        assert again.experience.labels == whole.experience.labels

    def test_transitions_count_without_a_label(self, kind):
        agent = make_agent(spec_of(kind))
        steps = episode_of(agent, [0, 1], [1, 1], final=2)
        agent.finish(0, steps)
        agent.abandon(steps)
        assert agent.experience.transitions.visits.sum() == 4
        assert not agent.experience.labels

    def test_exploit_has_no_bonuses(self, kind):
        """A probability, whatever bonuses learning plans have."""
        agent = make_agent(spec_of(kind))
        learn(agent, range(4))
        plan = agent.plan(4, "exploit")
        assert 0.0 <= plan.lower <= plan.value <= plan.upper <= 1.0 + 1e-9

    def test_a_plan_certifies_itself(self, kind):
        agent = make_agent(spec_of(kind))
        learn(agent, range(4))
        plan = agent.plan(4)
        assert plan.lower <= plan.value <= plan.upper
        # A kind with a model and no accuracy to choose plans exactly; without a model all is open.
        exact = 0.0 if isinstance(agent, ModelBased) else 1.0
        assert plan.gap <= getattr(agent.options, "epsilon", exact)

    def test_pending_episodes_are_taken(self, kind):
        agent = make_agent(spec_of(kind))
        learn(agent, range(4))
        pending = [agent.plan(4, certify=False).policy]
        assert agent.plan(5, pending=pending, certify=False).upper >= 0.0

    def test_an_episode_may_play_the_plan_of_another(self, kind):
        agent = make_agent(spec_of(kind))
        policy = agent.plan(0, certify=False).policy
        agent.planned(0)
        agent.plays(1, 0)
        agent.finish(1, play(agent, 1, policy, generator(5, 1)))
        agent.label(1, 1)
        assert agent.experience.labels == {(1, 0): 1}

    @pytest.mark.parametrize("label", [2, -1, 0.0, 1.0, None, "1", float("nan")])
    def test_labels_are_0_or_1(self, kind, label):
        agent = make_agent(spec_of(kind))
        agent.finish(0, episode_of(agent, [0], [0]))
        with pytest.raises(InvalidValue, match="label"):
            agent.label(0, label)
        assert not agent.experience.labels

    def test_only_finished_episodes_are_labelled(self, kind):
        with pytest.raises(InvalidValue, match="episode"):
            make_agent(spec_of(kind)).label(0, 1)

    def test_an_episode_is_finished_once(self, kind):
        agent = make_agent(spec_of(kind))
        agent.finish(0, episode_of(agent, [0], [0]))
        with pytest.raises(InvalidValue, match="episode"):
            agent.finish(0, episode_of(agent, [0], [0]))
        assert agent.experience.transitions.visits.sum() == 1

    @pytest.mark.parametrize(
        ("field", "states", "actions"),
        [
            ("actions", [0, 1], [0, ACTIONS]),
            ("trajectory", [0, 1], [0]),
            ("trajectory", [0] * (HORIZON + 1), [0] * (HORIZON + 1)),
        ],
    )
    def test_a_bad_episode_changes_nothing(self, kind, field, states, actions):
        agent = make_agent(spec_of(kind))
        with pytest.raises(InvalidValue, match=field):
            agent.finish(0, episode_of(agent, states, actions))
        assert not agent.experience.episodes
        assert agent.experience.transitions.visits.sum() == 0

    @pytest.mark.parametrize(
        ("features", "field"),
        [
            ({"kind": "one_hot", "over": ["state"], "steps": [HORIZON]}, "features.steps"),
            ({"kind": "one_hot", "over": ["state"], "steps": {"last": 9}}, "features.steps.last"),
            ({"kind": "table", "values": [[[1.0]] * STATES] * ACTIONS}, "features.values"),
            ({"kind": "table", "values": [[[1e-300]] * ACTIONS] * STATES}, "features.values"),
            ({"kind": "table", "values": [[["x"]] * ACTIONS] * STATES}, "features.values"),
        ],
    )
    def test_features_that_do_not_fit_are_refused(self, kind, features, field):
        """Also by a kind that has no use for them: a client learns of it where it happens."""
        with pytest.raises(InvalidValue) as caught:
            make_agent(spec_of(kind, features=features))
        assert caught.value.field == field

    def test_unknown_options_are_refused(self, kind):
        with pytest.raises(InvalidValue, match=rf"unknown option 'speed'. Options of {kind}: "):
            spec_of(kind, algorithm={"kind": kind, "speed": 9})


@pytest.mark.parametrize("kind", COUNTING)
class TestEveryKindThatCountsStates:
    @pytest.mark.parametrize(
        ("field", "states", "final"),
        [("states", [0, STATES], -1), ("states", [0, -1], -1), ("final", [0, 0], STATES)],
    )
    def test_states_that_are_none_change_nothing(self, kind, field, states, final):
        agent = make_agent(spec_of(kind))
        with pytest.raises(InvalidValue, match=field):
            agent.finish(0, Trajectory(np.array(states), np.array([0, 0]), final))
        assert not agent.experience.episodes
        assert agent.experience.transitions.visits.sum() == 0

    def test_numbers_without_bins_are_refused(self, kind):
        box = {"low": [0.0], "high": [1.0]}
        data = {"observations": box, "actions": ACTIONS, "horizon": HORIZON}
        with pytest.raises(InvalidValue, match="states: expected bins"):
            make_agent(parse(AgentSpec, data | {"algorithm": {"kind": kind}}))

    def test_observations_in_an_episode_are_refused(self, kind):
        agent = make_agent(spec_of(kind))
        seen = Trajectory.observed(np.zeros((1, 1)), np.array([0]))
        for tell in (lambda: agent.finish(0, seen), lambda: agent.abandon(seen)):
            with pytest.raises(InvalidValue, match=r"trajectory\.observations: expected none"):
                tell()
        assert agent.experience.transitions.visits.sum() == 0

    @pytest.mark.parametrize("start", [[1.0], [0.5, 0.5, 0.5, -0.5], [0.3, 0.3, 0.3, 0.3]])
    def test_first_states_that_are_no_distribution_are_refused(self, kind, start):
        with pytest.raises(InvalidValue, match="initial_states: expected 4 probabilities"):
            make_agent(spec_of(kind, initial_states=start))

    def test_what_the_client_gave_is_at_hand(self, kind):
        features = {"kind": "one_hot", "over": ["state"], "steps": [1, 3]}
        start = [0.5, 0.25, 0.25, 0.0]
        agent = make_agent(spec_of(kind, features=features, initial_states=start))
        assert agent.given_start.tolist() == start
        spaces = Spaces(STATES, ACTIONS, HORIZON)
        assert agent.given_features == OneHot(spaces, False, True, False, (1, 3))
        without = make_agent(spec_of(kind))
        assert without.given_start is None
        assert without.given_features is None


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"ucbvi"}))
def test_another_seed_gives_other_actions(kind):
    """`ucbvi` is left out: optimism draws nothing but the rounding of its accumulator."""
    first = learn(make_agent(spec_of(kind, seed=3)), range(15))
    second = learn(make_agent(spec_of(kind, seed=4)), range(15))
    assert first != second


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if not issubclass(AGENT_KINDS[kind], OptimistOptions)]
)
def test_maps_that_compete_are_no_map_of_the_client(kind):
    assert make_agent(spec_of(kind, features={"kind": "auto"})).given_features is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.0, 1.0, -1.0, float("nan"), "small"])
def test_epsilon_is_between_0_and_1(kind, epsilon):
    with pytest.raises(InvalidValue, match=r"algorithm\.epsilon"):
        make_agent(spec_of(kind, algorithm={"kind": kind, "epsilon": epsilon}))


def test_an_unknown_kind_is_refused():
    with pytest.raises(InvalidValue, match=r"algorithm\.kind: expected one of"):
        make_agent(spec_of("magic"))


LIMITS = ((0, (1,)), (2, (0,)), (3, (1,)))  # states and the actions that are possible there
LIMITED = {"events": {"features": {"kind": "events", "events": [{"both": [1, 2]}]}}}


@pytest.mark.parametrize("kind", [*COUNTING, "events", "paper", "reward", "logit"])
def test_an_impossible_action_is_never_planned_nor_chosen(kind):
    """In every state, also where no history leads, before and after learning, and after storing."""
    options = {
        "events": {"algorithm": {"kind": "thompson"}, **LIMITED["events"]},
        "paper": {
            "algorithm": {"kind": "ucbvi", "planner": "paper", "paper_epsilon": 60.0},
            "horizon": 2,
        },
        "reward": {"algorithm": {"kind": "ucbvi", "optimism": "reward"}},
        "logit": {"algorithm": {"kind": "ucbvi", "optimism": "logit"}},
    }.get(kind, {"algorithm": {"kind": kind}})
    if kind == "ucbvi_explore":
        options = {"algorithm": {"kind": kind, "n_euler": 2, "n_eval": 1, "max_loops": 2}}
    spec = spec_of("thompson", **{"allowed": LIMITS} | options)
    agent, horizon, possible = make_agent(spec), spec.horizon, dict(LIMITS)
    taken = set()
    for number in range(14):
        for mode in ("learn", "exploit"):
            policy = unpack_policy(pack_policy(agent.plan(number, mode, certify=False).policy))
            for luck in range(12):
                memory, world = (), generator(number, luck)
                for step in range(horizon):
                    state, drawn = int(world.integers(STATES)), float(world.random())
                    for chance, action, _ in policy.branches(step, state, memory):
                        assert chance > 0
                        assert action in possible.get(state, range(ACTIONS))
                    action, memory = policy.act(step, state, memory, drawn)
                    assert action in possible.get(state, range(ACTIONS))
                    taken.add((state, action))
        world = generator(5, number)
        states = world.integers(STATES, size=horizon)
        actions = world.integers(ACTIONS, size=horizon)  # a log may have impossible ones
        agent.finish(number, episode_of(agent, states, actions))
        agent.label(number, int(actions[-1]))
    assert taken >= {(0, 1), (2, 0), (3, 1)}
    insight = agent.insight()
    if insight is not None:
        found = insight.success_map().best_actions
        for state, actions in LIMITS:
            assert found[state] in (-1, *actions)
        assert {(pair.state, pair.action) for pair in insight.least_known(99)} <= {
            (state, action)
            for state in range(STATES)
            for action in possible.get(state, range(ACTIONS))
        }


@pytest.mark.parametrize(
    "allowed", [((9, (0,)),), ((-1, (0,)),), ((0, ()),), ((0, (2,)),), ((0, (-1,)),)]
)
def test_limits_that_fit_nothing_are_refused(allowed):
    with pytest.raises(InvalidValue):
        make_agent(spec_of("thompson", allowed=allowed))


@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(COUNTING)))
def test_a_kind_that_sees_numbers_takes_no_limits_by_state(kind):
    with pytest.raises(InvalidValue, match="with each step"):
        make_agent(spec_of(kind, allowed=((0, (1,)),)))
