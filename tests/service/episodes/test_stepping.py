"""Many steps in one call: each entry has its own result, and all are stored with one commit."""

from app.errors import Conflict, InvalidValue, NotFound
from app.service.access.visibility import Visibility
from app.service.episodes.stepping import Stepping, StepTaken
from app.storage.queries import steps
from app.wire.steps import EpisodeStep
from tests.support.service import new_agent, new_episode, run_service


def entry(episode, state, step=None):
    return EpisodeStep(episode=episode, state=state, step=step)


async def step_many(container, entries, **options):
    assert isinstance(container.stepping, Stepping)
    results = await container.stepping.step_many(entries, **options)
    assert [request for request, _ in results] == entries
    return [result for _, result in results]


def test_every_entry_has_its_own_result_or_error(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        first, second = [await new_episode(container, agent) for _ in range(2)]
        commits = container.database.writer.commits
        results = await step_many(
            container,
            [
                entry(first.id, 1),
                entry("eps_0000000000_0", 1),
                entry(second.id, 99),
                entry(second.id, 2, step=5),
            ],
        )
        assert isinstance(results[0], StepTaken)
        kinds = [type(result) for result in results[1:]]
        assert kinds == [NotFound, InvalidValue, Conflict]
        assert container.database.writer.commits == commits + 1
        rows = await container.database.read(steps.step_rows, agent.number, first.number)
        assert [(row.step, row.state, row.action) for row in rows] == [(0, 1, results[0].action)]
        assert second.length == 0

    run_service(tmp_path, use)


def test_entries_of_one_episode_are_taken_in_their_order(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        episode = await new_episode(container, agent)
        results = await step_many(container, [entry(episode.id, state) for state in (1, 2, 0)])
        assert [result.step for result in results] == [0, 1, 2]
        assert [result.last for result in results] == [False, False, True]
        rows = await container.database.read(steps.step_rows, agent.number, episode.number)
        assert [row.state for row in rows] == [1, 2, 0]

    run_service(tmp_path, use)


def test_a_retry_in_a_batch_is_answered_and_not_stored_again(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        episode = await new_episode(container, agent)
        (first,) = await step_many(container, [entry(episode.id, 1, step=0)])
        (again,) = await step_many(container, [entry(episode.id, 1, step=0)])
        assert (again.step, again.action) == (first.step, first.action)
        rows = await container.database.read(steps.step_rows, agent.number, episode.number)
        assert len(rows) == 1

    run_service(tmp_path, use)


def test_an_episode_that_the_key_does_not_see_is_not_found(tmp_path):
    async def use(container):
        seen, hidden = [await new_agent(container) for _ in range(2)]
        mine, other = [await new_episode(container, agent) for agent in (seen, hidden)]
        sees = Visibility(frozenset({seen.number}))
        results = await step_many(container, [entry(other.id, 1), entry(mine.id, 1)], sees=sees)
        assert isinstance(results[0], NotFound)
        assert isinstance(results[1], StepTaken)
        assert other.length == 0

    run_service(tmp_path, use)
