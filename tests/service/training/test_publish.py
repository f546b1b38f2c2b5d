"""Publishing a learning result: on disk first, then in force, then told to listeners."""

import pytest

from app.errors import Stale
from app.metrics import Metrics
from app.planning.policies.registry import pack_policy
from app.planning.policies.uniform import UniformPolicy
from app.service.agents.hosted_agent import EXPLOIT
from app.service.runtime.event_bus import Listener
from app.service.training.jobs import LearningResult
from app.service.training.publish import Publisher
from app.storage.queries import agents, policies
from app.storage.rows import EventKind, PlanRow
from tests.support.databases import execute
from tests.support.service import new_agent, new_episode, run_service


def plan(agent, version, episode):
    packed = pack_policy(UniformPolicy(agent.actions.size))
    return PlanRow(agent.number, version, episode, packed, "none", 0.5, 0.9, 0.4, 1, 0.0, True)


def result(agent, version, *episodes):
    plans = [plan(agent, version, episode) for episode in episodes]
    return LearningResult(agent.number, version, version, plans, seconds={"plan": 0.1})


def publisher_of(container):
    return Publisher(container.database, container.events, Metrics())


def test_a_policy_is_stored_put_in_force_and_published(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        listener = Listener(agent.number)
        container.events.add(listener)
        version = agent.version + 7
        await publisher_of(container).publish(agent, result(agent, version, 0, 1, EXPLOIT), version)
        assert (agent.version, agent.learned) == (version, version)
        assert set(agent.plans) == {0, 1, EXPLOIT}
        event = listener.events.get_nowait()
        assert (event.kind, event.policy_version) == (EventKind.policy, version)
        stored = await container.database.read(policies.version_row, agent.number, version)
        assert (stored.value, stored.gap, stored.predicted) == (0.5, pytest.approx(0.5), 0.5)
        row = await container.database.read(agents.agent_row, agent.number)
        assert (row.policy_version, row.learned) == (version, version)

    run_service(tmp_path, use)


def test_a_result_without_plans_leaves_the_policy_in_force(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        before, plans = agent.version, agent.plans
        nothing = LearningResult(agent.number, 9, before)
        await publisher_of(container).publish(agent, nothing, 9)
        assert (agent.version, agent.plans, agent.learned) == (before, plans, 9)
        row = await container.database.read(agents.agent_row, agent.number)
        assert (row.policy_version, row.learned) == (before, 9)

    run_service(tmp_path, use)


def test_a_policy_that_another_process_replaced_is_refused_and_memory_stays(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        execute(tmp_path, "UPDATE agents SET policy_version = policy_version + 1")
        before, plans = agent.version, agent.plans
        with pytest.raises(Stale):
            await publisher_of(container).publish(agent, result(agent, before + 5, 0), before + 5)
        assert (agent.version, agent.plans) == (before, plans)
        assert await container.database.read(policies.plan_rows, agent.number, before + 5) == []

    run_service(tmp_path, use)


def test_old_plans_stay_while_a_running_episode_is_pinned_to_them(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        publisher, first = publisher_of(container), agent.version + 5
        await publisher.publish(agent, result(agent, first, 0, 1), first)
        episode = await new_episode(container, agent)
        pinned = episode.plan.episode
        await publisher.publish(agent, result(agent, first + 1, 0, 1), first + 1)
        kept = await container.database.read(policies.plan_rows, agent.number, first)
        assert [row.episode for row in kept] == [pinned]
        await container.lifecycle.abandon(episode.id)
        await publisher.publish(agent, result(agent, first + 2, 0, 1), first + 2)
        assert await container.database.read(policies.plan_rows, agent.number, first) == []

    run_service(tmp_path, use)
