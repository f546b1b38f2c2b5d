"""A robot labels only the episodes that its own key started."""

import pytest

from app.errors import Forbidden, NotFound
from app.service.access.keys import Caller, Role
from app.service.access.ownership import Ownership
from app.service.access.visibility import Visibility
from tests.support.service import new_agent, new_episode, run_service


def test_only_a_robots_own_episodes_pass(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        episode = await new_episode(container, agent, started_by="key_1")
        unknown = f"{episode.id[: -len('_0')]}_99"
        ownership = Ownership(container.database)
        robot = Caller("key_1", "arm", Role.robot)
        await ownership.check_may_label(robot, episode.id)
        await ownership.check_may_label(Caller("key_2", "Ada", Role.labeller), episode.id)
        with pytest.raises(Forbidden, match="role labeller"):
            await ownership.check_may_label(Caller("key_2", "leg", Role.robot), episode.id)
        with pytest.raises(NotFound):
            await ownership.check_may_label(robot, unknown)
        blind = Caller("key_1", "arm", Role.robot, Visibility(frozenset({agent.number + 1})))
        with pytest.raises(NotFound):
            await ownership.check_may_label(blind, episode.id)

    run_service(tmp_path, use)
