"""Plans for events and automata on tracked states, against every history of the plain problem."""

import math

import numpy as np
import pytest

from app.errors import BudgetExceeded, SnapshotError
from app.learning.features.events import SIZES, PathEvent, PathEvents
from app.learning.randomness import uniform
from app.learning.spaces import Spaces
from app.learning.world.model import TransitionModel
from app.planning.fast.planner import plan_fast
from app.planning.policies.registry import pack_policy, unpack_policy
from app.planning.policies.tracked import TrackedPolicy
from app.planning.problem import PlanBudget, PlanningProblem
from app.planning.reward.planner import plan_reward
from app.planning.rows import CURVATURE
from app.planning.tracked import check_tracked_budget, plan_on_plain_states
from tests.learning.features.test_automaton import naive, random_automaton
from tests.planning.instances import random_problem

EPSILON = 1e-3


def happened(event, path):
    """By looking at every pair of steps."""
    if event.kind == "visited":
        return event.states[0] in path
    a, b = event.states
    if event.kind == "both":
        return a in path and b in path
    return any(path[i] == a and path[j] == b for j in range(len(path)) for i in range(j))


class Instance:
    """A random plain model with weights, widths and bonuses for random events."""

    def __init__(self, seed):
        self.plain = random_problem(seed, paths=1500)
        self.rng = rng = np.random.default_rng([seed, 77])
        self.spaces = Spaces(self.plain.states, self.plain.actions, self.plain.horizon)
        self.features = self.drawn()
        d = self.features.dimension
        self.weights = rng.normal(size=d) * rng.choice([0.5, 3.0, 20.0])
        root = rng.normal(size=(d, d)) * rng.choice([0.05, 0.5])
        self.spread = root @ root.T

    def drawn(self):
        """Random events."""
        S, made = self.plain.states, {}
        for _ in range(int(self.rng.integers(1, 5))):
            kind = "visited" if S == 1 else str(self.rng.choice(list(SIZES)))
            event = PathEvent(kind, tuple(self.rng.choice(S, SIZES[kind], replace=False).tolist()))
            made[event.meaning] = event
        return PathEvents(self.spaces, tuple(made.values()))

    def phi(self, states, actions, ended):
        """The features of one episode, from the words of its events."""
        S, H = self.plain.states, self.plain.horizon
        path = list(states) + ([ended] * (H - len(states)) if 0 <= ended < S else [])
        return np.array([float(happened(event, path)) for event in self.features.events])

    def norms(self, rows):
        dense = rows.toarray()
        return np.sqrt(np.einsum("ni,ij,nj->n", dense, self.spread, dense))

    def problem(self):
        """As agents make it."""
        tables = self.features.tables
        widths, ended_widths = tables.widths(self.norms)
        return PlanningProblem(
            start=tables.tracker.start(self.plain.start),
            transitions=tables.tracker.transitions(self.plain.transitions),
            weights=tables.spread(self.weights),
            bonuses=self.plain.bonuses[:, tables.tracker.states],
            ended_weights=tables.remainders(self.weights),
            offset=self.plain.offset,
            widths=widths,
            ended_widths=ended_widths,
        )

    def worth(self, states, actions, ended, space):
        """What one episode is worth."""
        H, phi = self.plain.horizon, self.phi(states, actions, ended)
        logit = self.plain.offset + float(self.weights @ phi)
        chance = 1.0 / (1.0 + math.exp(-logit)) if logit > -700 else 0.0
        if space == "reward":
            chance = min(chance + math.sqrt(phi @ self.spread @ phi), 1.0)
        taken = zip(range(H), states, actions, strict=False)
        return chance + sum(self.plain.bonuses[h, s, a] for h, s, a in taken)

    def follow(self, states, actions, onward, space):
        """The expected worth after the last of ``actions``; ``onward`` goes on from a state."""
        S, A = self.plain.states, self.plain.actions
        if len(actions) == self.plain.horizon:
            return self.worth(states, actions, -1, space)
        row = self.matrix[states[-1] * A + actions[-1]]
        return sum(
            row[c]
            * (
                onward((*states, int(c)))
                if c < S
                else self.worth(states, actions, int(c) - S, space)
            )
            for c in np.flatnonzero(row)
        )

    def optimum(self, space="logit"):
        """The best over all policies that may depend on the whole history."""
        self.matrix = self.plain.transitions.dense()

        def best(states, actions):
            return max(
                self.follow(
                    states,
                    taken,
                    lambda longer, taken=taken: best(longer, taken),
                    space,
                )
                for taken in ((*actions, a) for a in range(self.plain.actions))
            )

        return self._from_start(lambda s: best((s,), ()))

    def value(self, policy, space="logit"):
        """What a policy on plain states is worth, over all its dice."""
        self.matrix = self.plain.transitions.dense()

        def of(states, actions, memory):
            total = 0.0
            for chance, action, after in policy.branches(len(actions), states[-1], memory):
                taken = (*actions, action)
                total += chance * self.follow(
                    states,
                    taken,
                    lambda longer, taken=taken, after=after: of(longer, taken, after),
                    space,
                )
            return total

        return self._from_start(lambda s: of((s,), (), ()))

    def _from_start(self, value):
        return sum(self.plain.start[s] * value(int(s)) for s in np.flatnonzero(self.plain.start))


class AutomatonInstance(Instance):
    """The same for a random automaton that reads states, actions and ends."""

    def drawn(self):
        return random_automaton(self.rng, self.spaces)

    def phi(self, states, actions, ended):
        read = 0 <= ended < self.plain.states and len(states) < self.plain.horizon
        return np.array(naive(self.features, states, actions, ended if read else None))


@pytest.mark.parametrize("kind", [Instance, AutomatonInstance])
@pytest.mark.parametrize("block", range(5))
def test_the_bounds_hold_on_plain_histories(kind, block):
    """25 instances each: upper >= the best policy, lower <= the policy, and the gap as asked."""
    for seed in range(25 * block, 25 * block + 25):
        instance = kind(seed)
        plan = plan_fast(instance.problem(), EPSILON)
        optimum = instance.optimum()
        policy = plan_on_plain_states(instance.features.tables.tracker, plan).policy
        value = instance.value(policy)
        assert plan.upper >= optimum - 1e-9, seed
        assert plan.lower <= value + 1e-9, seed
        assert value <= optimum + 1e-9, seed
        assert plan.gap <= EPSILON, seed
        assert plan_fast(instance.problem(), 0.5).gap <= CURVATURE / 8.0 + 1e-8, seed  # delta 1
        assert optimum - value <= EPSILON + 1e-9, seed


def test_nothing_is_added_up_on_the_way():
    """All weights are earned at the end, so that each tracked state has one point."""
    instance = Instance(3)
    plan = plan_fast(instance.problem(), EPSILON)
    size = instance.features.tables.tracker.size
    assert plan.cells == size * instance.plain.horizon


@pytest.mark.parametrize("kind", [Instance, AutomatonInstance])
def test_the_bounds_hold_in_reward_space(kind):
    for seed in range(300, 330):
        instance = kind(seed)
        plan = plan_reward(instance.problem(), 0.02)
        optimum = instance.optimum("reward")
        value = instance.value(
            plan_on_plain_states(instance.features.tables.tracker, plan).policy, "reward"
        )
        assert plan.upper >= optimum - 1e-9, seed
        assert plan.lower <= value + 1e-9, seed
        assert value <= optimum + 1e-9, seed


class TestLifting:
    SPACES = Spaces(3, 1, 4)
    TRACKER = PathEvents(SPACES, (PathEvent("visited", (1,)),)).tables.tracker

    def pair(self, visited, state):
        """The tracked state of ``state`` when state 1 was or was not visited before."""
        return 3 * int(visited) + state

    def lifted(self, row, visited=False, state=0):
        matrix = np.zeros((3, 7))
        matrix[:, 0] = 1.0
        matrix[state] = row
        model = self.TRACKER.transitions(TransitionModel.from_dense(matrix, 3, 1))
        dense = model.dense()[self.pair(visited, state)]
        return {int(c): float(dense[c]) for c in np.flatnonzero(dense)}

    @pytest.mark.parametrize(
        ("visited", "state", "after"), [(False, 0, False), (False, 1, True), (True, 0, True)]
    )
    def test_memory_comes_along(self, visited, state, after):
        row = [0.25, 0.5, 0.25, 0, 0, 0, 0]
        expected = {self.pair(after, s): p for s, p in enumerate((0.25, 0.5, 0.25))}
        assert self.lifted(row, visited, state) == expected

    @pytest.mark.parametrize(("state", "after"), [(0, False), (1, True)])
    def test_an_unseen_row_leads_to_every_plain_state(self, state, after):
        expected = {self.pair(after, s): 1.0 / 3.0 for s in range(3)}
        assert self.lifted([0.0] * 7, state=state) == expected

    def test_where_it_ended_is_read_too(self):
        size = self.TRACKER.size
        row = [0, 0, 0, 0, 0.75, 0.25, 0]
        assert self.lifted(row) == {
            size + self.pair(True, 1): 0.75,
            size + self.pair(False, 2): 0.25,
        }

    def test_an_end_that_nobody_located_keeps_the_memory(self):
        size = self.TRACKER.size
        for visited in (False, True):
            expected = {size + self.pair(visited, 0): 1.0}
            assert self.lifted([0, 0, 0, 0, 0, 0, 1.0], visited) == expected

    def test_the_first_state_has_the_first_memory(self):
        start = self.TRACKER.start(np.array([0.5, 0.5, 0.0]))
        assert start.tolist() == [0.5, 0.5, 0.0, 0.0, 0.0, 0.0]


class TestPolicy:
    def test_what_comes_back_acts_the_same(self):
        for seed in range(20):
            instance = Instance(seed)
            problem = instance.problem()
            for plan in (plan_fast(problem, 0.05), plan_reward(problem, 0.2)):
                policy = plan_on_plain_states(instance.features.tables.tracker, plan).policy
                again = unpack_policy(pack_policy(policy))
                assert isinstance(again, TrackedPolicy)
                assert again.inner.kind == policy.inner.kind
                for episode in range(20):
                    self.act_alike(instance, policy, again, episode)

    def act_alike(self, instance, policy, again, episode):
        memory, twin = (), ()
        for step in range(instance.plain.horizon):
            state = int(uniform(1, episode, step) * instance.plain.states)
            luck = uniform(2, episode, step)
            assert [c for c, _, _ in policy.branches(step, state, memory)] == [
                c for c, _, _ in again.branches(step, state, twin)
            ]
            action, memory = policy.act(step, state, memory, luck)
            other, twin = again.act(step, state, twin, luck)
            assert (action, memory) == (other, twin)
            assert all(type(part) is int for part in memory)

    def test_by_its_documented_arrays_alone(self):
        """The controller written anew from the names and shapes that clients are told."""
        instance = Instance(8)
        plan = plan_on_plain_states(
            instance.features.tables.tracker, plan_fast(instance.problem(), 0.05)
        )
        arrays, H = plan.policy.arrays(), instance.plain.horizon
        for episode in range(30):
            m, g, memory = 0, 0, ()
            for step in range(H):
                state, luck = int(uniform(1, episode, step) * instance.plain.states), 0.5
                p = arrays["entered"][m, state]
                low, high = arrays["inner.low"][step, p], arrays["inner.high"][step, p]
                place = arrays["inner.offsets"][step, p] + min(max(g, low), high) - low
                action = arrays["inner.actions"][place]
                moved = arrays["inner.weights"][step, p, action] / arrays["inner.delta"]
                g += math.floor(moved) + (luck < moved - math.floor(moved))
                g = min(max(g, arrays["inner.clip"][0]), arrays["inner.clip"][1])
                m = arrays["memories"][p, action]
                ours, memory = plan.policy.act(step, state, memory, luck)
                assert (action, (m, g)) == (ours, memory)

    @pytest.mark.parametrize("planner", [plan_fast, plan_reward])
    def test_one_that_was_stored_before_automata_read_actions_is_read(self, planner):
        instance = Instance(8)
        tracker, plan = instance.features.tables.tracker, planner(instance.problem(), 0.2)
        policy = plan_on_plain_states(tracker, plan).policy
        arrays = policy.arrays()
        again = TrackedPolicy.from_arrays(arrays | {"memories": arrays["memories"][:, 0]})
        for episode in range(20):
            self.act_alike(instance, policy, again, episode)

    def test_an_inner_policy_of_no_known_kind_is_refused(self):
        instance = Instance(8)
        policy = plan_on_plain_states(
            instance.features.tables.tracker, plan_fast(instance.problem(), 0.05)
        ).policy
        arrays = policy.arrays() | {"inner.kind": np.array("magic")}
        with pytest.raises(KeyError):
            TrackedPolicy.from_arrays(arrays)
        policy = TrackedPolicy(policy.entered, policy.memories, policy)
        with pytest.raises(SnapshotError):
            unpack_policy(pack_policy(policy))


class TestBudget:
    TRACKER = PathEvents(
        Spaces(50, 3, 30), tuple(PathEvent("visited", (i,)) for i in range(6))
    ).tables

    def test_what_fits_is_accepted(self):
        check_tracked_budget(self.TRACKER.tracker, 3, 30, PlanBudget())

    @pytest.mark.parametrize("budget", [PlanBudget(bytes=1e6), PlanBudget(cells=1e4)])
    def test_what_does_not_fit_says_what_to_lower(self, budget):
        with pytest.raises(BudgetExceeded, match="list fewer events"):
            check_tracked_budget(self.TRACKER.tracker, 3, 30, budget)
