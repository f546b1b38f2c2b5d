"""Typed rows: what leaves storage. One frozen dataclass per table, with the table's column names.

Times are whole milliseconds since 1970 (UTC).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, TypeVar

from sqlalchemy import Column, Row, Table

from app.wire.base import JsonObject as JsonObject


class EpisodeStatus(StrEnum):
    """The status of an episode."""

    running = "running"
    awaiting_label = "awaiting_label"
    labelled = "labelled"
    completed = "completed"  # over, and no label is required
    abandoned = "abandoned"


class EpisodeMode(StrEnum):
    """How an episode was played."""

    learn = "learn"
    exploit = "exploit"
    evaluate = "evaluate"  # the model does not learn its result
    imported = "imported"


class Actor(StrEnum):
    """Who acted in a step in place of the policy."""

    client = "client"  # the step came with its action
    override = "override"  # another action than the one that was answered was executed
    fallback = "fallback"  # no policy was ready in time


class EventKind(StrEnum):
    """The kind of an entry in an agent's event log."""

    finished = "finished"
    reported = "reported"  # what the last step did, or the state that it led to, became known
    abandoned = "abandoned"  # while it was running
    given_up = "given_up"  # abandoned after it had finished
    labelled = "labelled"
    withdrawn = "withdrawn"
    settled = "settled"  # the existing labels decide
    cannot_tell = "cannot_tell"  # a labeller answered that the episode cannot be judged
    retracted = "retracted"  # such an answer was withdrawn
    policy = "policy"  # a policy was published
    pinned = "pinned"  # a policy version was pinned
    unpinned = "unpinned"


LABEL_KINDS = frozenset({EventKind.labelled, EventKind.withdrawn})
# Events that an agent learns from, unless their episode is an evaluation.
LEARNED_KINDS = frozenset(
    {
        EventKind.finished,
        EventKind.reported,
        EventKind.abandoned,
        *LABEL_KINDS,
    }
)


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent."""

    id: int
    position: int
    name: str
    specification: JsonObject
    metadata: JsonObject
    display: JsonObject | None
    paused: bool
    created_at: int
    deleted_at: int | None
    episodes: int
    running: int
    awaiting_label: int
    labelled: int
    completed: int
    abandoned: int
    good: int
    last_event: int
    last_lesson: int
    learned: int
    policy_version: int
    learning_error: str | None
    notes: JsonObject
    question: str | None
    guidelines: str | None
    guidelines_version: int
    examples: JsonObject | None
    pinned_version: int | None


@dataclass(frozen=True, slots=True)
class AgentCounters:
    """The counters of an agent that change with its episodes and its log."""

    episodes: int
    running: int
    last_event: int
    last_lesson: int


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """An episode without its steps."""

    agent: int
    number: int
    position: int
    external_id: str | None
    mode: EpisodeMode
    status: EpisodeStatus
    version: int
    label_required: bool
    policy_version: int
    plan: int | None
    length: int | None
    ended: bool
    final: int | None
    final_observation: list[float] | None
    labels_wanted: int
    labels_given: int
    cannot_tell: int
    label: int | None
    label_due: int | None
    metadata: JsonObject
    created_at: int
    finished_at: int | None
    labelled_at: int | None
    started_by: str | None
    learn_transitions: bool
    running_due: int | None


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step of an episode. ``observation`` is set where the client sent numbers.

    ``action`` is what was done, and ``answered`` what the server answered. ``actor`` is None where
    the policy acted.
    """

    agent: int
    episode: int
    step: int
    state: int
    action: int
    observation: list[float] | None
    answered: int
    actor: Actor | None
    allowed: list[int] | None


@dataclass(frozen=True, slots=True)
class StepDetail:
    """What is known of a step beside its state and its answer; most steps have none."""

    agent: int
    episode: int
    step: int
    actor: Actor | None = None
    executed: int | None = None
    allowed: list[int] | None = None


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One entry of an episode's label history.

    Without a ``label`` it is a withdrawal; or, with ``cannot_tell``, an answer whose reason is the
    ``comment``.
    """

    agent: int
    episode: int
    slot: int
    label: int | None
    labeller: str | None
    comment: str | None
    at: int
    cannot_tell: bool = False
    guidelines_version: int | None = None  # stored as the version in force, unless given
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class GuidelinesRow:
    """A version of an agent's question and guidelines."""

    agent: int
    version: int
    question: str | None
    guidelines: str | None
    at: int


@dataclass(frozen=True, slots=True)
class EventRow:
    """An entry of an agent's event log.

    ``label`` belongs to labelled and settled, ``slot`` to labelled, withdrawn, cannot_tell and
    retracted, ``final_known`` to finished and abandoned, ``policy_version`` to policy and pinned.
    """

    agent: int
    number: int
    kind: EventKind
    episode: int | None
    slot: int | None
    label: int | None
    final_known: bool | None
    policy_version: int | None
    at: int


@dataclass(frozen=True, slots=True)
class PlanRow:
    """A plan of a policy version, packed. ``episode`` -1 is the exploit plan."""

    agent: int
    version: int
    episode: int
    policy: bytes
    planner: str
    value: float
    upper: float
    lower: float
    cells: int
    seconds: float
    label_required: bool

    @property
    def is_certified(self) -> bool:
        """Whether its bounds are informative; without a model they are 0 and 1."""
        return self.upper - self.lower < 1.0


@dataclass(frozen=True, slots=True)
class VersionRow:
    """What is known of one policy version."""

    agent: int
    version: int
    episodes: int
    labels: int
    planner: str
    value: float
    gap: float
    predicted: float | None
    seconds: float
    at: int


@dataclass(frozen=True, slots=True)
class KeyRow:
    """An API key, with the digest of its secret."""

    id: str
    name: str
    role: str
    digest: str
    created_at: int
    revoked_at: int | None
    agents: list[int] | None = None  # that it is bound to


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A browser that is signed in."""

    id: str
    key: str
    device: str
    address: str
    created_at: int
    seen_at: int


class WebhookEvent(StrEnum):
    """What a webhook is told."""

    label_wanted = "label.wanted"
    policy_replaced = "policy.replaced"
    learning_failed = "learning.failed"
    warning = "warning"


class DeliveryStatus(StrEnum):
    """Where the delivery of an event to a webhook stands."""

    pending = "pending"
    delivered = "delivered"
    failed = "failed"  # given up


@dataclass(frozen=True, slots=True)
class WebhookRow:
    """A webhook. Its secrets sign what is sent, so they are stored as they are."""

    id: str
    agent: int | None  # None: every agent
    url: str
    events: list[str]
    secret: str
    old_secret: str | None  # which signs too, for a while after a rotation
    old_until: int | None
    created_at: int


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """An event on its way to a webhook. ``code`` is that of a warning."""

    id: int
    webhook: str
    event: WebhookEvent
    agent: int
    episode: int | None
    code: str | None
    data: JsonObject
    created_at: int
    status: DeliveryStatus
    due_at: int | None  # of the next attempt; None once there is none
    attempts: int
    attempted_at: int | None
    response_status: int | None
    error: str | None


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """What a request with an Idempotency-Key created."""

    scope: str
    key: str
    fingerprint: str
    created_id: str
    at: int


@dataclass(frozen=True, slots=True)
class RecordingRow:
    """A recording without its content."""

    media_type: str
    size: int
    blob: str
    at: int


Typed = TypeVar("Typed")


def columns_of(kind: type[Any], table: Table) -> list[Column[Any]]:
    """The columns of ``table`` that a row class holds, in the order of its fields."""
    return [table.c[field.name] for field in fields(kind)]


def typed(kind: Callable[..., Typed], rows: Sequence[Row[*tuple[Any, ...]]]) -> list[Typed]:
    """Rows that were selected with `columns_of`, as instances of ``kind``."""
    return [kind(*row) for row in rows]


def typed_or_none(kind: Callable[..., Typed], row: Row[*tuple[Any, ...]] | None) -> Typed | None:
    """One row that was selected with `columns_of`, if it was found."""
    return None if row is None else kind(*row)
