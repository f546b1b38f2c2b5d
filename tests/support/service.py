"""The service without HTTP: a container on a real database."""

import asyncio

from app.metrics import Metrics
from app.service.agents.specification import read_specification
from app.service.episodes.lifecycle import EpisodeRequest
from app.service.runtime.container import open_container
from app.settings import Settings
from app.storage.database import prepare_database
from app.wire.steps import Step
from tests.support.databases import database_url, recordings_of

SPECIFICATION = {
    "states": {"kind": "discrete", "n": 4},
    "actions": {"kind": "discrete", "n": 2},
    "horizon": 3,
    "algorithm": {"kind": "uniform"},
}


def run_service(folder, use, **settings):
    """Open a container on a database in ``folder``, and run ``use(container)``."""
    url, recordings = database_url(folder), str(recordings_of(folder))
    prepare_database(url, recordings)

    async def run():
        places = {"database_url": url, "recordings_folder": recordings}
        chosen = Settings(**places, learning_processes=1, **settings)
        async with open_container(chosen, Metrics()) as container:
            return await asyncio.wait_for(use(container), 120)

    return asyncio.run(run())


async def new_agent(container, **changes):
    """An agent that has its first plan."""
    specification = read_specification(SPECIFICATION | changes)
    agent = await container.registry.create("lake", specification, {}, None)
    await learned(container, agent)
    return agent


async def learned(container, agent):
    """Wait until the agent has nothing left to learn."""
    while container.trainer.is_under_way(agent):
        await agent.wait(5)


async def new_episode(container, agent, **request):
    """A running episode, without waiting for learning."""
    return await container.lifecycle.start(agent, EpisodeRequest(**({"wait": False} | request)))


async def finished_episode(container, agent, **request):
    """An episode that ended in state 3 after one step."""
    episode = await new_episode(container, agent, **request)
    await container.stepping.step(episode.id, Step(step=0, state=1))
    return await container.lifecycle.finish(episode.id, 3, None)
