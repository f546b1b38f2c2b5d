"""Algorithms 2 and 3 as an agent: phases, labels, sizes, restarts, and what it says of itself."""

import json
from decimal import Decimal, getcontext

import numpy as np
import pytest

from app.agents import AgentSpec, make_agent, restore_agent
from app.agents.kinds.ucbvi_explore import agent as ucbvi_explore
from app.agents.tabular.optimist import GridOptimist
from app.errors import BudgetExceeded, InvalidValue, SnapshotError
from app.learning.features.base import stack_rows
from app.learning.paper.confidence import beta, kappa
from app.learning.paper.explorability import condition_bound, eigenvalue_bound
from app.learning.paper.regret_bounds import Constants, RegretSetting, exploration_regret
from app.learning.randomness import generator, uniform
from app.learning.spaces import Spaces
from app.learning.trajectory import Trajectory
from app.planning.policies.mixture import MixturePolicy
from app.planning.policies.uniform import UniformPolicy
from app.planning.problem import PlanBudget
from app.simulation.runner import Setting, _Game, prepare
from app.simulation.runner import run as run_setting
from app.wire.validation import parse
from tests.learning.worlds import explorable

S, A, H = 3, 2, 4
QUICK = {"n_euler": 2, "n_eval": 1, "max_loops": 3}


def spec_of(seed=5, features=None, shape=(S, A, H), initial_states=None, **options):
    states, actions, horizon = shape
    algorithm = {"kind": "ucbvi_explore"} | options
    data = {"states": states, "actions": actions, "horizon": horizon, "seed": seed}
    data |= {"initial_states": initial_states}
    return parse(AgentSpec, data | {"algorithm": algorithm, "features": features})


def agent_of(budget=None, **changes):
    return make_agent(spec_of(**changes), budget)


def play(policy, number, world=None, seed=21):
    """One episode in a ring of states, or in ``world``."""
    rng = generator(seed, number)
    if world is not None:
        remembered = ()

        def choose(step, state):
            nonlocal remembered
            action, remembered = policy.act(step, state, remembered, uniform(seed, number, step))
            return action

        return world.play(choose, rng)
    states, actions, state, memory = [], [], 0, ()
    for step in range(H):
        action, memory = policy.act(step, state, memory, uniform(seed, number, step))
        states.append(state)
        actions.append(action)
        state = (state + action + int(rng.random() < 0.2)) % S
    return Trajectory(np.array(states), np.array(actions), state)


def learn(agent, numbers, world=None):
    """Episodes one after the other, labelled where that is asked for; the actions and plans."""
    taken, plans = [], []
    for number in numbers:
        plan = agent.plan(number, certify=False)
        trajectory = play(plan.policy, number, world)
        agent.finish(number, trajectory)
        if plan.label_required:
            agent.label(number, int(trajectory.states[-1] == 2))
        taken.append(trajectory.actions.tolist())
        plans.append(plan)
    return taken, plans


class TestOptions:
    @pytest.mark.parametrize("omega", [0.0, 1.0, -0.5, 2, float("nan"), "wide", 1e-200])
    def test_omega_is_between_0_and_1(self, omega):
        with pytest.raises(InvalidValue, match=r"algorithm\.omega"):
            agent_of(omega=omega)

    @pytest.mark.parametrize("name", ["n_euler", "n_eval", "max_loops", "episodes"])
    @pytest.mark.parametrize("value", [0, -1, 1.5])
    def test_counts_are_counts(self, name, value):
        with pytest.raises(InvalidValue, match=rf"algorithm\.{name}"):
            agent_of(**{name: value})

    def test_the_episodes_must_be_enough_for_one_loop(self):
        with pytest.raises(InvalidValue, match=r"algorithm\.episodes: expected more than 29:"):
            agent_of(episodes=29, n_euler=8, n_eval=2)
        assert agent_of(episodes=30, n_euler=8, n_eval=2).size.most_loops == 1

    def test_the_episodes_must_be_enough_for_the_loops_asked_for(self):
        with pytest.raises(
            InvalidValue, match=r"algorithm\.episodes: expected more than 120: .*12"
        ):
            agent_of(episodes=120, n_euler=8, n_eval=2, max_loops=12)
        assert agent_of(episodes=121, n_euler=8, n_eval=2, max_loops=12).size.most_episodes == 120

    def test_the_paper_is_in_reward_space(self):
        with pytest.raises(InvalidValue, match=r"algorithm\.optimism"):
            agent_of(constants="paper", optimism="logit")

    def test_exploration_has_its_share_of_the_episodes(self):
        agent = agent_of(episodes=600)
        assert agent.episodes == 600
        assert agent.size.most_episodes <= 200 < agent.size.most_episodes + agent.size.per_loop

    def test_features_of_events_are_refused(self):
        events = {"kind": "events", "events": [{"visited": 1}]}
        with pytest.raises(
            InvalidValue, match=r"features\.kind: .*events and automata are no sums"
        ):
            agent_of(features=events)

    def test_auto_features_are_refused(self):
        with pytest.raises(InvalidValue, match=r"features\.kind"):
            agent_of(features={"kind": "auto"})


def exact_sizes(episodes, omega, delta, c1, c2, d):
    """N_EUL, N_EVAL and N_exp of the lemma, to 60 digits."""
    getcontext().prec = 60
    n, omega, delta = Decimal(episodes), Decimal(omega), Decimal(delta) / (12 * episodes)
    euler = Decimal(c1) * S**2 * A * H**2 * (S * A * n**2 * d / (delta * omega**2)).ln() / omega**2
    evaluate = Decimal(c2) * d**3 * (n * d**2 / (delta * omega**2)).ln() ** 3 / omega**4
    euler, evaluate = (int(x.to_integral_value("ROUND_CEILING")) for x in (euler, evaluate))
    loops = d * (1 + 16 * n / (d * omega**2)).ln() / Decimal("1.5").ln()
    return euler, evaluate, loops * (euler + evaluate)


class TestTheFirstDirection:
    FEATURES = {"kind": "one_hot", "over": ["state"]}  # noqa: RUF012

    def test_it_is_the_clients_of_length_1(self):
        agent = agent_of(features=self.FEATURES, first_direction=(3.0, 0.0, -4.0), **QUICK)
        np.testing.assert_allclose(agent.exploration.direction, [0.6, 0.0, -0.8])

    def test_later_ones_are_sought(self):
        given = agent_of(features=self.FEATURES, first_direction=(3.0, 0.0, -4.0), **QUICK)
        learn(given, range(3))
        assert given.exploration.loops == 1
        assert not np.allclose(given.exploration.direction, [0.6, 0.0, -0.8])

    @pytest.mark.parametrize("direction", [(1.0, 2.0), (0.0, 0.0, 0.0)])
    def test_one_that_does_not_fit_the_features_is_refused(self, direction):
        with pytest.raises(InvalidValue, match=r"first_direction: expected 3 numbers"):
            agent_of(features=self.FEATURES, first_direction=direction, **QUICK)


class TestThePapersSizes:
    FEATURES = {"kind": "one_hot", "over": ["state"], "steps": "last"}  # noqa: RUF012

    def paper(self, **options):
        paper = {"constants": "paper", "omega": 0.5, "delta": 0.1, "features": self.FEATURES}
        return agent_of(**(paper | options))

    def test_are_those_of_the_lemma(self):
        agent = self.paper(euler_constant=2.0, eval_constant=0.5)
        euler, evaluate, needed = exact_sizes(agent.episodes, "0.5", "0.1", 2, "0.5", 3)
        assert (agent.size.n_euler, agent.size.n_eval) == (euler, evaluate)
        assert agent.size.most_loops == int(needed / (euler + evaluate))
        assert agent.size.span == 2.0

    def test_the_episodes_are_the_least_that_the_lemma_allows(self):
        n = self.paper().episodes
        assert n > exact_sizes(n, "0.5", "0.1", 1, 1, 3)[2]
        assert n - 1 <= exact_sizes(n - 1, "0.5", "0.1", 1, 1, 3)[2]

    def test_fewer_episodes_are_refused_with_the_number(self):
        n = self.paper().episodes
        assert self.paper(episodes=n).episodes == n
        with pytest.raises(
            InvalidValue, match=r"algorithm\.episodes: expected more than"
        ) as caught:
            self.paper(episodes=n - 1)
        assert f"{int(exact_sizes(n - 1, '0.5', '0.1', 1, 1, 3)[2]):,}" in str(caught.value)

    def test_creation_says_how_many_that_means(self):
        agent = self.paper()
        most = agent.size.most_loops * (agent.size.n_euler + agent.size.n_eval)
        assert agent.progress()["most_exploration_episodes"] == most
        assert f"up to {most:,} episodes without labels" in agent.warnings()["long_exploration"]
        assert agent.progress()["message"] == agent.warnings()["long_exploration"]

    def test_more_than_anybody_can_play_is_refused(self):
        with pytest.raises(InvalidValue, match=r"algorithm\.constants"):
            agent_of(constants="paper", omega=0.001)
        with pytest.raises(InvalidValue, match=r"algorithm\.constants"):
            agent_of(constants="paper", omega=1e-6, delta=1e-100)

    def test_every_run_of_euler_has_its_share_of_delta(self):
        """c = ln(4 S A N H / delta'), delta' = delta / (12 N) / (2 times the most loops)."""
        agent = self.paper()
        n, omega = Decimal(agent.episodes), Decimal("0.5")
        loops = 3 * (1 + 16 * n / (3 * omega**2)).ln() / Decimal("1.5").ln()
        expected = (4 * S * A * n * H * 2 * loops * 12 * n / Decimal("0.1")).ln()
        assert agent.size.confidence == pytest.approx(float(expected), rel=1e-12)

    def test_own_numbers_win(self):
        assert self.paper(n_euler=7, n_eval=3, max_loops=2).size.most_episodes == 20


class TestPhases:
    def test_exploration_needs_no_label_and_what_follows_does(self):
        agent = agent_of(**QUICK)
        _, plans = learn(agent, range(14))
        explored = agent.exploration.episodes
        assert explored == 3 * agent.exploration.loops > 0
        assert [plan.label_required for plan in plans] == [n >= explored for n in range(14)]
        kinds = [plan.planner for plan in plans]
        assert kinds[:explored] == ["euler", "euler", "evaluation"] * agent.exploration.loops
        assert set(kinds[explored:]) == {"reward"}
        assert len(agent.experience.labels) == 14 - explored

    def test_an_exploit_episode_needs_a_label_even_then(self):
        assert agent_of(**QUICK).plan(0, "exploit").label_required

    def test_transitions_carry_over_from_loop_to_loop(self):
        agent = agent_of(**QUICK)
        learn(agent, range(8))
        assert agent.experience.transitions.successors().sum() == 8 * H

    def test_the_coin(self):
        """Every plan explores with probability t^(-1/3), t the number of the episode from 1."""
        agent = agent_of(**QUICK)
        learn(agent, range(9))
        assert agent.exploration.is_done
        for number in (9, 100, 4000):
            plan = agent.plan(number)
            assert isinstance(plan.policy, MixturePolicy)
            assert plan.policy.chance == pytest.approx((number + 1) ** (-1.0 / 3.0), rel=1e-12)
            assert plan.label_required
            assert plan.lower <= plan.value <= plan.upper
        own = [policy.actions.tolist() for policy in agent.exploration.policies]
        assert plan.policy.tables.tolist() == own

    def test_the_coin_is_drawn_in_each_episode_that_shares_a_plan(self):
        """4000 episodes of one plan: five deviations of the sum are allowed, p below 1e-6."""
        agent = agent_of(**QUICK)
        learn(agent, range(9))
        policy = agent.plan(9).policy
        first = [policy.act(0, 0, (), uniform(5, n, 0))[1][0] for n in range(4000)]
        counts = np.bincount(first, minlength=1 + len(policy.tables))
        chances = np.array(
            [1 - policy.chance, *[policy.chance / len(policy.tables)] * len(policy.tables)]
        )
        deviations = np.sqrt(4000 * chances * (1 - chances))
        assert (abs(counts - 4000 * chances) < 5 * deviations).all()

    def test_a_large_mixture_is_handed_out_in_parts(self, monkeypatch):
        monkeypatch.setattr(ucbvi_explore, "MOST_ENTRIES", 2 * H * S)
        agent = agent_of(**QUICK)
        learn(agent, range(9))
        own = [policy.actions.tobytes() for policy in agent.exploration.policies]
        assert len(own) > 2
        seen = set()
        for number in range(9, 60):
            tables = agent.plan(number).policy.tables
            assert len({table.tobytes() for table in tables}) == len(tables) == 2
            seen |= {table.tobytes() for table in tables}
        assert seen == set(own)
        monkeypatch.setattr(ucbvi_explore, "MOST_ENTRIES", 1)
        assert len(agent.plan(60).policy.tables) == 1

    def test_plans_are_certified_unless_the_caller_needs_no_certificate(self):
        agent = agent_of(optimism="logit", **QUICK)
        learn(agent, range(14))
        sure, unsure = agent.plan(14), agent.plan(14, certify=False)
        assert sure.lower == agent.plan(14, certify=True).lower > unsure.lower

    def test_a_mixture_takes_the_room_of_its_tables_too(self):
        agent = agent_of(optimism="logit", **QUICK)
        learn(agent, range(14))
        mixed, inner = agent.plan(14), GridOptimist.plan(agent, 14)
        assert mixed.bytes == inner.bytes + mixed.policy.tables.nbytes > inner.bytes

    def test_without_anything_to_reach_the_mixture_is_uniform(self):
        nothing = {"kind": "table", "values": np.zeros((S, A, 1)).tolist()}
        agent = agent_of(features=nothing)
        assert agent.exploration.is_done
        first = agent.plan(0)  # t = 1: the coin always falls on exploration
        assert first.policy.chance == 1.0
        assert first.label_required
        ways = first.policy.branches(0, 0, ())
        assert [(chance, action) for chance, action, _ in ways] == [(1 / A, a) for a in range(A)]

    def test_the_papers_first_episode_after_exploration_is_uniform(self):
        agent = agent_of(constants="paper", episodes=1000, norm_bound=1.0, **QUICK)
        numbers = iter(range(1000))
        while not agent.exploration.is_done:
            learn(agent, [next(numbers)])
        assert isinstance(agent.plan(500).policy.inner, UniformPolicy)
        learn(agent, [next(numbers)])
        assert agent.plan(500).planner == agent.plan(500).policy.inner.kind == "reward"

    @pytest.mark.parametrize("optimism", ["logit", "reward"])
    def test_the_space_of_optimism(self, optimism):
        agent = agent_of(optimism=optimism, **QUICK)
        _, plans = learn(agent, range(16))
        kinds = {plan.planner for plan in plans} - {"euler", "evaluation"}
        assert kinds == {"fast" if optimism == "logit" else "reward"}

    def test_a_grid_too_fine_for_patience_is_coarse(self, monkeypatch):
        agent = agent_of(epsilon=0.005, **QUICK)
        learn(agent, range(14))
        fine = agent.plan(500)
        monkeypatch.setattr(ucbvi_explore, "REWARD_WORK", 10)
        coarse = agent.plan(500)
        assert coarse.planner == "reward"
        assert fine.cells > coarse.cells > 10
        assert fine.gap < coarse.gap


class TestTheDesign:
    def run(self, count=14):
        agent = agent_of(constants="paper", episodes=1000, norm_bound=1.0, **QUICK)
        learn(agent, range(count))
        return agent

    def sigma(self, agent, numbers):
        """kappa I + sum phi phi^T in the paper's scale, phi by its definition."""
        total = float(kappa(1.0)) * np.eye(H * S * A)
        for number in numbers:
            one, row = agent.experience.episodes[number], np.zeros((H, S, A))
            row[np.arange(H), one.states, one.actions] = 1.0 / np.sqrt(H)
            total += np.outer(row, row)
        return total

    @pytest.mark.parametrize("volunteered", [False, True])
    def test_is_over_the_episodes_after_exploration(self, volunteered):
        agent = self.run()
        explored = agent.exploration.episodes
        assert 0 < explored < 14
        if volunteered:
            agent.label(1, 1)
        learned = agent.beliefs[0].follow(agent.experience)
        cells, _ = learned.belief.features.widths(agent.design(learned).norms)
        inverse = np.linalg.inv(self.sigma(agent, range(explored, 14)))
        expected = np.sqrt(np.diag(inverse) / H).reshape(H, S, A)
        np.testing.assert_allclose(cells, expected, rtol=1e-9)

    @pytest.mark.parametrize("volunteered", [False, True])
    def test_every_voice_after_exploration_counts(self, volunteered):
        agent = self.run()
        explored = agent.exploration.episodes
        agent.label(13, 1, slot=1)
        if volunteered:
            agent.label(1, 1)
            agent.label(1, 0, slot=1)
        learned = agent.beliefs[0].follow(agent.experience)
        cells, _ = learned.belief.features.widths(agent.design(learned).norms)
        inverse = np.linalg.inv(self.sigma(agent, [*range(explored, 14), 13]))
        np.testing.assert_allclose(cells, np.sqrt(np.diag(inverse) / H).reshape(H, S, A), rtol=1e-9)
        expected = float(np.sqrt(kappa(1.0)) * beta(H * S * A, 16, 1000, 0.05 / 12_000, 1.0))
        assert agent.confidence_radius() == pytest.approx(expected, rel=1e-12)

    def test_t_counts_exploration_too(self):
        agent = self.run()
        expected = float(np.sqrt(kappa(1.0)) * beta(H * S * A, 15, 1000, 0.05 / 12_000, 1.0))
        assert agent.confidence_radius() == pytest.approx(expected, rel=1e-12)
        agent.label(0, 1)
        assert agent.confidence_radius() == pytest.approx(expected, rel=1e-12)

    def explored(self, episodes=2000):
        """An agent with the paper's constants in a world that can be explored, once it has."""
        world, features, omega = explorable(2, 2, 2, 1)
        table = {"kind": "table", "values": features.values.tolist()}
        sizes = {"n_euler": 10, "n_eval": 30, "max_loops": 20, "episodes": episodes}
        agent = agent_of(
            features=table, shape=(2, 4, 2), constants="paper", epsilon=0.5, norm_bound=1.0,
            omega=omega, initial_states=world.start.tolist(), **sizes,
        )  # fmt: skip
        numbers = iter(range(episodes))
        while not agent.exploration.is_done:
            learn(agent, [next(numbers)], world)
        assert agent.exploration.coverage.is_covered
        return agent, world, features, omega, numbers

    def test_the_sandwich_and_the_condition_number(self):
        """At every episode: what the agent plans with and says, against Sigma_t by definition."""
        agent, world, features, _, numbers = self.explored()
        explored, d, scale = agent.exploration.episodes, 4, features.largest_norm()
        ridge = float(np.exp(1.0) + 2.0 + np.exp(-1.0))
        sigma = ridge * np.eye(d)
        for t in range(explored + 1, explored + 61):
            learned = agent.best().follow(agent.experience)
            design = agent.design(learned)
            steps, _ = features.widths(design.norms)
            plan = agent.plan(t - 1)
            trajectory = play(plan.policy, t - 1, world)
            row = stack_rows([features.row(trajectory)], d)
            taken = np.arange(2), trajectory.states, trajectory.actions
            phi = features.values[taken].sum(axis=0) / scale
            whole, per_step = float(design.norms(row)[0]), float(steps[taken].sum())
            assert whole == pytest.approx(np.sqrt(phi @ np.linalg.solve(sigma, phi)), rel=1e-9)
            said = agent.insight().document().optimism
            eigenvalues = np.linalg.eigvalsh(sigma)
            assert said.condition_number == pytest.approx(eigenvalues[-1] / eigenvalues[0])
            assert said.sandwich == pytest.approx(np.sqrt(2 * said.condition_number))
            assert whole <= per_step + 1e-12
            assert per_step <= said.sandwich * whole + 1e-12
            assert said.condition_bound == pytest.approx(1 + (t - 1 - explored) / ridge)
            assert said.condition_number <= said.condition_bound + 1e-9
            sigma += np.outer(phi, phi)
            agent.finish(t - 1, trajectory)
            agent.label(t - 1, int(phi.sum() > 0))
        assert next(numbers) == explored

    def test_the_lemmas_on_eigenvalues(self, monkeypatch):
        """The smallest eigenvalue and the condition number of Sigma_t from t_0 on.

        t_0 is far away with the paper's constants: its C3 is taken to be small here.
        """
        agent, world, features, omega, _ = self.explored()
        explored, d = agent.exploration.episodes, 4
        learn(agent, range(explored, explored + 120), world)
        monkeypatch.setattr(ucbvi_explore, "controlled_from", lambda *_: float(explored + 100))
        said = agent.insight().document().optimism
        t, ridge, scale = explored + 120, float(kappa(1.0)), features.largest_norm()
        # The printed formulas, worked out here.
        loops = d * np.log(1 + 16 * 2000 / (d * omega**2))
        mixture = omega**2 * np.log(1.5) / (32 * d * np.log(loops))
        grown = t ** (2 / 3) - (explored + 1) ** (2 / 3)
        psi = 4 / 3 * (t - explored) / (grown * mixture)
        assert said.condition_bound == pytest.approx(psi)
        assert said.condition_number <= psi
        rows = np.array(
            [
                features.values[np.arange(2), one.states, one.actions].sum(axis=0) / scale
                for number, one in agent.experience.episodes.items()
                if number >= explored
            ]
        )
        smallest = np.linalg.eigvalsh(ridge * np.eye(d) + rows.T @ rows)[0]
        least = eigenvalue_bound(ridge, d, 2000, omega, t, explored)
        assert least == pytest.approx(ridge + 0.75 * grown * mixture, rel=1e-12)
        assert smallest >= least

    def test_psi_holds_from_t_0_on(self, monkeypatch):
        """And not before two episodes after exploration, where Psi_t has no value."""
        agent, world, _, omega, _ = self.explored()
        explored, ridge = agent.exploration.episodes, float(kappa(1.0))
        monkeypatch.setattr(ucbvi_explore, "controlled_from", lambda *_: 0.0)
        learn(agent, [explored], world)
        said = agent.insight().document().optimism
        assert said.condition_bound == pytest.approx(1 + 1 / ridge)
        for labels in (2, 3):
            learn(agent, [explored + labels - 1], world)
            said = agent.insight().document().optimism
            psi = condition_bound(4, 2000, omega, explored + labels, explored)
            assert said.condition_bound == pytest.approx(psi)
        for first, bound in ((explored + 3.0, psi), (explored + 3.5, 1 + 3 / ridge)):
            monkeypatch.setattr(ucbvi_explore, "controlled_from", lambda *_, t=first: t)
            assert agent.insight().document().optimism.condition_bound == pytest.approx(bound)

    def test_the_regret_bound_is_that_of_the_theorem(self):
        agent, _, _, omega, _ = self.explored()
        said = agent.insight().document().optimism
        setting = RegretSetting(Spaces(2, 4, 2), 4, 1.0, 0.05)
        assert said.regret_bound is None  # 2000 episodes are fewer than the theorem explores
        first = said.informative_from
        assert exploration_regret(setting, first, omega) < first
        assert exploration_regret(setting, 0.49 * first, omega) > 0.49 * first
        large = agent_of(
            features={"kind": "table", "values": explorable(2, 2, 2, 1)[1].values.tolist()},
            shape=(2, 4, 2), constants="paper", norm_bound=1.0, omega=omega,
            euler_constant=0.5, eval_constant=0.25, delta=0.1, episodes=10**12,
        )  # fmt: skip
        said = large.insight().document().optimism
        setting = RegretSetting(Spaces(2, 4, 2), 4, 1.0, 0.1)
        expected = exploration_regret(setting, 1e12, omega, Constants(0.5, 0.25))
        assert said.regret_bound == pytest.approx(expected, rel=1e-12)


class TestRestarts:
    @pytest.mark.parametrize("optimism", ["reward", "logit"])
    def test_a_snapshot_at_any_episode_goes_on_the_same(self, optimism):
        spec = spec_of(optimism=optimism, **QUICK)
        whole, count = make_agent(spec), 15
        snapshots, taken = [], []
        for number in range(count):
            snapshots.append(whole.snapshot())
            taken += learn(whole, [number])[0]
        assert 0 < whole.exploration.episodes < count - 3
        for number, snapshot in enumerate(snapshots):
            again = restore_agent(spec, snapshot)
            assert learn(again, range(number, count))[0] == taken[number:]
            assert again.progress() == whole.progress()

    def test_the_log_of_episodes_is_enough(self):
        agent = agent_of(**QUICK)
        learn(agent, range(13))
        replayed = agent_of(**QUICK)
        for number, trajectory in agent.experience.episodes.items():
            replayed.finish(number, trajectory)
        for number, label in agent.experience.sorted_labels():
            replayed.label(number, label)
        assert replayed.progress() == agent.progress()
        assert learn(replayed, range(13, 17))[0] == learn(agent, range(13, 17))[0]

    def test_a_snapshot_of_another_size_is_refused(self):
        agent = agent_of(**QUICK)
        learn(agent, range(4))
        other = spec_of(features={"kind": "one_hot", "over": ["state"]}, **QUICK)
        with pytest.raises(SnapshotError):
            restore_agent(other, agent.snapshot())


class TestSideBySide:
    def fleet(self, agent, width=4, rounds=30):
        """Episodes that start together, end in another order, and of which one is given up.

        Gives the log: what ended, in its order, without a number where it was given up.
        """
        number, log = 0, []
        for _ in range(rounds):
            plans = [(number + i, agent.plan(number + i, certify=False)) for i in range(width)]
            number += width
            for i, plan in reversed(plans):
                log.append((None if i % 7 == 3 else i, play(plan.policy, i)))
                self.end(agent, *log[-1])
            if agent.exploration.is_done:
                return log
        raise AssertionError("exploration does not end")

    def end(self, agent, number, trajectory):
        if number is None:
            agent.abandon(trajectory)
        else:
            agent.finish(number, trajectory)

    def test_exploration_ends_and_averages_only_its_own_policy(self):
        agent = agent_of(n_euler=3, n_eval=2, max_loops=4)
        self.fleet(agent)
        found = agent.exploration
        assert found.loops == len(found.policies) <= 4
        counts = agent.experience.episodes
        for policy, average in zip(found.policies, found.coverage.averages, strict=True):
            rows = [
                agent.beliefs[0].features.row(one) for one in counts.values() if policy.agrees(one)
            ]
            used = {int(i) for indices, _ in rows for i in indices}
            assert set(np.flatnonzero(average)) <= used

    def test_the_log_alone_gives_the_same_exploration(self):
        """Nothing that was planned in between matters, only what ended, and in which order."""
        agent, again = agent_of(**QUICK), agent_of(**QUICK)
        log = self.fleet(agent)
        assert any(number is None for number, _ in log)
        for number, trajectory in log:
            self.end(again, number, trajectory)
        for key, value in agent.exploration.arrays().items():
            assert value.tobytes() == again.exploration.arrays()[key].tobytes()


class TestWhatItSays:
    def test_progress_is_json_in_every_phase(self):
        agent = agent_of(**QUICK)
        phases = []
        for number in range(12):
            progress = agent.progress()
            assert json.loads(json.dumps(progress, allow_nan=False)) == progress
            phases.append(progress["phase"])
            assert progress["exploration_episodes"] == min(number, agent.exploration.episodes)
            learn(agent, [number])
        assert phases[:3] == ["euler", "euler", "evaluation"]
        assert phases[-1] == "optimism"

    def test_the_smallest_eigenvalue_is_that_of_the_paper(self):
        agent = agent_of(features={"kind": "one_hot", "over": ["state"]}, omega=0.3, n_eval=2)
        while not agent.exploration.is_done:
            learn(agent, [agent.exploration.episodes])
        averages = agent.exploration.coverage.averages
        matrix = 0.3**2 / 16 * np.eye(S) + averages.T @ averages
        progress = agent.progress()
        assert progress["smallest_eigenvalue"] == pytest.approx(np.linalg.eigvalsh(matrix)[0])
        assert progress["goal"] == pytest.approx(0.3**2 / 8)

    def test_what_was_not_reached_is_named(self):
        """A state that nothing leads to: its feature, and a warning."""
        agent = agent_of(
            features={"kind": "one_hot", "over": ["state"], "steps": "last"},
            shape=(4, A, H), n_euler=6, n_eval=4,
        )  # fmt: skip
        while not agent.exploration.is_done:
            learn(agent, [agent.exploration.episodes])
        found = agent.progress()["not_reached"]
        assert (found["directions"], found["of"]) == (1, 4)
        assert found["examples"] == [[{"feature": 3, "weight": pytest.approx(1.0)}]]
        assert "did not reach 1 of 4 directions" in agent.warnings()["directions_not_reached"]

    def test_warnings_of_the_theory(self):
        over_state = agent_of(features={"kind": "one_hot", "over": ["state"]})
        assert "orthogonal" in over_state.warnings()["steps_not_orthogonal"]
        direct = agent_of().warnings()
        assert list(direct) == ["directions_out_of_reach"]
        assert "cannot be reached on any task" in direct["directions_out_of_reach"]
        assert agent_of(features={"kind": "one_hot", "over": ["state"], "steps": "last"}
            ).warnings() == {}  # fmt: skip

    def test_a_plan_is_due_for_every_episode(self):
        agent = agent_of(**QUICK)
        assert agent.patience() == 0
        learn(agent, range(12))
        assert agent.patience() == 0

    def test_what_could_not_be_kept_is_refused(self):
        with pytest.raises(BudgetExceeded, match=r"exploration: bytes.*algorithm\.max_loops"):
            agent_of(PlanBudget(bytes=1000)).check_budget()
        agent_of().check_budget()


class TestLearning:
    def test_it_learns_a_small_task_with_few_labels(self):
        """90 % of the optimum, 0.77, where acting at random succeeds 4 times in 100."""
        algorithm = {"kind": "ucbvi_explore", "optimism": "logit"}
        result = run_setting(Setting("riverswim-6", 90, algorithm, rollouts=200), 1)
        assert result.reached is not None
        assert 0 < result.labels < result.reached / 2

    def test_a_simulation_gives_no_label_that_is_not_needed(self):
        setting = Setting("random-0", 20, {"kind": "ucbvi_explore", **QUICK}, rollouts=5)
        task, agent = prepare(setting, 3)
        _Game(task, agent, setting, 3).play(lambda _: None)
        assert agent.exploration.is_done
        assert len(agent.experience.labels) == 20 - agent.exploration.episodes
