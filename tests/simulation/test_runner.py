"""The runner: what an agent is told, when it is told, and what is measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.agents.kinds.uniform.agent import Uniform
from app.errors import InvalidValue
from app.learning.trajectory import Trajectory
from app.simulation import runner
from app.simulation.environment import evaluate
from app.simulation.runner import GOOD_ENOUGH, Setting, prepare, run
from app.simulation.tasks import load_task

TASK = "riverswim-6"
UNIFORM = {"kind": "uniform"}


def setting_of(**changes) -> Setting:
    return Setting(
        **({"task": TASK, "episodes": 12, "algorithm": UNIFORM, "rollouts": 50} | changes)
    )


class Diary(Uniform):
    """A uniform agent that writes down what happens to it."""

    patient = 1

    def __init__(self, spec, budget=None):
        super().__init__(spec, budget)
        self.plans: list[tuple[int, set[int], int, set[int]]] = []
        self.looks: list[int] = []
        self.played: list[Trajectory] = []

    def plan(self, episode, mode="learn", pending=(), certify=True):
        if mode == "learn":
            told = {episode for episode, _ in self.experience.labels}
            over = set(self.experience.episodes)
            self.plans.append((episode, told, len(pending), over))
        else:
            self.looks.append(episode)
        return super().plan(episode, mode, pending, certify)

    def finish(self, episode, trajectory):
        super().finish(episode, trajectory)
        self.played.append(trajectory)

    def patience(self):
        return self.patient


@pytest.fixture
def diary(monkeypatch):
    """Runs a setting and hands over the diary of its agent, with the run."""

    def keep(setting: Setting, seed: int = 1, patient: int = 1):
        kept: list[Diary] = []

        def make(spec, budget=None):
            kept.append(Diary(spec, budget))
            kept[0].patient = patient
            return kept[0]

        monkeypatch.setattr(runner, "make_agent", make)
        result = run(setting, seed)
        return kept[0], result

    return keep


class TestLabels:
    @pytest.mark.parametrize("delay", [0, 1, 4])
    def test_they_come_as_late_as_they_should(self, diary, delay):
        agent, _ = diary(setting_of(delay=delay))
        # There is no reason to plan anew before the first label.
        assert [episode for episode, *_ in agent.plans] == [0, *range(delay + 1, 12)]
        for episode, told, _, over in agent.plans:
            assert over == set(range(episode))
            assert told == set(range(max(0, episode - delay)))
        assert set(agent.experience.labels) == {(number, 0) for number in range(12 - delay)}

    def test_transitions_do_not_wait_for_them(self, diary):
        agent, _ = diary(setting_of(delay=12))
        assert not agent.experience.labels
        assert agent.experience.transitions.visits.sum() == 12 * load_task(TASK).horizon

    def test_a_share_of_them_is_wrong(self, diary):
        """The same episodes are played; labels differ where they were flipped.

        Hoeffding: a share other than the stated one by chance, with probability below 1e-6.
        """
        n, share = 1500, 0.3
        right, _ = diary(setting_of(task="random-0", episodes=n, rollouts=1))
        wrong, _ = diary(setting_of(task="random-0", episodes=n, rollouts=1, flips=share))
        for ours, theirs in zip(right.played, wrong.played, strict=True):
            assert ours.states.tolist() == theirs.states.tolist()
        truth, told = right.experience.labels, wrong.experience.labels
        flipped = np.mean([truth[number, 0] != told[number, 0] for number in range(n)])
        assert abs(flipped - share) < np.sqrt(np.log(2e6) / (2 * n))

    def test_all_of_them_may_be(self, diary):
        right, _ = diary(setting_of(task="random-0", episodes=40))
        wrong, _ = diary(setting_of(task="random-0", episodes=40, flips=1.0))
        truth, told = right.experience.labels, wrong.experience.labels
        assert told == {number: 1 - label for number, label in truth.items()}
        assert 0 < sum(truth.values()) < 40

    def test_they_are_as_probable_as_the_task_says(self, diary):
        # Hoeffding: fails by chance with probability below 1e-6.
        task, n = load_task("random-0"), 1500
        agent, _ = diary(setting_of(task="random-0", episodes=n, rollouts=1))
        share = np.mean(list(agent.experience.labels.values()))
        assert abs(share - task.uniform()) < np.sqrt(np.log(2e6) / (2 * n))


class TestEpisodes:
    @pytest.mark.parametrize("name", ["frozenlake-4x4", "riverswim-6"])
    def test_they_are_possible_in_the_task(self, diary, name):
        task = load_task(name)
        agent, _ = diary(setting_of(task=name, episodes=40, rollouts=1))
        ends = 0
        for one in agent.played:
            one.check(task.states, task.actions, task.horizon)
            assert task.start[one.states[0]] > 0
            after = [*one.states[1:].tolist(), one.final + task.states * one.ended]
            chances = task.transitions[one.states, one.actions, after]
            assert (chances > 0).all()
            assert one.ended or len(one) == task.horizon
            ends += one.ended
        assert (ends > 0) == (name == "frozenlake-4x4")

    def test_each_has_luck_of_its_own(self, diary):
        """Twenty coins fall alike twice among 24 episodes with probability below 0.0003."""
        acted = {
            tuple(one.actions.tolist())
            for seed in (1, 2)
            for one in diary(setting_of(), seed)[0].played
        }
        assert len(acted) == 24

    def test_side_by_side_they_know_of_each_other(self, diary):
        """Each has a plan of its own, made while the ones before it are under way."""
        agent, result = diary(setting_of(episodes=8, parallel=3))
        assert [episode for episode, *_ in agent.plans] == list(range(8))
        assert [pending for _, _, pending, _ in agent.plans] == [0, 1, 2, 0, 1, 2, 0, 1]
        for episode, told, _, over in agent.plans:
            assert over == told == set(range(episode - episode % 3))
        assert len(result.values) == 8

    def test_side_by_side_with_late_labels(self, diary):
        agent, _ = diary(setting_of(episodes=9, parallel=3, delay=2))
        for episode, told, _, over in agent.plans:
            first = episode - episode % 3
            assert over == set(range(first))
            assert told == set(range(max(0, first - 2)))

    def test_a_plan_is_kept_while_the_agent_is_patient(self, diary):
        agent, result = diary(setting_of(episodes=12), patient=5)
        assert [episode for episode, *_ in agent.plans] == [0, 5, 10]
        assert len(result.values) == 12


class TestMeasures:
    def test_regret_is_what_the_policies_lack(self):
        task = load_task(TASK)
        result = run(setting_of(episodes=10), seed=3)
        assert result.values == [task.uniform()] * 10
        assert result.regret == pytest.approx(10 * (task.optimum() - task.uniform()))

    def test_regret_of_an_agent_that_learns(self):
        task = load_task(TASK)
        result = run(setting_of(episodes=15, algorithm={"kind": "thompson"}), seed=3)
        assert len(set(result.values)) > 1
        assert result.regret == pytest.approx(sum(task.optimum() - v for v in result.values))

    def test_it_is_reached_when_the_exploit_policy_is_good_enough(self):
        task = load_task(TASK)
        setting = setting_of(episodes=100, algorithm={"kind": "thompson"}, rollouts=1000)
        result = run(setting, seed=3)
        *before, (episodes, value) = result.exploit
        assert value >= GOOD_ENOUGH * task.optimum()
        assert all(v < GOOD_ENOUGH * task.optimum() for _, v in before)
        assert result.reached == episodes

    def test_it_is_looked_at_often_at_first_and_never_after_it_was_reached(self, diary):
        agent, result = diary(setting_of(episodes=130, rollouts=1))
        assert result.reached is None
        assert agent.looks == [episodes for episodes, _ in result.exploit]
        assert agent.looks[:80] == list(range(1, 81))
        assert np.diff(agent.looks[80:]).min() >= 2

    @pytest.mark.parametrize("parallel", [1, 2])
    def test_every_plan_is_valued_with_other_luck_and_every_look_with_the_same(
        self, diary, monkeypatch, parallel
    ):
        """Errors of the values average out in the regret, and do not let a look pass by chance."""
        lucks: list[int] = []

        def noted(task, policy, rollouts, seed):
            lucks.append(seed)
            return evaluate(task, policy, rollouts, seed)

        monkeypatch.setattr(runner, "evaluate", noted)
        agent, _ = diary(setting_of(episodes=6, parallel=parallel), seed=7)
        assert lucks.count(7) == len(agent.looks) > 1
        assert len(set(lucks)) == 1 + len(agent.plans) == 7

    def test_progress_adds_up(self):
        told: list[int] = []
        run(setting_of(episodes=8, parallel=3), 1, told.append)
        assert told == [3, 3, 2]


class TestSeeds:
    @pytest.mark.parametrize(
        "changes",
        [{}, {"parallel": 4}, {"delay": 3, "flips": 0.2}, {"features": {"kind": "auto"}}],
        ids=["plain", "parallel", "hard", "auto"],
    )
    def test_the_same_seed_gives_the_same_run(self, changes):
        setting = setting_of(task="random-0", algorithm={"kind": "thompson"}, **changes)
        first, second, other = (run(setting, seed) for seed in (5, 5, 6))
        assert first == second
        assert first.values != other.values

    def test_flips_leave_the_world_alone(self, diary):
        """So that a comparison is of the labels, not of the luck."""
        runs = [diary(setting_of(flips=flips))[0].played for flips in (0.0, 0.5)]
        for ours, theirs in zip(*runs, strict=True):
            assert ours.actions.tolist() == theirs.actions.tolist()


class TestPrepare:
    def test_the_agent_fits_the_task(self):
        task, agent = prepare(setting_of(algorithm={"kind": "thompson"}), seed=9)
        assert agent.spaces.shape == (task.horizon, task.states, task.actions)
        assert agent.spec.seed == 9
        assert agent.beliefs[0].features.dimension == task.states  # what suits the task

    def test_features_may_be_chosen(self):
        chosen = {"kind": "one_hot", "over": ["action"], "steps": "last"}
        _, agent = prepare(setting_of(algorithm={"kind": "thompson"}, features=chosen), seed=0)
        assert agent.beliefs[0].features.dimension == 2

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"task": "nowhere"}, "task"),
            ({"algorithm": {"kind": "magic"}}, "algorithm.kind"),
            ({"algorithm": {"kind": "thompson", "draws": 0}}, "algorithm.draws"),
            ({"features": {"kind": "magic"}}, "features.kind"),
        ],
    )
    def test_what_is_wrong_shows_at_once(self, changes, field):
        with pytest.raises(InvalidValue) as caught:
            prepare(setting_of(**changes), seed=0)
        assert caught.value.field == field


def test_a_run_may_stop_when_it_is_good_enough():
    setting = Setting("riverswim-6", 200, {"kind": "ucbvi"}, rollouts=200)
    whole, short = run(setting, 1), run(replace(setting, stop=True), 1)
    assert short.reached == whole.reached == len(short.values) < 200 == len(whole.values)
    assert short.labels == whole.labels == short.reached
