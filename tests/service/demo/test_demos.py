"""Demos: the server plays a built-in task with an agent of its own."""

import asyncio
import json

import pytest

from app.errors import Conflict, NotFound
from app.service.demo.demos import LABELLER, MOST_DEMOS, DemoJudge, DemoRequest
from app.service.demo.tasks import DEMO_TASKS
from app.service.labelling.slots import GivenLabel
from app.wire.agents import AgentChanges
from app.wire.specification.display import GridDisplay
from tests.support.service import run_service

LAKE = "frozenlake-4x4"


async def until(condition):
    """Wait until a condition holds; the time limit of the test ends the wait."""
    while not condition():
        await asyncio.sleep(0.02)


def test_a_simulated_labeller_judges_every_episode_and_then_measures(tmp_path):
    async def use(container):
        demo = await container.demos.start(DemoRequest(LAKE, episodes=6, evaluations=3))
        await until(lambda: not demo.running)
        view = await container.views.agents.read(demo.agent.id)
        assert (demo.played, demo.evaluated) == (6, 3)
        assert view.episodes.labelled == 6
        assert view.evaluation.episodes == 3
        assert view.metadata == {"demo": {"task": LAKE, "judge": "simulated"}}
        exported = [json.loads(line) async for line in container.import_export.lines(demo.agent)]
        given = {line["verdicts"][0]["labeller"] for line in exported}
        assert given == {LABELLER}
        for line in exported:  # the label is good iff the episode ended in the goal
            assert line["label"] == int(line["terminated"] and line["states"][-1] == 15)

    run_service(tmp_path, use)


def test_the_same_seed_plays_the_same_episodes(tmp_path):
    async def use(container):
        played = []
        for _ in range(2):
            demo = await container.demos.start(DemoRequest(LAKE, episodes=4, evaluations=0, seed=3))
            await until(lambda demo=demo: not demo.running)
            lines = [json.loads(line) async for line in container.import_export.lines(demo.agent)]
            played.append([(line["states"], line["actions"], line["label"]) for line in lines])
        assert played[0] == played[1]

    run_service(tmp_path, use)


def test_people_judge_and_the_demo_waits_for_them(tmp_path):
    async def use(container):
        request = DemoRequest(LAKE, DemoJudge.people, episodes=5)
        demo = await container.demos.start(request)
        await until(lambda: demo.played == 3)
        await asyncio.sleep(0.2)
        assert (demo.played, demo.running) == (3, True)  # three wait at the desk
        for _ in range(2):
            await container.labels.give(demo.waiting[0], GivenLabel(0, "Ada"))
            await asyncio.sleep(0.1)
        await until(lambda: not demo.running)
        assert (demo.played, demo.evaluated) == (5, 0)

    run_service(tmp_path, use)


@pytest.mark.parametrize("judge", DemoJudge)
def test_deleting_the_agent_ends_the_demo(tmp_path, judge):
    async def use(container):
        demo = await container.demos.start(DemoRequest(LAKE, judge, episodes=10_000))
        await until(lambda: demo.played >= 2)
        await container.registry.delete(demo.agent.id)
        await until(lambda: not demo.running)
        assert container.demos.all() == []
        with pytest.raises(NotFound):
            container.demos.find(demo.agent.id)

    run_service(tmp_path, use)


def test_a_paused_agent_pauses_its_demo(tmp_path):
    async def use(container):
        demo = await container.demos.start(DemoRequest(LAKE, episodes=10_000))
        await until(lambda: demo.played >= 1)
        await container.registry.describe(demo.agent, AgentChanges(paused=True))
        await asyncio.sleep(0.3)
        played = demo.played
        await asyncio.sleep(0.3)
        assert (demo.played, demo.running) == (played, True)
        await container.registry.describe(demo.agent, AgentChanges(paused=False))
        await until(lambda: demo.played > played)

    run_service(tmp_path, use)


def test_few_demos_play_at_the_same_time(tmp_path):
    async def use(container):
        for _ in range(MOST_DEMOS):
            await container.demos.start(DemoRequest(LAKE, DemoJudge.people, episodes=100))
        with pytest.raises(Conflict, match=f"{MOST_DEMOS} demos play already"):
            await container.demos.start(DemoRequest(LAKE))
        await container.registry.delete(container.demos.all()[0].agent.id)
        await container.demos.start(DemoRequest(LAKE, episodes=1, evaluations=0))

    run_service(tmp_path, use)


def test_an_unknown_task_creates_no_agent(tmp_path):
    async def use(container):
        with pytest.raises(NotFound, match="No demo task with id 'chess'"):
            await container.demos.start(DemoRequest("chess"))
        assert container.cache.agents == {}

    run_service(tmp_path, use)


@pytest.mark.parametrize("task", DEMO_TASKS.values(), ids=DEMO_TASKS)
def test_a_grid_is_drawn_with_one_cell_for_each_state(task):
    display = GridDisplay(**task.load().display)
    assert display.rows * display.cols == task.load().states
