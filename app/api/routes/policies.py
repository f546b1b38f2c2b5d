"""Policy versions: list them, pin one, let it go."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from app.api.http.auth import AgentReader, Operator
from app.api.http.dependencies import Pins, PolicyViews
from app.api.http.json_body import JsonRoute
from app.api.http.parameters import AgentId, Cursor, Limit, read_cursor
from app.api.openapi.responses import declared
from app.wire.policies import PolicyVersionPage, PolicyVersionView

router = APIRouter(prefix="/v1/agents/{agent}", tags=["insight"], route_class=JsonRoute)

Version = Annotated[int, Path(ge=0, lt=2**31, description="of a policy", examples=[83])]


@router.get("/policies", summary="List policy versions", responses=declared(404, 422, 503))
async def list_policies(
    agent: AgentId, policies: PolicyViews, _: AgentReader, limit: Limit = 50, cursor: Cursor = None
) -> PolicyVersionPage:
    """Every policy version, the newest first, with its labels, prediction and evaluation."""
    before = None if cursor is None else read_cursor(cursor, 1)[0]
    return await policies.page(agent, before, limit)


@router.post(
    "/policies/{version}/pin", summary="Pin a policy version", responses=declared(404, 422, 503)
)
async def pin_policy(
    agent: AgentId, version: Version, pins: Pins, policies: PolicyViews, _: Operator
) -> PolicyVersionView:
    """Keep a version in force while the agent keeps learning: new episodes start on it.

    A version whose plans were dropped is rebuilt from the log, which may take as long as learning
    it did.
    """
    await pins.pin(agent, version)
    return await policies.read(agent, version)


@router.delete("/pin", status_code=204, summary="Unpin", responses=declared(404, 503))
async def unpin_policy(agent: AgentId, pins: Pins, _: Operator) -> None:
    """New episodes start on the newest policy again. Without a pin this changes nothing."""
    await pins.unpin(agent)
