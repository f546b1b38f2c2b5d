"""Warnings: what looks like a mistake, with a code and what to do."""

import logging

import pytest

from app.service.agents.pace import Pace
from app.service.agents.warnings import MANY_LABELS, Warnings, find_warnings
from app.service.labelling.slots import GivenLabel
from app.storage.database import now_milliseconds
from app.storage.queries import agents, suspicions
from app.storage.queries.suspicions import Suspicions
from app.wire.steps import Step
from tests.support.service import finished_episode, new_agent, new_episode, run_service

HOUR = 3_600_000


def codes(warnings):
    return [warning.code for warning in warnings]


async def warnings_of(container, agent, now=None):
    row = await container.database.read(agents.agent_row, agent.number)
    found = await container.database.read(suspicions.suspicions_of, agent.number, agent.horizon)
    return find_warnings(row, agent.specification, agent.pace, found, now)


async def label(container, agent, labels):
    for given in labels:
        episode = await finished_episode(container, agent)
        await container.labels.give(episode.id, GivenLabel(given))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([0] * MANY_LABELS, ["no_good_label"]),
        ([1] * MANY_LABELS, ["label_always_the_same"]),
        ([0] * (MANY_LABELS - 1), []),
        ([0] * MANY_LABELS + [1], []),
    ],
)
def test_labels_that_are_all_the_same(tmp_path, labels, expected):
    async def use(container):
        agent = await new_agent(container)
        await label(container, agent, labels)
        assert codes(await warnings_of(container, agent)) == expected

    run_service(tmp_path, use)


def test_episodes_that_never_finish(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        await new_episode(container, agent)
        now = now_milliseconds()
        assert await warnings_of(container, agent, now) == []
        (warning,) = await warnings_of(container, agent, now + 2 * HOUR)
        assert warning.code == "episodes_never_finished"
        assert "running_timeout" in warning.detail
        agent.pace.episode.record(3600.0)  # an episode of an hour is usual here
        assert await warnings_of(container, agent, now + 2 * HOUR) == []

    run_service(tmp_path, use)


async def cut_off(container, agent, states, final):
    """An episode that was cut off before the horizon."""
    episode = await new_episode(container, agent)
    for step, state in enumerate(states):
        await container.stepping.step(episode.id, Step(step=step, state=state))
    await container.lifecycle.finish(episode.id, final, False)


def test_real_ends_that_are_called_cut_off(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        for _ in range(9):
            await cut_off(container, agent, [0, 1], 3)
        assert await warnings_of(container, agent) == []
        await cut_off(container, agent, [0], 3)
        (warning,) = await warnings_of(container, agent)
        assert warning.code == "terminated_false_at_an_end"
        assert "10 of the newest episodes" in warning.detail
        await cut_off(container, agent, [3, 0], 2)  # so 3 is a state like any other
        assert await warnings_of(container, agent) == []

    run_service(tmp_path, use)


def test_learning_that_holds_up_play():
    class Row:
        notes, labelled, good = {"warnings": []}, 0, 0

    class Specification:
        default_label = label_timeout = None

    pace = Pace()
    pace.episode.record(0.5)
    pace.wait.record_all([2.0] * 4)
    assert find_warnings(Row, Specification, pace) == []  # a few starts say little
    pace.wait.record(2.0)
    (warning,) = find_warnings(Row, Specification, pace)
    assert warning.code == "learning_holds_up_play"
    assert '"wait": "adaptive"' in warning.detail
    pace.episode.record_all([9.0] * 9)
    assert find_warnings(Row, Specification, pace) == []


def test_a_new_warning_is_logged_once(tmp_path, caplog):
    async def use(container):
        agent = await new_agent(container, default_label=0)
        review = Warnings(container.database).review
        with caplog.at_level(logging.WARNING):
            for _ in range(5):
                await review(agent)
        found = [r for r in caplog.records if getattr(r, "code", "") != ""]
        assert {record.code for record in found} == {"default_label_without_timeout"}
        assert len(found) <= 2  # the housekeeping of the service may have logged it too
        assert found[0].agent == agent.id

    run_service(tmp_path, use)


def test_notes_of_an_older_database_have_no_codes():
    class Row:
        notes, labelled, good = {"warnings": ["Features are unused."]}, 0, 0

    class Specification:
        default_label = label_timeout = None

    (warning,) = find_warnings(Row, Specification, None, Suspicions(None, 0))
    assert warning.detail == "Features are unused."
