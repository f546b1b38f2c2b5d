"""Ownership: a robot labels the episodes that its own key started or imported."""

from __future__ import annotations

from app.errors import Forbidden, NotFound
from app.service.access.keys import Caller, Role
from app.service.runtime.ids import read_episode_id
from app.storage.database import Database
from app.storage.queries import episodes


class Ownership:
    """Checks whose episode it is."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def check_may_label(self, caller: Caller, episode: str) -> None:
        """Refuse a robot's label of an episode that another key started."""
        if caller.role is not Role.robot:
            return
        caller.sees.check_episode(episode)
        agent, number = read_episode_id(episode)
        started_by = await self._database.read(episodes.started_by, agent, number)
        if started_by is None:
            raise NotFound("episode", episode)
        if started_by != caller.key:
            raise Forbidden(
                "A key of the role robot labels only the episodes that it started itself. "
                "Use a key of the role labeller for others."
            )
