"""Learning jobs and their results: what crosses between the server and its learning processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.storage.rows import JsonObject, PlanRow


@dataclass(frozen=True)
class LearningJob:
    """Learn everything new, and plan for the episodes ``first`` .. ``first + count - 1``.

    With ``more`` it plans even if there is nothing new to learn, because parallel episodes should
    have different plans. ``version`` is that of the policy in force, -1 before the first.
    """

    agent: int
    first: int
    count: int
    version: int
    more: bool = False
    cells: int = 0  # horizon x states x actions


@dataclass(frozen=True)
class RankingJob:
    """Compute how much the label of each of these finished episodes would teach."""

    agent: int
    episodes: tuple[int, ...]
    cells: int = 0


@dataclass(frozen=True)
class RebuildJob:
    """Make the plans of an earlier policy version again, from the log up to it."""

    agent: int
    version: int
    cells: int = 0


Job = LearningJob | RankingJob | RebuildJob


@dataclass(frozen=True)
class LearningResult:
    """What a learning job found. Without ``plans`` the policy in force stays."""

    agent: int
    learned: int  # the last event learned from
    version: int  # of the policy that it leaves in force
    plans: Sequence[PlanRow] = ()
    episodes: int = 0
    labels: int = 0
    insight: bytes | None = None
    snapshot: bytes | None = None
    notes: JsonObject = field(default_factory=dict)  # see `notes_of`
    seconds: dict[str, float] = field(default_factory=dict)  # read, fit, plan, pack
    map: bytes | None = None  # of what the agent believes, at some versions


JobResult = LearningResult | list[float] | list[PlanRow]
"""What a job gives: what was learned, the information of each episode's label, or plans."""
