"""Agents as clients and the start page see them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import TypeAdapter, ValidationError

from app.errors import InvalidValue, NotFound
from app.service.access.visibility import Visibility
from app.service.agents.hosted_agent import HostedAgent, LearningState
from app.service.agents.pace import Pace
from app.service.agents.specification import read_specification, with_default_features
from app.service.agents.warnings import find_warnings
from app.service.runtime.cache import Cache
from app.service.runtime.ids import agent_id, read_agent_id
from app.service.runtime.times import moment
from app.service.views.evaluations import read_evaluations
from app.service.views.shortened import shorten
from app.storage.database import Database, ReadConnection
from app.storage.queries import agents as agent_queries
from app.storage.queries.agents import AgentSet
from app.storage.queries.suspicions import Suspicions, suspicions_of
from app.storage.rows import AgentRow
from app.wire.agents import (
    DEFAULT_KIND,
    AgentPage,
    AgentView,
    EpisodeCounts,
    PlanView,
    Specification,
    TimingView,
)
from app.wire.evaluations import EvaluationView
from app.wire.guidelines import Examples, GuidelinesPage, GuidelinesView
from app.wire.specification.display import Display

log = logging.getLogger(__name__)

_MOST_WAITING = 100  # agents to choose from at the desk
CURVE_PARTS = agent_queries.SPARK_POINTS
_DISPLAY: TypeAdapter[Display] = TypeAdapter(Display)
_SPECIFICATION = tuple(Specification.model_fields)


@dataclass(frozen=True)
class AgentCard:
    """An agent on the start page. ``curve`` has (part, labels, good labels) of its episodes."""

    id: str
    name: str
    kind: str
    paused: bool
    is_demo: bool
    success: float | None
    labelled: int
    waiting: int
    running: int
    learning: LearningState
    error: str | None
    curve: Sequence[tuple[int, int, int]]


class AgentViews:
    """Reads agents for the API and for the start page."""

    def __init__(self, database: Database, cache: Cache) -> None:
        self._database = database
        self._cache = cache
        self._damaged: set[int] = set()  # agents whose damage is in the log

    async def read(self, agent: str) -> AgentView:
        """One agent by its id. It is loaded, because its plan is part of the view."""
        hosted = await self._cache.agent(read_agent_id(agent))
        row, evaluation, suspicions = await self._database.read(
            _read_agent, hosted.number, hosted.horizon
        )
        if row is None:
            raise NotFound("agent", agent)
        return await asyncio.to_thread(agent_view, row, hosted, evaluation, suspicions)

    async def page(self, sees: Visibility, after: int, limit: int) -> AgentPage:
        """Agents in the order of their creation, after a position; long lists are shortened."""
        rows, evaluations = await self._database.read(_read_page, sees.agents, after, limit + 1)
        return await asyncio.to_thread(self._page, rows, evaluations, limit)

    def _page(
        self, rows: Sequence[AgentRow], evaluations: dict[int, EvaluationView], limit: int
    ) -> AgentPage:
        views = [self._view(row, evaluations.get(row.id)) for row in rows[:limit]]
        return AgentPage(
            items=[view for view in views if view is not None],
            next=str(rows[limit - 1].position) if len(rows) > limit else None,
        )

    def _view(self, row: AgentRow, evaluation: EvaluationView | None) -> AgentView | None:
        """The view of an agent in a list; None, and one line in the log, if it is damaged."""
        try:
            return shortened_view(row, self._cache.agents.get(row.id), evaluation)
        except InvalidValue as error:
            if row.id not in self._damaged:
                self._damaged.add(row.id)
                fields = {"agent": agent_id(row.id), "reason": str(error)}
                log.error("the specification of an agent is damaged", extra=fields)
            return None

    async def guidelines(self, agent: str) -> GuidelinesPage:
        """Every version of an agent's question and guidelines."""
        hosted = await self._cache.agent(read_agent_id(agent))
        rows = await self._database.read(agent_queries.guidelines_rows, hosted.number)
        return GuidelinesPage(
            items=[
                GuidelinesView(
                    version=row.version,
                    question=row.question,
                    guidelines=row.guidelines,
                    at=moment(row.at),
                )
                for row in rows
            ]
        )

    async def waiting(self, sees: Visibility) -> list[tuple[str, str, int]]:
        """(id, name, episodes that wait) of the agents with the most episodes that wait."""
        found = await self._database.read(agent_queries.waiting_counts, sees.agents, _MOST_WAITING)
        return [(agent_id(number), name, count) for number, name, count in found]

    async def name(self, agent: str) -> str:
        """The name of an agent."""
        row = await self._database.read(agent_queries.agent_row, read_agent_id(agent))
        if row is None:
            raise NotFound("agent", agent)
        name: str = row.name
        return name

    async def cards(
        self, sees: Visibility, offset: int, limit: int, name: str
    ) -> tuple[list[AgentCard], int]:
        """The newest agents whose name contains ``name``, and how many there are."""
        rows, total, curves = await self._database.read(
            _read_cards, sees.agents, offset, limit, name
        )
        return [self._card(row, curves.get(row.id, [])) for row in rows], total

    def _card(self, row: AgentRow, curve: Sequence[tuple[int, int, int]]) -> AgentCard:
        hosted = self._cache.agents.get(row.id)
        algorithm = row.specification.get("algorithm") or {}
        learning, error = _learning(row, hosted)
        return AgentCard(
            id=agent_id(row.id),
            name=row.name,
            kind=algorithm.get("kind", DEFAULT_KIND),
            paused=row.paused,
            is_demo="demo" in (row.metadata or {}),
            success=_success(row),
            labelled=row.labelled,
            waiting=row.awaiting_label,
            running=row.running,
            learning=learning,
            error=error,
            curve=curve,
        )


def _read_agent(
    connection: ReadConnection, agent: int, horizon: int
) -> tuple[AgentRow | None, EvaluationView | None, Suspicions]:
    row = agent_queries.agent_row(connection, agent)
    evaluation = read_evaluations(connection, [agent]).get(agent)
    return row, evaluation, suspicions_of(connection, agent, horizon)


def _read_page(
    connection: ReadConnection, chosen: AgentSet, after: int, limit: int
) -> tuple[list[AgentRow], dict[int, EvaluationView]]:
    rows = agent_queries.agent_page(connection, chosen, after, limit)
    return rows, read_evaluations(connection, [row.id for row in rows])


def agent_view(
    row: AgentRow,
    hosted: HostedAgent | None,
    evaluation: EvaluationView | None = None,
    suspicions: Suspicions | None = None,
) -> AgentView:
    """An agent's row as its wire schema; with its plan and learning state if it is in memory."""
    specification = hosted.specification if hosted else read_specification(row.specification)
    return _view_of(row, hosted, specification, evaluation, suspicions)


def shortened_view(
    row: AgentRow, hosted: HostedAgent | None, evaluation: EvaluationView | None
) -> AgentView:
    """The same with the long lists of the specification and of the display cut."""
    stored, cut = shorten(row.specification)
    display, names = shorten({"display": row.display})
    specification = read_specification(stored)
    view = _view_of(replace(row, **display), hosted, specification, evaluation)
    return view.model_copy(update={"shortened": cut + names}) if cut or names else view


def _view_of(
    row: AgentRow,
    hosted: HostedAgent | None,
    specification: Specification,
    evaluation: EvaluationView | None,
    suspicions: Suspicions | None = None,
) -> AgentView:
    completed = with_default_features(specification)
    learning, error = _learning(row, hosted)
    stored = {name: getattr(completed, name) for name in _SPECIFICATION}
    stored |= {"display": _display(row)}
    return AgentView(
        **stored,
        id=agent_id(row.id),
        name=row.name,
        metadata=row.metadata,
        question=row.question,
        guidelines=row.guidelines,
        guidelines_version=row.guidelines_version,
        examples=Examples.model_validate(row.examples or {}),
        paused=row.paused,
        created_at=moment(row.created_at),
        episodes=EpisodeCounts(
            running=row.running,
            awaiting_label=row.awaiting_label,
            labelled=row.labelled,
            completed=row.completed,
            abandoned=row.abandoned,
        ),
        policy_version=row.policy_version,
        pinned_version=row.pinned_version,
        learning=learning.value,
        learning_error=error,
        success_rate=_success(row),
        evaluation=evaluation,
        plan=_plan_view(hosted),
        timing=None if hosted is None else _timing_view(hosted.pace),
        progress=row.notes.get("progress", {}),
        warnings=find_warnings(
            row, specification, None if hosted is None else hosted.pace, suspicions
        ),
    )


def _display(row: AgentRow) -> Display | None:
    """How pages draw a state; None where an older version accepted more than this one."""
    try:
        return None if row.display is None else _DISPLAY.validate_python(row.display)
    except ValidationError:
        return None


def _plan_view(hosted: HostedAgent | None) -> PlanView | None:
    plan = hosted.newest_plan() if hosted else None
    exploit = hosted.representative_plan() if hosted else None
    if plan is None or exploit is None:
        return None
    return PlanView(
        planner=plan.planner,
        value=min(max(exploit.value, 0.0), 1.0),
        optimistic_value=plan.value,
        gap=plan.gap,
        seconds=plan.seconds,
    )


def _timing_view(pace: Pace) -> TimingView:
    return TimingView(
        learning_seconds=pace.learning.seconds,
        episode_seconds=pace.episode.seconds,
        wait_seconds=pace.wait.seconds,
    )


def _learning(row: AgentRow, hosted: HostedAgent | None) -> tuple[LearningState, str | None]:
    """What learning does now, and the error if it failed."""
    if hosted is not None:
        return hosted.learning, hosted.learning_error
    state = LearningState.failed if row.learning_error else LearningState.idle
    return state, row.learning_error


def _success(row: AgentRow) -> float | None:
    """The share of labelled episodes with a good label."""
    return row.good / row.labelled if row.labelled else None


def _read_cards(
    connection: ReadConnection, chosen: AgentSet, offset: int, limit: int, name: str
) -> tuple[Sequence[AgentRow], int, dict[int, list[tuple[int, int, int]]]]:
    rows, total = agent_queries.newest_agents(connection, chosen, offset, limit, name)
    return rows, total, agent_queries.sparks(connection, [row.id for row in rows])
