"""The pages for those who decide whether to trust an agent."""

from __future__ import annotations

from fastapi import APIRouter

from app.web.pages import agent, episode, labellers, start

router = APIRouter()
for page in (start, agent, episode, labellers):
    router.include_router(page.router)
