"""The labelling queue: each episode goes to one holder, and nobody judges an episode twice."""

import pytest

from app.errors import Conflict
from app.service.labelling.queue import LabelQueue
from app.service.labelling.slots import CannotTell, GivenLabel
from app.storage.rows import EpisodeStatus
from tests.support.service import finished_episode, learned, new_agent, run_service


async def waiting(container, count, **changes):
    """A queue with some episodes that wait for a label."""
    assert isinstance(container.queue, LabelQueue)
    agent = await new_agent(container, **changes)
    episodes = [await finished_episode(container, agent) for _ in range(count)]
    await learned(container, agent)
    return container.queue, frozenset({agent.number}), episodes


def test_two_holders_never_get_the_same_episode(tmp_path):
    async def use(container):
        queue, chosen, episodes = await waiting(container, 2)
        first = await queue.next("Ada", "tab a", chosen, "Ada")
        second = await queue.next("Ben", "tab b", chosen, "Ben")
        assert {first.id, second.id} == {episode.id for episode in episodes}
        assert await queue.next("Cid", "tab c", chosen, "Cid") is None
        with pytest.raises(Conflict) as refused:
            await queue.judge("Ben", first.id, GivenLabel(1, "Ben"))
        assert refused.value.code == "leased"
        queue.leases.release_all("Ada")
        assert (await queue.next("Cid", "tab c", chosen, "Cid")).id == first.id

    run_service(tmp_path, use)


def test_a_labeller_judges_an_episode_of_several_labels_once(tmp_path):
    async def use(container):
        queue, chosen, (episode,) = await waiting(container, 1, labels_wanted=2)
        assert (await queue.next("Ada", "a", chosen, "Ada")).id == episode.id
        await queue.judge("Ada", episode.id, GivenLabel(1, "Ada"))
        assert await queue.next("Ada", "a", chosen, "Ada") is None
        assert await queue.left(chosen, "Ada") == 0
        assert await queue.left(chosen, "Ben") == 1
        await queue.judge("Ben", episode.id, GivenLabel(1, "Ben"))
        assert (await container.cache.episode(episode.id)).label == 1

    run_service(tmp_path, use)


def test_a_skipped_episode_comes_back_after_the_skip_is_undone(tmp_path):
    async def use(container):
        queue, chosen, (episode,) = await waiting(container, 1)
        await queue.next("Ada", "a", chosen, "Ada")
        queue.skip("a", episode.id)
        queue.leases.release(episode.id, "Ada")
        assert queue.skips("a") == 1
        assert await queue.next("Ada", "a", chosen, "Ada") is None
        again = await queue.unskip("a", "Ada", episode.id, "Ada")
        assert (again.id, queue.skips("a")) == (episode.id, 0)

    run_service(tmp_path, use)


def test_an_undone_label_leads_back_to_its_episode(tmp_path):
    async def use(container):
        queue, _, (episode,) = await waiting(container, 1)
        await queue.judge("Ada", episode.id, GivenLabel(0, "Ada"))
        back = await queue.undo("Ada", episode.id, "Ada")
        assert (back.status, back.label) == (EpisodeStatus.awaiting_label, None)
        assert not queue.leases.is_free(episode.id, "Ben")

    run_service(tmp_path, use)


def test_a_correction_may_say_that_nobody_can_tell(tmp_path):
    async def use(container):
        queue, _, (episode,) = await waiting(container, 1)
        await queue.judge("Ada", episode.id, GivenLabel(1, "Ada"))
        with pytest.raises(Conflict) as refused:
            await queue.reopen("Ben", episode.id, "Ben")
        assert refused.value.code == "not_labelled"
        await queue.reopen("Ada", episode.id, "Ada")
        corrected = await queue.correct("Ada", episode.id, CannotTell("Ada", "too dark"))
        assert corrected.label is None
        assert [answer.reason for answer in corrected.cannot_tell.values()] == ["too dark"]

    run_service(tmp_path, use)
