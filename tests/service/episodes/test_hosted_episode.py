"""An episode in memory: decisions change nothing, updates do, and a loaded episode is the same."""

import pytest

from app.errors import Conflict
from app.service.episodes.endings import decide_abandon, decide_end, decide_report
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.labelling.label_updates import set_label, settle, withdraw_label
from app.service.labelling.slots import GivenLabel
from app.storage.queries import episodes
from app.storage.rows import EpisodeMode, EpisodeStatus
from app.wire.steps import Step
from tests.support.service import finished_episode, new_agent, new_episode, run_service


def refused(code, call, *arguments):
    with pytest.raises(Conflict) as error:
        call(*arguments)
    assert error.value.code == code


def test_a_decision_changes_nothing_before_it_is_applied(tmp_path):
    async def use(container):
        episode = await new_episode(container, await new_agent(container))
        update = decide_end(episode, (3, 3), True, 1000)
        assert (episode.status, episode.standing.version) == (EpisodeStatus.running, 0)
        after = episode.after(update)
        assert (after.status, after.standing.version) == (EpisodeStatus.awaiting_label, 1)
        assert after.plan is None
        assert episode.plan is not None
        labelled = after.after(set_label(after, 0, GivenLabel(1, at=2000)))
        assert (labelled.status, labelled.label) == (EpisodeStatus.labelled, 1)
        assert after.label is None

    run_service(tmp_path, use)


def test_what_the_status_does_not_allow_is_a_conflict(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        over = await finished_episode(container, agent)
        refused("episode_over", decide_end, over, None, True, 0)
        refused("already_finished", decide_report, over, (1, 1), False, 0)
        labelled = over.after(set_label(over, 0, GivenLabel(1)))
        refused("episode_over", decide_abandon, labelled, 0)
        again = labelled.after(withdraw_label(labelled, 0, None, 5))
        assert (again.status, again.label) == (EpisodeStatus.awaiting_label, None)
        assert again.after(decide_abandon(again, 6)).status is EpisodeStatus.abandoned

    run_service(tmp_path, use)


def test_steps_out_of_order_are_conflicts_and_a_retry_is_recognised(tmp_path):
    async def use(container):
        episode = await new_episode(container, await new_agent(container))
        await container.stepping.step(episode.id, Step(step=0, state=1))
        assert episode.repeats(0, 1)
        assert not episode.repeats(1, 2)
        assert not episode.repeats(None, 2)
        refused("step_conflict", episode.repeats, 0, 2)
        refused("step_out_of_order", episode.repeats, 2, 1)

    run_service(tmp_path, use)


def test_two_of_three_labels_settle_an_episode_by_majority(tmp_path):
    async def use(container):
        episode = await finished_episode(container, await new_agent(container, labels_wanted=3))
        for slot, label in enumerate((1, 0)):
            given = GivenLabel(label, f"labeller {slot}")
            episode = episode.after(set_label(episode, slot, given))
        assert (episode.status, episode.label) == (EpisodeStatus.awaiting_label, None)
        settled = episode.after(settle(episode, 9))
        assert (settled.status, settled.label) == (EpisodeStatus.labelled, 0)  # a tie is bad

    run_service(tmp_path, use)


@pytest.mark.parametrize("mode", [EpisodeMode.learn, EpisodeMode.evaluate])
def test_a_loaded_episode_equals_the_one_in_memory(tmp_path, mode):
    async def use(container):
        agent = await new_agent(container, algorithm={"kind": "thompson"})
        episode = await new_episode(container, agent, mode=mode)
        for step in range(2):
            await container.stepping.step(episode.id, Step(step=step, state=step))
        stored = await container.database.read(
            episodes.stored_episode, agent.number, episode.number
        )
        loaded = HostedEpisode.from_stored(agent, stored, episode.plan)
        fields = [name for name in HostedEpisode.__slots__ if name not in ("used", "pending")]
        differing = [
            name
            for name in fields
            if name != "started" and getattr(loaded, name) != getattr(episode, name)
        ]
        assert differing == []

    run_service(tmp_path, use)
