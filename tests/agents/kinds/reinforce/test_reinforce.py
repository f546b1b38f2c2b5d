"""The agent kind `reinforce`: what it learns from whom, and that the past can be corrected."""

import numpy as np
import pytest

from app.agents import AgentSpec, make_agent, restore_agent
from app.agents.kinds.reinforce.authorship import Authorship
from app.agents.kinds.reinforce.options import ReinforceOptions
from app.errors import BudgetExceeded, InvalidValue, SnapshotError
from app.learning.randomness import generator, uniform
from app.learning.trajectory import Trajectory
from app.planning.problem import PlanBudget
from app.wire.validation import parse

HORIZON, BATCH = 3, 5
SMALL = {"batch": BATCH, "hidden": [6], "step_size": 0.05}


def spec_of(seed=3, budget=None, **options):
    data = {
        "observations": {"low": [-2.0, 0.0], "high": [2.0, 10.0]},
        "actions": 3,
        "horizon": HORIZON,
        "algorithm": {"kind": "reinforce", **(SMALL | options)},
        "seed": seed,
    }
    return parse(AgentSpec, data)


def agent_of(**options):
    return make_agent(spec_of(**options))


def shown(number):
    """What is seen in an episode, whatever is done: the sign of the first number matters."""
    world = generator(5, number)
    first = world.uniform(0.5, 2.0, size=HORIZON) * world.choice([-1, 1], size=HORIZON)
    return np.stack([first, world.uniform(0, 10, size=HORIZON)], axis=1)


def right(seen):
    """Action 0 where the first number is negative, else 2; action 1 is never right."""
    return np.where(seen[:, 0] < 0, 0, 2)


def play(agent, number, policy):
    """Play an episode, tell the agent, and say what its label should be."""
    seen = shown(number)
    luck = [uniform(agent.spec.seed, number, step) for step in range(HORIZON)]
    taken = [policy.act(h, tuple(seen[h]), (), luck[h])[0] for h in range(HORIZON)]
    agent.finish(number, Trajectory.observed(seen, np.array(taken)))
    return int((np.array(taken) == right(seen)).all())


def learn(agent, numbers):
    for number in numbers:
        agent.label(number, play(agent, number, agent.plan(number).policy))


def success(agent, episodes=200):
    """The exact success probability over many episodes' observations."""
    policy = agent.plan(10**6, "exploit").policy
    chances = []
    for number in range(10**6, 10**6 + episodes):
        seen = shown(number)
        chances.append(policy.probabilities(seen)[np.arange(HORIZON), right(seen)].prod())
    return float(np.mean(chances))


def by_hand(agent, order, players):
    """The parameters after all batches, from the formulas of REINFORCE and Adam."""
    network, low, high = agent.network, np.array([-2.0, 0.0]), np.array([2.0, 10.0])
    theta = agent_of().chain.states[0].theta
    mean = square = np.zeros_like(theta)
    for step in range(len(order) // BATCH):
        members = order[step * BATCH : (step + 1) * BATCH]
        y = np.array([label for _, label in members], dtype=float)
        advantages = (y - y.mean()) / (y.std() + 1e-8)
        gradient = np.zeros_like(theta)
        for (n, _), factor in zip(members, advantages, strict=True):
            one, player = agent.experience.episodes[n], players.get(n)
            inputs = 2 * (one.observations - low) / (high - low) - 1
            at = theta if player is None else player
            gradient += network.gradient(at, inputs, one.actions, np.full(HORIZON, factor / BATCH))
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        unbiased, deviation = mean / (1 - 0.9 ** (step + 1)), square / (1 - 0.999 ** (step + 1))
        theta = theta + 0.05 * unbiased / (np.sqrt(deviation) + 1e-8)
    return theta


class TestLearning:
    def test_it_learns(self):
        agent = agent_of()
        before = success(agent)
        learn(agent, range(100 * BATCH))
        assert before < 0.1
        assert success(agent) > 0.9

    def test_its_steps_are_those_of_the_formulas(self):
        agent = agent_of()
        learn(agent, range(4 * BATCH))
        wanted = by_hand(agent, agent.experience.sorted_labels(), {})  # each batch by its own theta
        np.testing.assert_allclose(agent.plan(99).policy.theta, wanted, rtol=1e-9, atol=1e-12)

    def test_a_batch_waits_until_it_is_full(self):
        agent = agent_of()
        first = agent.plan(0).policy.theta
        learn(agent, range(BATCH - 1))
        np.testing.assert_array_equal(agent.plan(4).policy.theta, first)
        learn(agent, [BATCH - 1])
        assert not np.array_equal(agent.plan(5).policy.theta, first)

    def test_labels_that_are_all_bad_teach_nothing(self):
        agent = agent_of()
        first = agent.plan(0).policy.theta
        for number in range(2 * BATCH):
            play(agent, number, agent.plan(number).policy)
            agent.label(number, 0)
        np.testing.assert_array_equal(agent.plan(99).policy.theta, first)

    def test_exploiting_draws_from_the_same_policy(self):
        agent = agent_of()
        learn(agent, range(BATCH))
        one, other = agent.plan(9), agent.plan(9, "exploit")
        np.testing.assert_array_equal(one.policy.theta, other.policy.theta)
        assert {one.policy.act(0, (1.0, 1.0), (), u / 50)[0] for u in range(50)} == {0, 1, 2}

    def test_an_episode_that_ends_at_once_is_learned_from(self):
        agent = agent_of()
        for number in range(BATCH):
            agent.finish(
                number, Trajectory.observed(np.empty((0, 2)), np.empty(0, dtype=int), True)
            )
            agent.label(number, number % 2)
        assert agent.plan(9).policy.theta is not None
        assert agent.progress()["gradient_steps"] == 1


class TestWhoPlayed:
    def test_a_late_label_is_learned_where_the_episode_was_played(self):
        """Two batches side by side: the second was played by the first policy too."""
        agent = agent_of()
        policies = [agent.plan(number).policy for number in range(2 * BATCH)]
        labels = {n: play(agent, n, policy) for n, policy in enumerate(policies)}
        labels[0], labels[BATCH] = 1, 1  # something to learn in each
        for number, label in labels.items():
            agent.label(number, label)
        players = dict.fromkeys(labels, policies[0].theta)
        found = agent.plan(99).policy.theta
        np.testing.assert_allclose(
            found, by_hand(agent, sorted(labels.items()), players), rtol=1e-9
        )
        assert np.abs(found - by_hand(agent, sorted(labels.items()), {})).max() > 1e-6

    def test_a_plan_may_serve_several_episodes(self):
        shared, own = agent_of(), agent_of()
        for agent in (shared, own):
            policy = agent.plan(0).policy
            for number in range(2 * BATCH):
                if agent is shared:
                    agent.plays(number, 0)
                else:
                    agent.plan(number)
                play(agent, number, policy)
            for number in range(2 * BATCH):
                agent.label(number, number % 2)
        np.testing.assert_array_equal(shared.plan(99).policy.theta, own.plan(99).policy.theta)

    def test_a_plan_nobody_made_is_no_plan(self):
        agent = agent_of()
        agent.plays(4, 77)
        play(agent, 4, agent.plan(0).policy)
        assert agent.authorship.of(4) is None

    def test_who_plays_survives_a_restart(self):
        """The episodes of the second batch are under way when everything stops."""
        agent = agent_of()
        policies = [agent.plan(number).policy for number in range(2 * BATCH)]
        for number in range(BATCH):
            play(agent, number, policies[number])
            agent.label(number, number % 2)
        agent.plan(50)
        again = restore_agent(spec_of(), agent.snapshot())
        for one in (agent, again):
            for number in range(BATCH, 2 * BATCH):
                play(one, number, policies[number])
                one.label(number, number % 2)
        found = agent.plan(99).policy.theta
        np.testing.assert_array_equal(found, again.plan(99).policy.theta)
        assert again.authorship.played == agent.authorship.played

    def test_the_log_alone_gives_the_same_agent_when_labels_are_never_late(self):
        agent, again = agent_of(), agent_of()
        learn(agent, range(6 * BATCH))
        for number, trajectory in agent.experience.episodes.items():
            again.finish(number, trajectory)
            again.label(number, agent.experience.labels[number, 0])
        np.testing.assert_array_equal(agent.plan(99).policy.theta, again.plan(99).policy.theta)

    def test_the_log_with_its_plans_gives_the_same_agent_always(self):
        """Labels late and corrected: it is enough to say where in the log plans were made."""
        agent, again, bare, log = agent_of(), agent_of(), agent_of(), []
        for first in range(0, 12 * BATCH, 4):
            log.append(("planned", first))
            policy = agent.plan(first).policy
            for number in range(first, first + 4):
                agent.plays(number, first)
                play(agent, number, policy)
                log.append(("finish", number, first, agent.experience.episodes[number]))
                late = number - 7
                if late >= 0:
                    log.append(("label", late, late % 3 // 2))
                    agent.label(late, late % 3 // 2)
            if first % 16 == 0 and first:
                log.append(("label", first // 2, 1))
                agent.label(first // 2, 1)
        for what, number, *rest in log:
            if what == "planned":
                again.planned(number)
            elif what == "label":
                again.label(number, *rest)
                bare.label(number, *rest)
            else:
                again.plays(number, rest[0])
                again.finish(number, rest[1])
                bare.finish(number, rest[1])
        wanted = agent.plan(99).policy.theta
        np.testing.assert_array_equal(again.plan(99).policy.theta, wanted)
        assert np.abs(bare.plan(99).policy.theta - wanted).max() > 1e-6

    def test_versions_nobody_played_are_let_go(self, monkeypatch):
        monkeypatch.setattr("app.agents.kinds.reinforce.authorship.OPEN", 3)
        kept = Authorship()
        for number in range(10):
            kept.plan(number, np.full(2, float(number)))
            if number == 4:
                kept.finish(number)
        for number in (2, 8, 9):
            kept.finish(number)
        assert kept.of(2) is None  # it took longer than is remembered
        assert [kept.of(n).tolist() for n in (4, 8, 9)] == [[4, 4], [8, 8], [9, 9]]
        assert sorted(kept.arrays()["versions"].tolist()) == [4, 7, 8, 9]

    def test_the_same_parameters_are_one_version(self):
        kept = Authorship()
        for number in range(5):
            kept.plan(number, np.ones(2))
        assert len(kept.arrays()["versions"]) == 1


class TestCorrections:
    def corrected(self, agent, number):
        agent.label(number, 1 - agent.experience.labels[number, 0])

    def test_a_corrected_label_is_exact(self):
        """Also for policies that played: the past stays, and is learned from differently."""
        agent = agent_of()
        learn(agent, range(6 * BATCH))
        self.corrected(agent, 7)
        agent.remove_label(3)
        verdicts = agent.experience.sorted_labels()
        players = {n: agent.authorship.of(n) for n, _ in verdicts}
        wanted = by_hand(agent, verdicts, players)
        np.testing.assert_allclose(agent.plan(99).policy.theta, wanted, rtol=1e-9, atol=1e-12)

    def test_every_voice_teaches(self):
        agent = agent_of()
        learn(agent, range(6 * BATCH))
        before = agent.plan(99).policy.theta
        for number in (1, 2, 9):
            agent.label(number, 1 - agent.experience.labels[number, 0], slot=1)
        verdicts = agent.experience.sorted_labels()
        assert len(verdicts) == 6 * BATCH + 3
        wanted = by_hand(agent, verdicts, {n: agent.authorship.of(n) for n, _ in verdicts})
        found = agent.plan(99).policy.theta
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
        assert not np.allclose(found, before)

    def test_a_correction_taken_back_leaves_no_trace(self):
        agent = agent_of()
        learn(agent, range(6 * BATCH))
        before = agent.plan(99).policy.theta
        self.corrected(agent, 7)
        assert not np.array_equal(agent.plan(99).policy.theta, before)
        self.corrected(agent, 7)
        np.testing.assert_array_equal(agent.plan(99).policy.theta, before)

    def test_a_correction_after_a_restart_is_the_same(self):
        agent = agent_of()
        learn(agent, range(9 * BATCH))
        again = restore_agent(spec_of(), agent.snapshot())
        for one in (agent, again):
            self.corrected(one, 7)
        np.testing.assert_array_equal(agent.plan(99).policy.theta, again.plan(99).policy.theta)

    @pytest.mark.parametrize("number", [2, 60, 300])
    def test_one_corrected_label_does_not_undo_what_was_learned(self, number):
        agent = agent_of()
        learn(agent, range(100 * BATCH))
        before = success(agent)
        self.corrected(agent, number)
        assert success(agent) > before - 0.05


class TestService:
    def test_a_new_plan_is_due_with_a_full_batch(self):
        agent = agent_of()
        learn(agent, range(2))
        agent.plan(2)
        assert agent.patience() == BATCH - 2
        learn(agent, range(2, BATCH))
        agent.plan(BATCH)
        assert agent.patience() == BATCH

    def test_a_look_does_not_put_a_plan_off(self):
        agent = agent_of()
        agent.plan(0)
        for number in range(BATCH):
            play(agent, number, agent.plan(number, "exploit").policy)
            agent.label(number, 1)
        agent.plan(BATCH, "exploit")
        assert len(agent.experience.labels) >= agent.patience()

    def test_progress(self):
        agent = agent_of()
        learn(agent, range(BATCH + 2))
        parameters = 2 * 6 + 6 + 6 * 3 + 3
        wanted = {"gradient_steps": 1, "batch": BATCH, "waiting": 2, "parameters": parameters}
        assert agent.progress() == wanted

    def test_the_value_is_the_success_of_the_last_batch(self):
        agent = agent_of()
        assert agent.plan(0).value == 0.5
        for number in range(BATCH):
            play(agent, number, agent.plan(number).policy)
            agent.label(number, int(number < 2))
        assert agent.plan(9).value == pytest.approx(2 / BATCH)

    def test_warnings(self):
        agent = agent_of()
        learn(agent, range(3))
        assert agent.warnings() == {}
        agent.finish(50, agent.experience.episodes[0])
        agent.label(50, 1)
        assert "1 labelled episodes were not played" in agent.warnings()["episodes_of_others"]
        literal = agent_of(configuration="literal").warnings()
        assert "not expected to learn" in literal["literal_configuration"]

    def test_a_snapshot_of_another_network_is_refused(self):
        agent = agent_of()
        learn(agent, range(BATCH))
        with pytest.raises(SnapshotError):
            restore_agent(spec_of(hidden=[7]), agent.snapshot())

    def test_a_network_over_the_budget_is_refused(self):
        with pytest.raises(BudgetExceeded, match=r"lower algorithm\.hidden"):
            make_agent(spec_of(hidden=[1024, 1024]))
        with pytest.raises(BudgetExceeded):
            make_agent(spec_of(), PlanBudget(bytes=1e4))


class TestOptions:
    def test_the_literal_configuration_is_the_papers_text(self):
        literal = ReinforceOptions(configuration="literal")
        spec = spec_of().model_copy(update={"algorithm": literal})
        agent = make_agent(spec)
        assert agent.network.sizes == (2, *(4,) * 10, 3)
        assert agent.network.activation == "relu"
        assert not agent.scaling.scaled
        o = agent.options
        assert (o.step_size, o.advantages, o.batch) == (1.0, "raw", 30)

    def test_what_is_given_stays_in_the_literal_configuration(self):
        agent = agent_of(configuration="literal")
        assert agent.options.hidden == (6,)
        assert agent.options.step_size == 0.05
        assert agent.options.activation == "relu"

    def test_no_hidden_layer_is_a_linear_policy(self):
        assert agent_of(hidden=[]).network.sizes == (2, 3)

    @pytest.mark.parametrize(
        ("option", "value", "field"),
        [
            ("hidden", [0], "hidden.0"),
            ("hidden", [4, 1025], "hidden.1"),
            ("hidden", [4] * 13, "hidden"),
            ("hidden", [2.5], "hidden.0"),
            ("hidden", 4, "hidden"),
            ("activation", "sine", "activation"),
            ("inputs", "whitened", "inputs"),
            ("advantages", "none", "advantages"),
            ("step_size", 0, "step_size"),
            ("step_size", 11, "step_size"),
            ("step_size", float("nan"), "step_size"),
            ("batch", 0, "batch"),
            ("batch", 2.5, "batch"),
            ("output_scale", -1, "output_scale"),
            ("configuration", "paper", "configuration"),
        ],
    )
    def test_bad_options_are_refused(self, option, value, field):
        with pytest.raises(InvalidValue) as caught:
            agent_of(**{option: value})
        assert caught.value.field == f"algorithm.{field}"

    def test_huge_observations_and_steps_stay_finite(self):
        """Ten layers, step size 10 and observations at the edge of what is taken."""
        data = {"low": [-1e9, 0.0], "high": [1e9, 1e-9]}
        options = {"kind": "reinforce", "configuration": "literal", "batch": 2, "step_size": 10.0}
        spec = {"observations": data, "actions": 3, "horizon": 3, "algorithm": options}
        agent = make_agent(parse(AgentSpec, spec))
        seen = np.array([[1e300, -1e300], [-1e9, 1.0], [0.0, 0.0]])
        for number in range(200):
            agent.finish(number, Trajectory.observed(seen, np.array([number % 3, 0, 1])))
            agent.label(number, number % 2)
        assert np.isfinite(agent.plan(999).policy.probabilities(seen)).all()


def test_steps_of_somebody_else_are_left_out_of_the_gradient():
    """The same labels teach the same as if those steps had not been there, and it says so."""
    plain, assisted = agent_of(), agent_of()
    for number in range(BATCH):
        seen = shown(number)
        actions = right(seen)
        foreign = np.array([number % 2 == 1, False, True])
        own = ~foreign
        assisted.finish(number, Trajectory.observed(seen, actions, foreign=foreign))
        plain.finish(number, Trajectory.observed(seen[own], actions[own]))
        for agent in (plain, assisted):
            agent.label(number, number % 2)
    assert (assisted.plan(BATCH).policy.theta == plain.plan(BATCH).policy.theta).all()
    first = Trajectory.observed(shown(0), right(shown(0)))
    everything = agent_of()
    for number in range(BATCH):
        everything.finish(number, first if number == 0 else assisted.experience.episodes[number])
        everything.label(number, number % 2)
    assert (everything.plan(BATCH).policy.theta != plain.plan(BATCH).policy.theta).any()
    assert "left out of the gradient" in assisted.warnings()["steps_of_others"]
    assert "steps_of_others" not in plain.warnings()
    restored = restore_agent(assisted.spec, assisted.snapshot())
    for number in range(BATCH):
        mine, theirs = (a.experience.episodes[number].foreign for a in (assisted, restored))
        assert (mine == theirs).all()
