"""The container: what it opened is closed again, also when a start fails half-way."""

import threading

import pytest

from app.service.access.sessions import Sessions
from app.service.agents.registry import AgentRegistry
from tests.support.service import new_agent, run_service


async def nothing(_container):
    return None


def writers():
    return [thread for thread in threading.enumerate() if thread.name == "writer"]


@pytest.mark.parametrize(
    ("part", "method"), [(Sessions, "start"), (AgentRegistry, "resume")], ids=["early", "late"]
)
def test_a_start_that_fails_half_way_leaves_no_lock_and_no_thread(
    tmp_path, monkeypatch, part, method
):
    async def broken(_self):
        raise RuntimeError("cannot start")

    with monkeypatch.context() as changed:
        changed.setattr(part, method, broken)
        with pytest.raises(RuntimeError, match="cannot start"):
            run_service(tmp_path, nothing)
    assert writers() == []
    run_service(tmp_path, nothing)  # the lock is free


def test_what_was_made_is_there_after_a_restart(tmp_path):
    async def create(container):
        agent = await new_agent(container)
        return agent.id, agent.version

    async def find(container):
        agent = await container.registry.find(made)
        return agent.id, agent.version

    made, version = run_service(tmp_path, create)
    assert run_service(tmp_path, find) == (made, version)
    assert writers() == []
