"""Load, decide, commit: numbers come from the database, and an outdated decision is made again."""

import asyncio

import pytest

from app.errors import Conflict, Stale, StorageUnavailable
from app.service.labelling.label_updates import set_label
from app.service.labelling.slots import GivenLabel
from app.service.runtime.event_bus import Listener
from app.storage.queries import agents, episodes, events, steps
from app.storage.rows import EpisodeStatus
from app.wire.steps import EpisodeStep, Step
from tests.support.databases import execute, held_in
from tests.support.service import finished_episode, new_agent, new_episode, run_service


@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
def test_a_step_that_failed_is_not_answered_as_a_retry(tmp_path, many):
    async def use(container):
        agent = await new_agent(container)
        episode = await new_episode(container, agent)
        with held_in(tmp_path):
            first = asyncio.create_task(container.stepping.step(episode.id, Step(step=0, state=1)))
            await asyncio.sleep(0)
            while not episode.pending.done():
                await asyncio.sleep(0)
        if many:
            [(_, taken)] = await container.stepping.step_many(
                [EpisodeStep(episode=episode.id, step=0, state=1)]
            )
        else:
            taken = await container.stepping.step(episode.id, Step(step=0, state=1))
        with pytest.raises(StorageUnavailable):
            await first
        rows = await container.database.read(steps.step_rows, agent.number, episode.number)
        assert [(row.step, row.state, row.action) for row in rows] == [(0, 1, taken.action)]
        assert container.cache.episodes[episode.id].length == 1

    run_service(tmp_path, use, busy_seconds=0.05)


def test_memory_is_not_ahead_of_the_disk_while_a_commit_is_under_way(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        episode = await new_episode(container, agent)
        with held_in(tmp_path):
            step = asyncio.create_task(container.stepping.step(episode.id, Step(step=0, state=1)))
            await asyncio.sleep(0.2)
            assert (episode.length, episode.action) == (0, -1)
            assert not step.done()
        assert (await step).step == 0
        assert episode.length == 1

    run_service(tmp_path, use)


def test_starts_side_by_side_get_consecutive_numbers(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        started = await asyncio.gather(*(new_episode(container, agent) for _ in range(40)))
        assert sorted(episode.number for episode in started) == list(range(40))
        assert (agent.next_episode, agent.running) == (40, 40)
        row = await container.database.read(agents.agent_row, agent.number)
        assert (row.episodes, row.running) == (40, 40)

    run_service(tmp_path, use)


def test_a_change_decided_from_an_outdated_state_is_decided_again(tmp_path):
    """Another process labels the episode; this one notices and answers for what is there now."""

    async def use(container):
        agent = await new_agent(container)
        episode = await finished_episode(container, agent)
        execute(tmp_path, "UPDATE episodes SET version = version + 1, status = 'abandoned'")
        with pytest.raises(Conflict) as refused:
            await container.labels.give(episode.id, GivenLabel(1, "Ada"))
        assert refused.value.code == "episode_abandoned"
        log = await container.database.read(events.event_rows, agent.number, 0, 100)
        assert [event.kind for event in log if event.episode is not None] == ["finished"]
        execute(tmp_path, "UPDATE episodes SET version = version + 1, status = 'awaiting_label'")
        container.cache.forget_episode(container.cache.episodes[episode.id])
        labelled = await container.labels.give(episode.id, GivenLabel(1, "Ada"))
        assert (labelled.status, labelled.label) == (EpisodeStatus.labelled, 1)

    run_service(tmp_path, use)


def test_a_step_that_another_process_took_is_noticed(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        episode = await new_episode(container, agent)
        insert = "INSERT INTO steps VALUES (:agent, :episode, 0, 2, 1, NULL)"
        execute(tmp_path, insert, agent=agent.number, episode=episode.number)
        with pytest.raises(Conflict) as refused:  # it was taken in another state
            await container.stepping.step(episode.id, Step(step=0, state=1))
        assert refused.value.code == "step_conflict"
        taken = await container.stepping.step(episode.id, Step(step=0, state=2))
        assert taken.action == 1
        assert (await container.stepping.step(episode.id, Step(step=1, state=2))).step == 1

    run_service(tmp_path, use)


def test_an_unending_race_is_given_up(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        episode = await finished_episode(container, agent)
        attempts = 0

        def always_outdated(hosted):
            nonlocal attempts
            attempts += 1
            update = set_label(hosted, 0, GivenLabel(1))
            execute(tmp_path, "UPDATE episodes SET version = version + 1")
            return update

        with pytest.raises(Stale):
            await container.commits.change(episode.id, always_outdated)
        assert attempts == 3
        stored = await container.database.read(
            episodes.stored_episode, agent.number, episode.number
        )
        assert stored.row.label is None
        assert stored.history == []

    run_service(tmp_path, use)


def test_events_are_numbered_without_gaps_and_published_in_order(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        listener = Listener(agent.number)
        container.events.add(listener)
        known = agent.last_event
        started = await asyncio.gather(*(new_episode(container, agent) for _ in range(10)))
        await asyncio.gather(*(container.lifecycle.finish(e.id, 3, None) for e in started))
        heard = [listener.events.get_nowait() for _ in range(listener.events.qsize())]
        finished = [event.number for event in heard if event.kind == "finished"]
        assert finished == list(range(known + 1, known + 11))
        log = await container.database.read(events.event_rows, agent.number, known, 100)
        assert [event for event in log if event.kind == "finished"] == [
            event for event in heard if event.kind == "finished"
        ]

    run_service(tmp_path, use)
