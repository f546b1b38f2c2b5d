"""The page of labellers: how many verdicts, how fast, how they agree, what the model doubts."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from app.agents.tabular_insight import Insight
from app.api.http.auth import READ, TheContainer
from app.learning.statistics.agreement import (
    CONFIDENT,
    PAUSE_SECONDS,
    agreements,
    contradicts,
    labellers,
)
from app.learning.trajectory import UNREPORTED, Trajectory
from app.service.access.keys import Caller
from app.service.labelling.verdicts import in_force
from app.service.runtime.ids import agent_id, episode_id
from app.storage.queries import browsing
from app.web.pages.sign_in import PageRoute, page_guard
from app.web.render.templates import render
from app.web.render.wording import words

router = APIRouter(include_in_schema=False, route_class=PageRoute)

_VERDICTS = 5000  # that the counts come from
_CHECKED = 300  # episodes that the model is asked about
_AGENTS = 8  # whose models are asked
_PAIRS = 50


@dataclass(frozen=True)
class Doubt:
    """A verdict that is the opposite of what the model is sure of."""

    episode: str
    number: int
    agent: str
    agent_name: str
    label: int
    predicted: float
    labeller: str | None


@dataclass(frozen=True)
class Recent:
    """The newest verdicts, and what it takes to ask the models about them."""

    verdicts: Sequence[Any]
    rows: Sequence[Any]
    steps: dict[int, dict[int, tuple[list[int], list[int]]]]  # by agent and number
    insights: dict[int, bytes]
    names: dict[int, str]


@router.get("/labellers")
async def labellers_page(
    request: Request, host: TheContainer, _: Annotated[Caller, page_guard(READ)]
) -> Response:
    """How labellers do, from the newest verdicts of all agents."""
    recent = await host.database.read(_read)
    found, pairs, doubts = await asyncio.to_thread(_judge, recent)
    return render(
        request,
        "labellers.html",
        labellers=found,
        pairs=pairs[:_PAIRS],
        doubts=doubts,
        checked=len(recent.rows),
        verdicts=len(recent.verdicts),
        confident=CONFIDENT,
        pause=int(PAUSE_SECONDS // 60),
        **words(),
    )


def _read(connection: Connection) -> Recent:
    verdicts = browsing.verdicts(connection, _VERDICTS)
    newest = dict.fromkeys((row.agent, row.episode) for row in reversed(verdicts))
    agents = list(dict.fromkeys(agent for agent, _ in newest))[:_AGENTS]
    chosen = [pair for pair in newest if pair[0] in agents][:_CHECKED]
    insights = browsing.insights_of(connection, agents)
    rows = [row for row in browsing.judged(connection, chosen) if row.agent in insights]
    numbers: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        numbers[row.agent].append(row.number)
    steps = {agent: browsing.steps_of(connection, agent, own) for agent, own in numbers.items()}
    return Recent(verdicts, rows, steps, insights, browsing.names_of(connection, agents))


def _judge(recent: Recent) -> tuple[Any, Any, list[Doubt]]:
    return labellers(recent.verdicts), agreements(recent.verdicts), _doubts(recent)


def _doubts(recent: Recent) -> list[Doubt]:
    """The verdicts that contradict a sure model, the surest first."""
    said: dict[tuple[int, int], list[Any]] = defaultdict(list)
    for row in recent.verdicts:
        said[row.agent, row.episode].append(row)
    models = {agent: Insight.unpack(packed) for agent, packed in recent.insights.items()}
    found = []
    for row in recent.rows:
        states, actions = recent.steps[row.agent][row.number]
        trajectory = Trajectory(
            np.array(states, dtype=np.int64),
            np.array(actions, dtype=np.int64),
            UNREPORTED if row.final is None else row.final,
            row.ended,
        )
        predicted = models[row.agent].predict(trajectory)
        found += [
            Doubt(
                episode_id(row.agent, row.number),
                row.number,
                agent_id(row.agent),
                recent.names[row.agent],
                verdict.label,
                predicted,
                verdict.labeller,
            )
            for verdict in in_force(said[row.agent, row.number]).values()
            if contradicts(predicted, verdict.label)
        ]
    return sorted(found, key=lambda one: -abs(one.predicted - one.label))
