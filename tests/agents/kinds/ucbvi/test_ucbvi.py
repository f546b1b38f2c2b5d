"""Optimism: the paper's constants against numbers worked out apart, and the tuned forms."""

import itertools
from dataclasses import replace
from decimal import Decimal, getcontext

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from app.agents import AgentSpec, make_agent
from app.agents.insight import unpack_insight
from app.agents.tabular import optimist
from app.errors import BudgetExceeded, InvalidValue
from app.learning.features.table import Table
from app.learning.trajectory import Trajectory
from app.learning.world.model import TransitionModel
from app.planning.policies.uniform import UniformPolicy
from app.planning.problem import PlanBudget
from app.planning.reference.paper import clipped
from app.wire.validation import parse
from benchmarks.exact import plan_exact
from benchmarks.policy_value import policy_value

S, A, H = 2, 2, 3
BOUND, DELTA, EPISODES = 2, "0.1", 50
PAPER = {
    "kind": "ucbvi",
    "constants": "paper",
    "episodes": EPISODES,
    "delta": float(DELTA),
    "norm_bound": BOUND,
}
HISTORY = [
    (Trajectory(np.array([0, 1, 1]), np.array([0, 1, 0]), 1), 1),
    (Trajectory(np.array([0, 0, 1]), np.array([1, 0, 0]), 0), 0),
    (Trajectory(np.array([1, 0]), np.array([1, 1]), 0, True), 1),
]


def agent_of(algorithm=PAPER, history=HISTORY, features=None, **changes):
    data = {"states": S, "actions": A, "horizon": H, "algorithm": algorithm, "seed": 4}
    agent = make_agent(parse(AgentSpec, data | {"features": features} | changes))
    for number, (trajectory, label) in enumerate(history):
        agent.finish(number, trajectory)
        if label is not None:
            agent.label(number, label)
    return agent


def direct_row(trajectory):
    """The paper's direct parametrisation, scaled so that every norm is at most one."""
    row = np.zeros((H, S, A))
    for h in range(len(trajectory)):
        row[h, trajectory.states[h], trajectory.actions[h]] = 1.0
    return row.ravel() / np.sqrt(H)


def ridge(rows, labels):
    """The estimate with a ridge of one, by a general solver."""

    def loss(w):
        z = rows @ w
        value = np.logaddexp(0.0, z).sum() - labels @ z + 0.5 * w @ w
        return value, rows.T @ (expit(z) - labels) + w

    return minimize(loss, np.zeros(rows.shape[1]), jac=True, method="BFGS", tol=1e-9).x


def one_bound():
    """delta: the theorem's failure probability, split as its proof does."""
    return Decimal(DELTA) / (6 * EPISODES)


def exact_kappa():
    bound = Decimal(BOUND)
    return bound.exp() + 2 + (-bound).exp()


def exact_radius(dimension, episode):
    """sqrt(kappa) (1 + B + rho (sqrt(1 + B) + rho))^(3/2) to 40 digits."""
    getcontext().prec = 40
    d, t, bound = Decimal(dimension), Decimal(episode), Decimal(BOUND)
    rho = d * (4 + 4 * t / d).ln() + 2 * (EPISODES / one_bound()).ln() + Decimal("0.5")
    beta = (1 + bound + rho * ((1 + bound).sqrt() + rho)) ** Decimal("1.5")
    return exact_kappa().sqrt() * beta


def exact_xi(visits):
    """min{2, 4 sqrt(log(6 (SAH)^H (8NH^2)^S log(n) / delta) / n)}, as it is printed."""
    getcontext().prec = 40
    n = Decimal(visits)
    product = 6 * Decimal(S * A * H) ** H * Decimal(8 * EPISODES * H**2) ** S * n.ln()
    return min(Decimal(2), 4 * ((product / one_bound()).ln() / n).sqrt())


def planned_for(monkeypatch, planner, agent, episode=9, **options):
    """The plan, and the problem that it was made for."""
    asked, original = [], getattr(optimist, planner)

    def noted(problem, *rest):
        asked.append(problem)
        return original(problem, *rest)

    monkeypatch.setattr(optimist, planner, noted)
    plan = agent.plan(episode, **options)
    assert len(asked) == 1
    return plan, asked[0]


class TestPaper:
    """`constants: "paper"` gives the formulas to the letter."""

    def test_the_radius(self):
        for count in range(len(HISTORY) + 1):
            agent = agent_of(history=HISTORY[:count])
            expected = float(exact_radius(H * S * A, count + 1))
            assert agent.confidence_radius() == pytest.approx(expected, rel=1e-12)

    def test_the_radius_counts_labels(self):
        """An episode that nobody has judged yet has taught nothing of the weights."""
        waiting = [*HISTORY, (HISTORY[0][0], None)]
        assert agent_of(history=waiting).confidence_radius() == agent_of().confidence_radius()

    def test_the_norms(self):
        """||phi_h(s, a)|| under the inverse of kappa I + sum phi phi^T, in the paper's scale."""
        agent = agent_of()
        rows = np.array([direct_row(trajectory) for trajectory, _ in HISTORY])
        sigma = float(exact_kappa()) * np.eye(H * S * A) + rows.T @ rows
        inverse = np.linalg.inv(sigma)
        learned = agent.beliefs[0].follow(agent.experience)
        widths, ended = learned.belief.features.widths(agent.design(learned).norms)
        expected = np.sqrt(np.diag(inverse)).reshape(H, S, A) / np.sqrt(H)
        np.testing.assert_allclose(widths, expected, rtol=1e-10)
        assert not ended.any()

    def test_the_exploration_bonus(self):
        """320 and 160 visits, and pairs that were never taken; every successor is known.

        Below about 100 visits the bonus is 2 by the minimum alone.
        """
        there_and_back = Trajectory(np.array([0, 1, 0]), np.array([1, 0, 1]), 1)
        agent = agent_of(history=[(there_and_back, 1)] * 60)
        for _ in range(100):
            agent.abandon(there_and_back)
        table = agent.exploration_bonus()
        assert table.shape == (H, S, A)
        for h in range(H - 1):
            assert table[h, 0, 1] == pytest.approx(float(exact_xi(320)), rel=1e-12)
            assert table[h, 1, 0] == pytest.approx(float(exact_xi(160)), rel=1e-12)
            assert table[h, 0, 0] == table[h, 1, 1] == 2.0
        assert exact_xi(320) < exact_xi(160) < 2

    def test_nothing_is_added_at_the_last_step(self):
        assert not agent_of().exploration_bonus()[H - 1].any()
        assert agent_of().exploration_bonus()[: H - 1].all()

    def test_a_horizon_of_one_step_has_no_transition_to_explore(self):
        agent = agent_of(history=[], horizon=1)
        assert not agent.exploration_bonus().any()

    def test_the_plan_is_for_the_papers_objective(self, monkeypatch):
        """Weights, widths, bonuses and model of the problem, each worked out here."""
        agent = agent_of()
        plan, problem = planned_for(monkeypatch, "plan_reward", agent)
        rows = np.array([direct_row(trajectory) for trajectory, _ in HISTORY])
        labels = np.array([label for _, label in HISTORY], dtype=float)
        weights = ridge(rows, labels).reshape(H, S, A) / np.sqrt(H)
        np.testing.assert_allclose(problem.weights, weights, atol=1e-7)
        assert problem.offset == 0.0
        sigma = float(exact_kappa()) * np.eye(H * S * A) + rows.T @ rows
        norms = np.sqrt(np.diag(np.linalg.inv(sigma))).reshape(H, S, A) / np.sqrt(H)
        radius = float(exact_radius(H * S * A, len(HISTORY) + 1))
        np.testing.assert_allclose(problem.widths, radius * norms, rtol=1e-9)
        assert not problem.ended_widths.any()
        bonuses = np.full((H, S, A), 2.0)
        bonuses[H - 1] = 0.0
        np.testing.assert_allclose(problem.bonuses, bonuses)
        np.testing.assert_allclose(problem.start, [2 / 3, 1 / 3])
        # (0, 0) was followed by 1 twice; (1, 1) by 1 and by 0; (0, 1) by 0 and by the end in 0.
        assert problem.transitions.dense()[0].tolist() == [0, 1, 0, 0, 0]
        assert problem.transitions.dense()[3].tolist() == [0.5, 0.5, 0, 0, 0]
        assert problem.transitions.dense()[1].tolist() == [0.5, 0, 0.5, 0, 0]
        # With these constants everything is saturated: one, and two bonuses of 2 at best.
        assert plan.upper == pytest.approx(5.0, abs=0.05)

    @pytest.mark.parametrize("seed", range(4))
    def test_the_values_of_the_proof_are_in_their_order(self, seed, monkeypatch):
        """V* <= V-bar^sd <= V~^sd, with the least radius for which the confidence event holds."""
        rng = np.random.default_rng([5, seed])
        moves, start = rng.dirichlet(np.ones(S), size=(S, A)), rng.dirichlet(np.ones(S))
        weights, history = 0.3 * rng.normal(size=(H, S, A)), []
        for _ in range(200):
            states, actions = [int(rng.choice(S, p=start))], rng.integers(A, size=H)
            for h in range(H):
                states.append(int(rng.choice(S, p=moves[states[h], actions[h]])))
            chance = expit(weights[np.arange(H), states[:H], actions].sum())
            one = Trajectory(np.array(states[:H]), actions, states[H])
            history.append((one, int(rng.random() < chance)))
        agent = agent_of(PAPER | {"epsilon": 0.05}, history, initial_states=start.tolist())
        learned = agent.best().follow(agent.experience)
        every = np.array(list(itertools.product(range(S * A), repeat=H)))
        rows = learned.belief.features.rows(every // A, every % A, np.full(len(every), -1))
        truth = expit(weights[np.arange(H), every // A, every % A].sum(axis=1))
        errors = abs(truth - expit(rows @ learned.fit.weights))
        radius = float((errors / agent.design(learned).norms(rows)).max())
        monkeypatch.setattr(agent, "confidence_radius", lambda: radius)
        plan, problem = planned_for(monkeypatch, "plan_reward", agent)
        real = {"transitions": TransitionModel.from_dense(moves.reshape(S * A, S), S, A)}
        real |= {"bonuses": np.zeros((H, S, A))}
        best = plan_exact(replace(problem, weights=weights, **real))
        v_bar = policy_value(replace(problem, **real), best.policy, "reward")
        assert best.value - 1e-12 <= v_bar <= plan.upper + 1e-12
        assert v_bar < 1.0

    def test_the_first_episode_is_uniform(self):
        assert agent_of(history=[]).plan(0).policy == UniformPolicy(A)
        assert not isinstance(agent_of(history=HISTORY[:1]).plan(1).policy, UniformPolicy)

    def test_every_episode_is_planned_anew(self):
        history = [(trajectory, 1) for trajectory, _ in HISTORY] * 40
        assert agent_of(history=history).patience() == 1
        assert agent_of({"kind": "ucbvi"}, history).patience() > 1

    def test_a_table_of_zeros_can_be_planned_for(self):
        """Its norms have no bound to divide by."""
        agent = agent_of(features={"kind": "table", "values": np.zeros((S, A, 2)).tolist()})
        assert agent.plan(9).upper >= 0.5
        assert agent.scale == 1.0

    def test_how_much_there_is_to_gain_does_not_matter(self, monkeypatch):
        agent = agent_of()
        before = planned_for(monkeypatch, "plan_reward", agent)[1]
        monkeypatch.setattr(agent, "room", lambda _: 0.0)
        with monkeypatch.context() as patched:
            after = planned_for(patched, "plan_reward", agent)[1]
        np.testing.assert_array_equal(before.widths, after.widths)
        np.testing.assert_array_equal(before.bonuses, after.bonuses)

    @pytest.mark.parametrize(
        ("over", "states", "has"),
        [(["step", "state"], S, True), (["state"], S, False), (["step", "state"], 167, False)],
    )
    def test_the_sandwich_needs_orthogonal_steps_and_a_condition_number(self, over, states, has):
        """With 501 features the condition number is left out."""
        agent = agent_of(features={"kind": "one_hot", "over": over}, states=states)
        said = agent.insight().document().optimism
        assert (said.condition_number is None) == (states * H > 500)
        assert (said.sandwich is not None) == has

    @pytest.mark.parametrize(
        ("horizon", "bound", "zeta"), [(1, 0.5, 1.0), (2, 0.5, 2.0), (3, 0.5, 4.0), (3, 9.0, 9.0)]
    )
    def test_the_programme_must_hold_bonuses_widths_and_weights(
        self, monkeypatch, horizon, bound, zeta
    ):
        """Bonuses of 2 at all steps but the last, widths of 1 at all steps, weights of norm B."""
        asked = []
        monkeypatch.setattr(optimist, "check_paper_budget", lambda *given: asked.append(given))
        agent = agent_of(
            PAPER | {"planner": "paper", "norm_bound": bound, "paper_epsilon": 7.0},
            history=[],
            horizon=horizon,
        )
        agent.check_budget()
        assert [given[:4] for given in asked] == [(S, horizon, zeta, 7.0)]

    def test_it_is_a_matter_of_reward_space(self):
        with pytest.raises(InvalidValue) as caught:
            agent_of(PAPER | {"optimism": "logit"})
        assert caught.value.field == "algorithm.optimism"
        assert agent_of(PAPER | {"optimism": "reward"}).plan(9).planner == "reward"


def test_competing_maps_are_refused():
    with pytest.raises(InvalidValue) as caught:
        agent_of({"kind": "ucbvi"}, features={"kind": "auto"})
    assert caught.value.field == "features.kind"
    assert "thompson" in caught.value.expected


class TestTuned:
    FEATURES = {"kind": "one_hot", "over": ["state", "action"]}  # noqa: RUF012

    def norms(self, learned):
        """The deviation of each (state, action)'s weight, from a dense Hessian."""
        raw = np.zeros((len(HISTORY), S * A + 1))
        raw[:, -1] = 1.0
        for i, (trajectory, _) in enumerate(HISTORY):
            for s, a in zip(trajectory.states, trajectory.actions, strict=True):
                raw[i, s * A + a] += 1.0
        z = raw @ np.append(learned.fit.weights, learned.fit.intercept)
        prior = np.append(learned.precision, learned.offset_precision)
        hessian = np.diag(prior) + raw.T @ ((expit(z) * expit(-z))[:, None] * raw)
        return np.sqrt(np.diag(np.linalg.inv(hessian))[:-1]).reshape(S, A)

    def assert_shrunk(self, agent, learned, factor):
        """Whether a factor is the root of the room: two good labels against five.

        The plan that the room is taken from is rough, and up to 0.05 too good.
        """
        problem = agent.problem(learned, learned.fit.weights, learned.fit.intercept)
        best = plan_exact(problem).value
        assert 1.0 - (best + 0.05) * 2 / 7 <= factor**2 <= 1.0 - best * 2 / 7

    def test_in_logit_space_weights_are_raised_by_their_deviation(self, monkeypatch):
        """0.8 deviations, shrunk with the success that there is to gain."""
        agent = agent_of({"kind": "ucbvi", "radius": 0.8}, features=self.FEATURES)
        learned = agent.beliefs[0].follow(agent.experience)
        _, problem = planned_for(monkeypatch, "plan_fast", agent)
        raised = problem.weights - learned.fit.weights.reshape(S, A)
        factors = raised / (0.8 * self.norms(learned))
        np.testing.assert_allclose(factors, factors[0, 0, 0], rtol=1e-8)
        self.assert_shrunk(agent, learned, factors[0, 0, 0])
        assert problem.widths is None

    def test_in_reward_space_the_same_deviation_counts_a_quarter(self, monkeypatch):
        """mu' is at most 1/4."""
        algorithm = {"kind": "ucbvi", "radius": 0.8, "optimism": "reward"}
        agent = agent_of(algorithm, features=self.FEATURES)
        learned = agent.beliefs[0].follow(agent.experience)
        _, problem = planned_for(monkeypatch, "plan_reward", agent)
        factors = problem.widths / (0.2 * self.norms(learned))
        np.testing.assert_allclose(factors, factors[0, 0, 0], rtol=1e-8)
        self.assert_shrunk(agent, learned, factors[0, 0, 0])
        for h in range(H):
            np.testing.assert_allclose(problem.weights[h], learned.fit.weights.reshape(S, A))

    @pytest.mark.parametrize(("optimism", "planner"), [("logit", "fast"), ("reward", "reward")])
    def test_room_scales_variances_and_the_bonus(self, monkeypatch, optimism, planner):
        """A quarter of the room is half of the radius and a quarter of the bonus."""
        found = []
        for room in (0.0, 0.25, 1.0):
            algorithm = {"kind": "ucbvi", "optimism": optimism, "visit_bonus": 0.3}
            agent = agent_of(algorithm, features={"kind": "one_hot", "over": ["state"]})
            monkeypatch.setattr(agent, "room", lambda _, left=room: left)
            with monkeypatch.context() as patched:
                found.append(planned_for(patched, f"plan_{planner}", agent)[1])
        none, quarter, full = found
        assert not none.bonuses.any()
        assert full.bonuses.max() > 0.1
        np.testing.assert_allclose(quarter.bonuses, 0.25 * full.bonuses)
        fields = ("weights", "ended_weights") if optimism == "logit" else ("widths", "ended_widths")
        for field in fields:
            base, less, more = (getattr(problem, field) for problem in found)
            assert (more - base).max() > 0.1
            np.testing.assert_allclose(less - base, 0.5 * (more - base), atol=1e-12)

    def test_the_bonuses_of_the_insight_are_those_of_the_plan(self, monkeypatch):
        agent = agent_of({"kind": "ucbvi", "visit_bonus": 0.3})
        monkeypatch.setattr(agent, "room", lambda _: 0.25)
        _, problem = planned_for(monkeypatch, "plan_fast", agent)
        np.testing.assert_allclose(agent.bonuses(), problem.bonuses)
        assert 0.0 < agent.bonuses().max() <= 0.25 * 0.3

    def test_places_seldom_visited_have_a_larger_bonus(self, monkeypatch):
        history = [*HISTORY[:2], HISTORY[0]]
        agent = agent_of({"kind": "ucbvi", "visit_bonus": 0.3}, history)
        _, problem = planned_for(monkeypatch, "plan_fast", agent)
        visits = agent.experience.transitions.visits.reshape(S, A)
        assert sorted(visits.ravel().tolist()) == [1, 2, 3, 3]
        bonus = problem.bonuses[0]
        room = agent.room(agent.beliefs[0].follow(agent.experience))
        np.testing.assert_allclose(bonus, room * 0.3 / np.sqrt(1 + visits))
        assert 0.5 < room < 0.9
        rare, some, often = (bonus[visits == times] for times in (1, 2, 3))
        assert 0.3 >= rare.min() > some.max() >= some.min() > often.max() > 0.0
        assert often[0] == often[1]
        np.testing.assert_array_equal(problem.bonuses, np.broadcast_to(bonus, (H, S, A)))

    @pytest.mark.parametrize("optimism", ["logit", "reward"])
    @pytest.mark.parametrize("over", [["state"], ["step", "state", "action"]])
    def test_the_plan_is_optimistic(self, optimism, over):
        """What it promises is no less than what the estimate itself is worth."""
        for seed in range(4):
            rng = np.random.default_rng(seed)
            history = [
                (Trajectory(rng.integers(S, size=H), rng.integers(A, size=H)), int(label))
                for label in rng.integers(2, size=8)
            ]
            algorithm = {"kind": "ucbvi", "optimism": optimism, "visit_bonus": 0.0}
            agent = agent_of(algorithm, history, {"kind": "one_hot", "over": over})
            hopeful, sober = agent.plan(9), agent.plan(9, "exploit")
            assert hopeful.upper >= sober.value
            assert hopeful.upper > sober.lower + 0.01

    def test_without_optimism_it_exploits(self):
        agent = agent_of({"kind": "ucbvi", "radius": 0.0, "visit_bonus": 0.0})
        learning, exploiting = agent.plan(9), agent.plan(9, "exploit")
        assert learning.upper == exploiting.upper
        for key, array in learning.policy.arrays().items():
            np.testing.assert_array_equal(array, exploiting.policy.arrays()[key])

    def test_a_table_may_be_all_that_is_known(self):
        values = np.random.default_rng(2).normal(size=(H, S, A, 2))
        agent = agent_of({"kind": "ucbvi"}, features={"kind": "table", "values": values.tolist()})
        assert isinstance(agent.beliefs[0].features, Table)
        assert agent.plan(9).gap <= agent.options.epsilon


class TestTheDocument:
    """What the model's document says of optimism."""

    def test_with_the_papers_constants(self):
        agent = agent_of()
        planned = agent.plan(9)
        said = agent.insight().document().optimism
        rows = np.array([direct_row(trajectory) for trajectory, _ in HISTORY])
        sigma = float(exact_kappa()) * np.eye(H * S * A) + rows.T @ rows
        norms = np.sqrt(np.diag(np.linalg.inv(sigma))).reshape(H, S, A) / np.sqrt(H)
        radius = float(exact_radius(H * S * A, len(HISTORY) + 1))
        assert (said.episode, said.episodes) == (len(HISTORY) + 1, EPISODES)
        assert said.scale == pytest.approx(np.sqrt(H))
        assert said.delta == pytest.approx(float(one_bound()), rel=1e-12)
        assert said.kappa == pytest.approx(float(exact_kappa()), rel=1e-12)
        assert said.radius == pytest.approx(radius, rel=1e-12)
        assert said.beta == pytest.approx(radius / float(exact_kappa().sqrt()), rel=1e-12)
        assert said.width == pytest.approx(radius * norms.max(axis=(1, 2)).sum(), rel=1e-9)
        assert said.value == planned.value
        condition = np.linalg.cond(sigma)
        assert said.condition_number == pytest.approx(condition, rel=1e-9)
        assert said.condition_bound == pytest.approx(1 + 3 / float(exact_kappa()), rel=1e-12)
        assert said.sandwich == pytest.approx(np.sqrt(H * condition), rel=1e-9)
        assert said.regret_bound is said.informative_from is None  # no theorem is about this kind

    @pytest.mark.parametrize("optimism", ["logit", "reward"])
    def test_when_tuned(self, optimism):
        agent = agent_of(algorithm={"kind": "ucbvi", "optimism": optimism, "radius": 0.6})
        planned = agent.plan(9)
        said = agent.insight().document().optimism
        learned = agent.best().follow(agent.experience)
        room = agent.room(learned)
        slope = 1.0 if optimism == "logit" else 0.25
        assert said.radius == pytest.approx(0.6 * np.sqrt(room) * slope, rel=1e-12)
        widths, _ = learned.belief.features.widths(learned.posterior.norms)
        assert said.width == pytest.approx(said.radius * widths.max(axis=(1, 2)).sum())
        assert said.value == planned.value
        assert said.kappa is said.beta is said.delta is said.condition_number is None

    def test_it_survives_packing(self):
        agent = agent_of()
        agent.plan(9)
        again = unpack_insight(agent.packed_insight())
        assert again.document().optimism == agent.insight().document().optimism

    def test_before_any_plan_there_is_no_value(self):
        assert agent_of().insight().document().optimism.value is None


class TestThePapersProgramme:
    """`planner: "paper"` plans by the tensors of the appendix."""

    TINY = PAPER | {"planner": "paper", "paper_epsilon": 0.9, "norm_bound": 1}

    def agent(self, **changes):
        history = [
            (Trajectory(np.array([0, 1]), np.array([0, 1]), 1), 1),
            (Trajectory(np.array([1, 1]), np.array([1, 0]), 0), 0),
        ]
        return agent_of(algorithm=self.TINY | changes, history=history, horizon=2)

    def test_it_is_the_plan_of_the_tensors(self):
        agent = self.agent()
        agent.check_budget()
        plan = agent.plan(9)
        assert (plan.planner, plan.policy.kind) == ("paper", "paper")
        assert plan.gap < 0.9

    def test_it_is_within_its_certificate_of_the_best(self):
        """Against enumeration of the objective that the certified planner is given."""
        agent = self.agent()
        learned = agent.best().follow(agent.experience)
        problem = agent._optimistic(learned, 9, ())
        best = plan_exact(problem, "reward")
        plan = agent.plan(9)
        assert plan.lower - 1e-9 <= best.value <= plan.upper + 1e-9

    def test_widths_beyond_1_change_nothing(self):
        problem = self.agent()._optimistic(*self.asked())
        assert problem.widths.max() > 1.0
        assert clipped(problem).widths.max() == 1.0
        whole, cut = (plan_exact(one, "reward").value for one in (problem, clipped(problem)))
        assert whole == pytest.approx(cut, abs=1e-12)

    def asked(self):
        agent = self.agent()
        return agent.best().follow(agent.experience), 9, ()

    def test_a_problem_that_it_cannot_carry_is_refused(self):
        with pytest.raises(BudgetExceeded, match=r"algorithm\.paper_epsilon"):
            self.agent(paper_epsilon=0.01).check_budget()

    def test_where_the_weights_outgrow_it_the_certified_planner_takes_over(self):
        agent = self.agent()
        agent.budget = PlanBudget(cells=1e5)
        assert agent.plan(9).planner == "reward"
