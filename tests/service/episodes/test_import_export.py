"""Import and export: what was exported is taken back, all or nothing."""

import json

import pytest

from app.errors import InvalidValue
from app.service.episodes.import_export import LoggedEpisode
from app.service.labelling.slots import GivenLabel
from app.storage.queries import agents, events
from app.storage.rows import EpisodeStatus
from tests.support.service import finished_episode, learned, new_agent, new_episode, run_service


async def lines(container, agent):
    return [json.loads(line) async for line in container.import_export.lines(agent)]


def test_an_export_can_be_imported_again(tmp_path):
    async def use(container):
        agent, copy = await new_agent(container), await new_agent(container)
        labelled = await finished_episode(container, agent, external_id="run-1")
        await container.labels.give(labelled.id, GivenLabel(1, "Ada", "clean"))
        waiting = await finished_episode(container, agent)
        abandoned = await new_episode(container, agent)
        await container.lifecycle.abandon(abandoned.id)
        await new_episode(container, agent)  # still runs: not exported
        exported = await lines(container, agent)
        assert [line["number"] for line in exported] == [labelled.number, waiting.number, 2]
        logged = [
            LoggedEpisode(
                states=line["states"],
                actions=line["actions"],
                labels=[GivenLabel(**one) for one in line["verdicts"]],
                settled=line["label"] is not None,
                terminated=line["terminated"],
                status=EpisodeStatus.abandoned if line["status"] == "abandoned" else None,
                external_id=line["external_id"],
            )
            for line in exported
        ]
        numbers = await container.import_export.import_episodes(copy, logged)
        assert list(numbers) == [0, 1, 2]
        imported = await lines(container, copy)
        same = ("states", "actions", "terminated", "label", "status", "verdicts", "external_id")
        for before, after in zip(exported, imported, strict=True):
            assert {name: before[name] for name in same} == {name: after[name] for name in same}
        row = await container.database.read(agents.agent_row, copy.number)
        counts = (row.episodes, row.labelled, row.good, row.awaiting_label, row.abandoned)
        assert counts == (3, 1, 1, 1, 1)
        await learned(container, copy)
        assert not copy.behind

    run_service(tmp_path, use)


def test_one_bad_episode_imports_nothing(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        before = agent.last_event
        good, bad = LoggedEpisode([0, 1], [0]), LoggedEpisode([0, 9], [0])
        with pytest.raises(InvalidValue) as refused:
            await container.import_export.import_episodes(agent, [good, bad])
        assert refused.value.field == "trajectories.1.states.1"
        assert agent.next_episode == 0
        log = await container.database.read(events.event_rows, agent.number, before, 10)
        assert log == []

    run_service(tmp_path, use)
