"""Demos, as clients start and see them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, StrictStr

from app.wire.base import Answer, Wire

Judge = Literal["simulated", "people"]


class NewDemo(Wire):
    """A demo to start."""

    task: StrictStr = Field(
        max_length=100, description="the name of a built-in task", examples=["frozenlake-4x4"]
    )
    judge: Judge = Field(
        default="simulated",
        description="who judges the episodes: a simulated labeller, or people at the desk",
    )
    episodes: int | None = Field(
        default=None,
        ge=1,
        le=10_000,
        strict=True,
        description="episodes to learn from; by default as many as the task usually takes",
    )
    evaluations: int = Field(
        default=50,
        ge=0,
        le=10_000,
        strict=True,
        description="episodes at the end that measure the success; people judge none of them",
    )
    seed: int = Field(default=0, ge=0, lt=2**32, strict=True, description="of agent and task")


class DemoTaskView(Answer):
    """A built-in task."""

    name: str = Field(description="as a demo names it", examples=["frozenlake-4x4"])
    title: str = Field(description="for people")
    about: str = Field(description="what the agent has to do")


class DemoView(Answer):
    """A demo, and how far it is."""

    agent: str = Field(examples=["agt_0123456789"], description="its agent; delete it to end")
    task: DemoTaskView = Field(description="what it plays")
    judge: Judge = Field(description="who judges its episodes")
    running: bool = Field(description="whether it still plays")
    episodes: int = Field(description="episodes that it plays to learn")
    played: int = Field(description="those of them that were played")
    evaluations: int = Field(description="episodes that it plays to measure its success")
    evaluated: int = Field(description="those of them that were played")
    random_success: float = Field(description="success of playing at random, from the true model")
    best_success: float = Field(description="success of the best policy, from the true model")


class DemoList(Answer):
    """The demos of this server, and the tasks that a new one can play."""

    tasks: list[DemoTaskView] = Field(description="built-in tasks")
    items: list[DemoView] = Field(description="demos since the server started, oldest first")
