"""Visibility: which agents a key sees. Routes, lists, counts and pages all ask here."""

from __future__ import annotations

from dataclasses import dataclass

from app.errors import Forbidden, NotFound
from app.service.runtime.ids import read_agent_id, read_episode_id


@dataclass(frozen=True, slots=True)
class Visibility:
    """The agents that a key sees, by number; None for all of them.

    An agent outside is answered like one that does not exist.
    """

    agents: frozenset[int] | None = None

    @property
    def is_bound(self) -> bool:
        """Whether the key is bound to some agents."""
        return self.agents is not None

    def check_agent(self, id_: str) -> None:
        """Refuse the id of an agent that the key does not see."""
        if self.agents is not None and read_agent_id(id_) not in self.agents:
            raise NotFound("agent", id_)

    def check_episode(self, id_: str) -> None:
        """Refuse the id of an episode whose agent the key does not see."""
        if self.agents is not None and read_episode_id(id_)[0] not in self.agents:
            raise NotFound("episode", id_)

    def check_unbound(self) -> None:
        """Refuse what concerns the whole server."""
        if self.is_bound:
            raise Forbidden(
                "This key is bound to some agents, and this concerns the whole server. "
                "Use a key without `agents`."
            )

    def choose(self, agent: str | None) -> frozenset[int] | None:
        """The agents that a request is about: the one it names, else all that the key sees."""
        if agent is None:
            return self.agents
        self.check_agent(agent)
        return frozenset({read_agent_id(agent)})


EVERY_AGENT = Visibility()
