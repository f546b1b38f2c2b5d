"""Rows as clients see them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from app.agents.tabular_insight import Insight
from app.learning.trajectory import UNREPORTED, Trajectory
from app.service.access.keys import Key
from app.service.agents.hosted_agent import HostedAgent
from app.service.agents.specification import read_specification, with_default_features
from app.service.labelling.verdicts import in_force
from app.service.runtime.ids import agent_id, episode_id
from app.wire.agents import AgentView, EpisodeCounts, PlanView, Specification
from app.wire.episodes import EpisodeView, LabelChange, StepView, VerdictView

_SPECIFICATION = tuple(Specification.model_fields)


def moment(milliseconds: int) -> datetime:
    """A stored time."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def perhaps(milliseconds: int | None) -> datetime | None:
    """The time of something that may not have happened."""
    return None if milliseconds is None else moment(milliseconds)


def agent_view(row: Any, agent: HostedAgent | None) -> AgentView:
    """An agent; ``agent`` where it is in memory, and so may be learning."""
    specification = agent.specification if agent else read_specification(row.specification)
    specification = with_default_features(specification)
    plan = agent.newest_plan() if agent else None
    shown = None
    if plan is not None:
        shown = PlanView(planner=plan.planner, value=plan.value, gap=plan.gap, seconds=plan.seconds)
    error = agent.learning_error if agent else row.learning_error
    return AgentView(
        **{name: getattr(specification, name) for name in _SPECIFICATION},
        id=agent_id(row.id),
        name=row.name,
        metadata=row.metadata,
        display=row.display,
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
        learning=agent.learning if agent else ("failed" if error else "idle"),
        learning_error=error,
        success_rate=row.good / row.labelled if row.labelled else None,
        plan=shown,
        progress=row.notes["progress"],
        warnings=row.notes["warnings"],
    )


def episode_fields(row: Any, horizon: int, length: int) -> dict[str, Any]:
    """What every view of an episode has."""
    return {
        "id": episode_id(row.agent, row.number),
        "agent": agent_id(row.agent),
        "number": row.number,
        "external_id": row.external_id,
        "mode": row.mode,
        "status": row.status,
        "label_required": row.label_required,
        "labels_wanted": row.labels_wanted,
        "labels_given": row.verdicts,
        "label": row.label,
        "policy_version": row.policy_version,
        "horizon": horizon,
        "length": length,
        "metadata": row.metadata,
        "created_at": moment(row.created_at),
        "finished_at": perhaps(row.finished_at),
        "labelled_at": perhaps(row.labelled_at),
    }


def episode_view(
    agent: HostedAgent,
    row: Any,
    steps: Sequence[Any],
    labels: Sequence[Any],
    insight: Insight | None,
) -> EpisodeView:
    """An episode with its steps, its labels, and what the model makes of it."""
    shares: Sequence[float | None] = [None] * len(steps)
    predicted = rest = None
    if insight is not None and row.status != "running":
        trajectory = Trajectory(
            np.array([step.state for step in steps], dtype=np.int64),
            np.array([step.action for step in steps], dtype=np.int64),
            UNREPORTED if row.final is None else row.final,
            row.ended,
        )
        own, rest = insight.shares(trajectory)
        shares, predicted = own.tolist(), insight.predict(trajectory)
    final = None if row.final is None else agent.decode_state(row.final, row.final_observation)
    return EpisodeView(
        **episode_fields(row, agent.horizon, len(steps)),
        steps=[
            StepView(
                step=step.step,
                state=agent.decode_state(step.state, step.observation),
                action=agent.actions.decode(step.action),
                share=share,
            )
            for step, share in zip(steps, shares, strict=True)
        ],
        final=final,
        terminated=row.ended,
        verdicts=[
            VerdictView.model_validate(
                {"label": one.label, "labeller": one.labeller, "at": moment(one.at)}
            )
            for one in in_force(labels).values()
        ],
        labels=[
            LabelChange(
                label=one.label, labeller=one.labeller, comment=one.comment, at=moment(one.at)
            )
            for one in labels
        ],
        predicted=predicted,
        after_end=rest,
    )


def key_fields(key: Key) -> dict[str, Any]:
    """A key without its secret."""
    return {
        "id": key.id,
        "name": key.name,
        "role": key.role,
        "created_at": moment(key.created_at),
        "revoked_at": perhaps(key.revoked_at),
    }
