"""A plan that is not loaded in time: the fallback action is played until it is there."""

import asyncio
import time

from app.service.runtime import cache as cache_module
from app.wire.steps import Step
from tests.support.service import new_agent, new_episode, run_service

LIMITS = {"fallback_action": 1, "deadline_ms": 30, "allowed": [{"state": 2, "actions": [1]}]}


def test_the_fallback_action_is_played_until_the_plan_is_loaded(tmp_path, monkeypatch):
    loads = []
    whole = cache_module.hosted_plan

    def slow(row):
        loads.append(row)
        time.sleep(0.5)
        return whole(row)

    async def use(container):
        agent = await new_agent(container, algorithm={"kind": "thompson"}, **LIMITS)
        episode = await new_episode(container, agent)
        assert episode.plan.actor is None
        first = await container.stepping.step(episode.id, Step(state=0, step=0))
        container.cache.forget_agent(agent.number)  # as after a restart
        agent = await container.cache.agent(agent.number)
        agent.restore_plans({})  # the plans in force are others by now
        monkeypatch.setattr(cache_module, "hosted_plan", slow)
        late = await container.stepping.step(episode.id, Step(state=1, step=1))
        assert late.action == 1
        assert late.episode.plan.actor == "fallback"
        while not loads:
            await asyncio.sleep(0.02)
        await asyncio.sleep(1.0)
        last = await container.stepping.step(episode.id, Step(state=2, step=2))
        assert len(loads) == 1  # what came late was kept
        view = await container.views.episodes.read(episode.id, True)
        assert [step.actor for step in view.steps] == ["policy", "fallback", "policy"]
        assert [step.action for step in view.steps] == [first.action, 1, last.action]

    run_service(tmp_path, use)
