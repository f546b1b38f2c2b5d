"""The pages for those who decide whether to trust an agent."""

from __future__ import annotations

from fastapi import APIRouter

from app.web import agent, agents

router = APIRouter()
for page in (agents, agent):
    router.include_router(page.router)
