"""What must hold afterwards: whole files, consistent counters, models equal to the log's."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.agents.base import MODEL_TOLERANCE
from app.agents.insight import INSIGHT_FORMAT
from app.learning.arrays import Arrays, unpack_arrays
from app.planning.problem import PlanBudget
from app.service.training.jobs import LearningJob
from app.service.training.worker import Worker
from app.storage.reader import Reader

_OWNED = ("steps", "episodes", "labels", "events", "plans", "versions", "knowledge", "recordings")
# Each query finds what must not exist; the text says what it would be.
_RULES = {
    "counters of agents that do not match their episodes": """
        SELECT agents.id FROM agents JOIN (
            SELECT agent, count(*) AS n, sum(status = 'running') AS running,
                   sum(status = 'awaiting_label') AS waiting, sum(status = 'labelled') AS labelled
            FROM episodes GROUP BY agent) AS found ON found.agent = agents.id
        WHERE deleted_at IS NULL AND (agents.episodes, agents.running, agents.awaiting_label,
            agents.labelled) <> (found.n, found.running, found.waiting, found.labelled)""",
    "labels that were given twice in a row": """
        SELECT agent, episode FROM (
            SELECT agent, episode, label, cannot_tell, lag(label) OVER (
                PARTITION BY agent, episode, slot ORDER BY id) AS before
            FROM labels) WHERE label = before AND NOT cannot_tell""",
    "label counts that do not match the label history": """
        SELECT episodes.agent, number FROM episodes
        WHERE status = 'labelled' AND label <> (
            SELECT label FROM labels WHERE labels.agent = episodes.agent
            AND labels.episode = number ORDER BY id DESC LIMIT 1)""",
    "gaps in an agent's log": """
        SELECT agents.id FROM events JOIN agents ON agents.id = events.agent GROUP BY agents.id
        HAVING count(*) <> max(number) OR max(number) <> max(last_event)""",
    "gaps in the steps of an episode": """
        SELECT agent, episode FROM steps GROUP BY agent, episode
        HAVING count(*) <> max(step) + 1""",
    "steps without an episode": """
        SELECT steps.agent, episode FROM steps LEFT JOIN episodes
        ON episodes.agent = steps.agent AND number = episode WHERE number IS NULL""",
} | {
    f"rows of {table} without an agent": f"""
        SELECT DISTINCT agent FROM {table} WHERE agent NOT IN (SELECT id FROM agents)"""
    for table in _OWNED
}


def find_broken_rules(path: Path) -> list[str]:
    """Check the file, and the rules that its rows must keep."""
    with closing(sqlite3.connect(path)) as database:
        answers = [row[0] for row in database.execute("PRAGMA integrity_check")]
        broken = [] if answers == ["ok"] else [f"integrity_check: {answers[:3]}"]
        for rule, query in _RULES.items():
            found = database.execute(query).fetchall()
            if found:
                broken.append(f"{rule}: {found[:3]}")
    return broken


def find_different_models(path: Path, scratch: Path) -> tuple[int, list[str]]:
    """Compare every model with the one rebuilt from the log alone; how many, and what differs."""
    _copy_without_models(path, scratch)
    with closing(sqlite3.connect(path)) as database:
        agents = [row[0] for row in database.execute("SELECT id FROM agents")]
    known, rebuilt = _models(path, agents), _models(scratch, agents)
    wrong = [
        f"agent {agent}: {name} differs by {difference:.2g}"
        for agent in agents
        for name, difference in _differences(known[agent], rebuilt[agent]).items()
        if difference > MODEL_TOLERANCE
    ]
    return len(agents), wrong


def _copy_without_models(path: Path, target: Path) -> None:
    with (
        closing(sqlite3.connect(path)) as source,
        closing(sqlite3.connect(target)) as copy,
        copy,
    ):
        source.backup(copy)
        copy.execute("DELETE FROM knowledge")
        copy.execute("DELETE FROM plans")


def _models(path: Path, agents: list[int]) -> dict[int, Arrays]:
    reader = Reader(f"sqlite:///{path}")
    try:
        worker = Worker(reader, PlanBudget())
        found = {}
        for agent in agents:
            result = worker.learn(LearningJob(agent, first=0, count=1, version=-1))
            assert result.insight is not None
            found[agent] = unpack_arrays(result.insight, "insight", INSIGHT_FORMAT)
        return found
    finally:
        reader.close()


def _differences(one: Arrays, other: Arrays) -> dict[str, float]:
    """How far the arrays of two models are apart, relative to 1 + the largest number."""
    if one.keys() != other.keys():
        return {"the set of arrays": np.inf}
    return {name: _distance(one[name], other[name]) for name in one}


def _distance(one: NDArray[Any], other: NDArray[Any]) -> float:
    if one.shape != other.shape or one.dtype.kind != other.dtype.kind:
        return np.inf
    if one.dtype.kind not in "fiub":
        return 0.0 if np.array_equal(one, other) else np.inf
    if one.size == 0:
        return 0.0
    first, second = one.astype(float), other.astype(float)
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    gap = np.where(same, 0.0, np.abs(first - second))
    return float(gap.max() / (1.0 + np.abs(first[np.isfinite(first)]).max(initial=0.0)))


def memory_of(pid: int) -> int:
    """Resident bytes of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def files_of(pid: int) -> int:
    """Open files of a process."""
    return len(os.listdir(f"/proc/{pid}/fd"))
