"""Ranking has a bound in time: meanwhile the last ranking is used."""

import asyncio

from app.errors import PlauditError
from app.service.labelling.ranking import Ranking
from tests.support.service import finished_episode, learned, new_agent, run_service


class Learning:
    """The learning processes of a service, whose ranking waits until a test lets it go on."""

    def __init__(self, pool):
        self._pool = pool
        self.jobs = []
        self.gate = asyncio.Event()
        self.fails = False

    async def run(self, job):
        self.jobs.append(job)
        await self.gate.wait()
        if self.fails:
            raise PlauditError("no")
        return await self._pool.run(job)


async def waiting_agent(container):
    agent = await new_agent(container, algorithm={"kind": "thompson"})
    numbers = [(await finished_episode(container, agent)).number for _ in range(3)]
    await learned(container, agent)
    return agent, numbers


def ranking_of(container, seconds):
    learning = Learning(container.pool)
    return Ranking(container.database, container.cache, learning, seconds), learning


def test_before_the_first_ranking_the_oldest_come_first_without_a_score(tmp_path):
    async def use(container):
        agent, numbers = await waiting_agent(container)
        ranking, learning = ranking_of(container, 0.01)
        assert await ranking.of_agent(agent) == [(None, number) for number in numbers]
        assert await ranking.of_agent(agent) == [(None, number) for number in numbers]
        assert len(learning.jobs) == 1  # the second request waits for the same ranking
        learning.gate.set()
        while not ranking._known:
            await asyncio.sleep(0.01)
        ranked = await ranking.of_agent(agent)
        assert sorted(number for _, number in ranked) == numbers
        assert all(score > 0 for score, _ in ranked)

    run_service(tmp_path, use)


def test_an_old_ranking_serves_while_a_new_one_is_made(tmp_path):
    async def use(container):
        agent, _ = await waiting_agent(container)
        ranking, learning = ranking_of(container, 60.0)
        learning.gate.set()
        old = await ranking.of_agent(agent)
        learning.gate.clear()
        ranking._patience = 0.01
        late = (await finished_episode(container, agent)).number
        assert await ranking.of_agent(agent) == [*old, (None, late)]
        learning.fails = True
        learning.gate.set()
        await asyncio.sleep(0.01)
        assert await ranking.of_agent(agent) == [*old, (None, late)]  # a failure changes nothing
        learning.fails = False
        ranking._patience = 60.0
        await learned(container, agent)
        assert all(score is not None for score, _ in await ranking.of_agent(agent))

    run_service(tmp_path, use)


def test_ranking_waits_until_the_agent_has_learned(tmp_path):
    """Otherwise two processes would read the log of an import."""

    async def use(container):
        agent, _ = await waiting_agent(container)
        ranking, learning = ranking_of(container, 0.01)
        agent.queue_learning()
        agent.last_lesson += 1
        await ranking.of_agent(agent)
        assert learning.jobs == []
        agent.last_lesson -= 1
        agent.end_learning()
        agent.wake()
        await ranking.of_agent(agent)
        assert len(learning.jobs) == 1

    run_service(tmp_path, use)
