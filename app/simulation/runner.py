"""Run one agent on one task: episodes, labels, and measurements of its success."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from app.agents import DEFAULT_KIND, AgentSpec, make_agent
from app.agents.base import Agent
from app.learning.randomness import generator, uniform
from app.learning.trajectory import Trajectory
from app.learning.world.policy import Policy
from app.planning.problem import Plan, PlanBudget
from app.simulation.environment import Environment, evaluate
from app.simulation.tasks import load_task
from app.simulation.tasks.base import Task
from app.wire.base import JsonObject
from app.wire.validation import parse

GOOD_ENOUGH = 0.9  # of the optimum
_WORLD, _FLIPS, _VALUES = 101, 102, 103  # addresses of the generators


@dataclass(frozen=True)
class Setting:
    """The task and agent of a run. Labels may be late or wrong; episodes may run in parallel."""

    task: str
    episodes: int
    algorithm: JsonObject = field(default_factory=lambda: {"kind": DEFAULT_KIND})
    features: JsonObject | None = None  # None: those that suit the task
    parallel: int = 1  # episodes that run side by side
    delay: int = 0  # labels come this many episodes late
    flips: float = 0.0  # share of labels that are wrong
    rollouts: int = 1000  # to evaluate a policy
    budget: PlanBudget = field(default_factory=PlanBudget)
    stop: bool = False  # once the exploit policy is good enough


@dataclass(frozen=True)
class Run:
    """The measurements of one seed."""

    seed: int
    values: list[float]  # the true success probability of the policy of each episode
    regret: float  # the sum of (optimum - success) over the episodes
    reached: int | None  # episodes until the exploit policy was good enough
    exploit: list[tuple[int, float]]  # (episodes, true value of the exploit policy)
    labels: int = 0  # given until the exploit policy was good enough, or in all


def prepare(setting: Setting, seed: int) -> tuple[Task, Agent[Any]]:
    """Create the task and a new agent; errors in a setting are raised here."""
    task = load_task(setting.task)
    spec = {
        "states": task.states,
        "actions": task.actions,
        "horizon": task.horizon,
        "features": task.features if setting.features is None else setting.features,
        "algorithm": setting.algorithm,
        "seed": seed,
    }
    agent = make_agent(parse(AgentSpec, spec), setting.budget)
    agent.check_budget()
    return task, agent


def run(setting: Setting, seed: int, progress: Callable[[int], None] = lambda _: None) -> Run:
    """Play all episodes of a setting with one seed."""
    task, agent = prepare(setting, seed)
    return _Game(task, agent, setting, seed).play(progress)


class _Game:
    """The loop over episodes, with labels that may be late or wrong."""

    def __init__(self, task: Task, agent: Agent[Any], setting: Setting, seed: int) -> None:
        self.task, self.agent, self.setting, self.seed = task, agent, setting, seed
        self.environment = Environment(task)
        self.world, self.flips = generator(seed, _WORLD), generator(seed, _FLIPS)
        self.unlabelled: deque[tuple[int, int]] = deque()
        self.plan: Plan | None = None
        self.value = 0.0
        self.planned_at = 0
        self.reached: int | None = None
        self.exploit: list[tuple[int, float]] = []
        self.next_evaluation = 0
        self.labels = 0

    def play(self, progress: Callable[[int], None]) -> Run:
        optimum = self.task.optimum()
        values: list[float] = []
        while len(values) < self.setting.episodes and not self._is_enough:
            width = min(self.setting.parallel, self.setting.episodes - len(values))
            numbers = range(len(values), len(values) + width)
            values += self._play_many(numbers) if width > 1 else [self._play_one(numbers[0])]
            self._deliver(keep=self.setting.delay)
            self._evaluate_exploit(len(values), optimum)
            progress(width)
        regret = float(sum(optimum - value for value in values))
        return Run(self.seed, values, regret, self.reached, self.exploit, self.labels)

    @property
    def _is_enough(self) -> bool:
        return self.setting.stop and self.reached is not None

    def _play_one(self, number: int) -> float:
        """Play one episode, with a new plan if one is due. Return the plan's true value."""
        labels = len(self.agent.experience.labels)
        if self.plan is None or labels - self.planned_at >= self.agent.patience():
            self.plan = self.agent.plan(number, certify=False)
            self.value = self._value(self.plan.policy, number)
            self.planned_at = labels
        self._episode(number, self.plan)
        return self.value

    def _play_many(self, numbers: range) -> list[float]:
        """Play episodes that start before the agent learns from any of them, a plan for each."""
        plans: list[Plan] = []
        for number in numbers:
            pending = [plan.policy for plan in plans]
            plans.append(self.agent.plan(number, pending=pending, certify=False))
        for number, plan in zip(numbers, plans, strict=True):
            self._episode(number, plan)
        return [self._value(plan.policy, n) for n, plan in zip(numbers, plans, strict=True)]

    def _value(self, policy: Policy, number: int) -> float:
        """The true value of a plan, with its own random numbers so that errors average out."""
        luck = int(uniform(self.seed, number, _VALUES) * 2.0**53)
        return evaluate(self.task, policy, self.setting.rollouts, luck)

    def _episode(self, number: int, plan: Plan) -> None:
        environment, policy = self.environment, plan.policy
        state = environment.reset(self.world)
        states: list[int] = []
        actions: list[int] = []
        memory: tuple[int, ...] = ()
        while not environment.done:
            luck = uniform(self.seed, number, environment.steps)
            action, memory = policy.act(environment.steps, state, memory, luck)
            states.append(state)
            actions.append(action)
            state, _ = environment.step(action)
        ended = environment.ended
        self.agent.finish(
            number, Trajectory(np.array(states), np.array(actions), environment.state, ended)
        )
        if not plan.label_required:
            return
        label = environment.label()
        wrong = self.flips.random() < self.setting.flips
        self.unlabelled.append((number, 1 - label if wrong else label))

    def _deliver(self, keep: int) -> None:
        while len(self.unlabelled) > keep:
            self.agent.label(*self.unlabelled.popleft())

    def _evaluate_exploit(self, episodes: int, optimum: float) -> None:
        """Evaluate the exploit policy, more often at first, until it is good enough."""
        if self.reached is not None:
            return
        self.labels = len(self.agent.experience.labels)
        if episodes < self.next_evaluation:
            return
        self.next_evaluation = episodes + max(1, episodes // 40)
        policy = self.agent.plan(episodes, "exploit", certify=False).policy
        # Every evaluation uses the same random numbers. With new ones each time, a policy below
        # the threshold would soon pass it by chance.
        value = evaluate(self.task, policy, self.setting.rollouts, self.seed)
        self.exploit.append((episodes, value))
        if value >= GOOD_ENOUGH * optimum:
            self.reached = episodes
