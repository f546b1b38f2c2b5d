"""Demos: built-in tasks that the server plays itself."""

from __future__ import annotations

import logging

from fastapi import APIRouter

from app.api.http.auth import AgentCreator, ServerReader
from app.api.http.dependencies import Demos
from app.api.http.idempotency import Once
from app.api.http.json_body import JsonRoute
from app.api.openapi.responses import declared
from app.service.access.idempotency import Remember
from app.service.demo.demos import Demo, DemoJudge, DemoRequest
from app.service.demo.tasks import DEMO_TASKS, DemoTask
from app.wire.demos import DemoList, DemoTaskView, DemoView, NewDemo

log = logging.getLogger(__name__)

router = APIRouter(prefix="/v1/demos", tags=["demos"], route_class=JsonRoute)


@router.post(
    "", status_code=201, summary="Start a demo", responses=declared(404, 409, 413, 422, 503)
)
async def start_demo(body: NewDemo, demos: Demos, caller: AgentCreator, once: Once) -> DemoView:
    """Create an agent and play a built-in task with it. Delete the agent to end the demo."""
    request = DemoRequest(
        body.task, DemoJudge(body.judge), body.episodes, body.evaluations, body.seed
    )

    async def start(remember: Remember | None) -> DemoView:
        demo = await demos.start(request, remember)
        fields = {"agent": demo.agent.id, "task": body.task, "by": caller.key}
        log.info("demo started", extra=fields)
        return _view(demo)

    async def started_before(agent: str) -> DemoView:
        return _view(demos.find(agent))

    return await once.run(caller, start, started_before)


@router.get("", summary="List demos", responses=declared(503))
async def list_demos(demos: Demos, _: ServerReader) -> DemoList:
    """The tasks that a demo can play, and the demos since the server started."""
    return DemoList(
        tasks=[_task_view(task) for task in DEMO_TASKS.values()],
        items=[_view(demo) for demo in demos.all()],
    )


def _view(demo: Demo) -> DemoView:
    return DemoView(
        agent=demo.agent.id,
        task=_task_view(demo.task),
        judge=demo.request.judge.value,
        running=demo.running,
        episodes=demo.episodes,
        played=demo.played,
        evaluations=demo.evaluations,
        evaluated=demo.evaluated,
        random_success=demo.random_success,
        best_success=demo.best_success,
    )


def _task_view(task: DemoTask) -> DemoTaskView:
    return DemoTaskView(name=task.name, title=task.title, about=task.about)
