"""The tasks that a demo can play: a simulated environment, and how its agent is described."""

from __future__ import annotations

from dataclasses import dataclass

from app.errors import NotFound
from app.simulation.tasks import Task, load_task
from app.wire.base import JsonObject


@dataclass(frozen=True)
class DemoTask:
    """A simulated task with what people need to know of it."""

    name: str
    title: str
    about: str
    question: str
    episodes: int  # labels after which its agent plays well

    def load(self) -> Task:
        """The environment and its judge."""
        return load_task(self.name)

    def specification(self, seed: int) -> JsonObject:
        """The agent that learns the task, as a client would create it.

        The features are left to the server, as for a user who does not know what matters.
        """
        task = self.load()
        return {
            "states": {"kind": "discrete", "n": task.states},
            "actions": {"kind": "discrete", "n": task.actions},
            "horizon": task.horizon,
            "seed": seed,
        }


DEMO_TASKS: dict[str, DemoTask] = {
    task.name: task
    for task in (
        DemoTask(
            name="frozenlake-4x4",
            title="Frozen lake",
            about="Cross a slippery lake to the goal in the corner. Holes end the episode.",
            question="Did it reach the flag without falling into a hole?",
            episodes=150,
        ),
        DemoTask(
            name="grid",
            title="The paper's grid",
            about="Go to the middle of a room of 10 x 15 cells, and stay there for three steps.",
            question="Was it at the flags in the middle for the last three steps?",
            episodes=200,
        ),
    )
}


def demo_task(name: str) -> DemoTask:
    """A task by its name."""
    if name not in DEMO_TASKS:
        raise NotFound("demo task", name)
    return DEMO_TASKS[name]
