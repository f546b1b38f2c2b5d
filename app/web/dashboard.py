"""The pages for those who decide whether to trust an agent."""

from __future__ import annotations

from fastapi import APIRouter

from app.web import agent, agents, episode, labellers

router = APIRouter()
for page in (agents, agent, episode, labellers):
    router.include_router(page.router)
