"""The tables. The log of episodes is the truth; knowledge and plans can be rebuilt from it.

Times are whole milliseconds since 1970 (UTC). An episode is addressed by its agent and its number;
so are its steps, which keeps the rows of an episode together on disk.
"""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Enum,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    false,
    text,
    true,
)

from app.storage.column_types import Blob, Document, Numbers
from app.storage.rows import (
    Actor,
    DeliveryStatus,
    EpisodeMode,
    EpisodeStatus,
    EventKind,
    WebhookEvent,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _enum(kind: type[StrEnum]) -> Enum:
    """A column of short names, checked in Python and stored as text."""
    return Enum(
        kind, native_enum=False, length=16, values_callable=lambda kinds: [k.value for k in kinds]
    )


def _agent() -> Column[int]:
    return Column("agent", BigInteger, primary_key=True, autoincrement=False)


agents = Table(
    "agents",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("position", Integer, nullable=False),  # the order of creation, for pages
    Column("name", String(200), nullable=False),
    Column("specification", Document, nullable=False),
    Column("metadata", Document, nullable=False),
    Column("display", Document(none_as_null=True)),
    Column("paused", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("deleted_at", BigInteger),  # its rows are being deleted
    Column("episodes", Integer, nullable=False),  # numbers given so far
    Column("running", Integer, nullable=False),
    Column("awaiting_label", Integer, nullable=False),
    Column("labelled", Integer, nullable=False),
    Column("completed", Integer, nullable=False),
    Column("abandoned", Integer, nullable=False),
    Column("good", Integer, nullable=False),  # labels that are good
    Column("last_event", Integer, nullable=False),
    Column("last_lesson", Integer, nullable=False),  # the last event there is to learn from
    Column("learned", Integer, nullable=False),  # the last event learned from
    Column("policy_version", Integer, nullable=False),
    Column("learning_error", Text),
    Column("notes", Document, nullable=False),  # how far its kind is, and warnings
    Column("question", Text),  # that labellers answer
    Column("guidelines", Text),
    Column("guidelines_version", Integer, nullable=False, server_default=text("0")),
    Column("examples", Document(none_as_null=True)),  # ids of good and of bad episodes
    Column("pinned_version", Integer),  # of the policy that episodes start on while it is pinned
    Index(None, "position", unique=True),
    Index(
        "ix_agents_behind",
        "id",
        sqlite_where=text("learned < last_lesson"),
        postgresql_where=text("learned < last_lesson"),
    ),
)

episodes = Table(
    "episodes",
    metadata,
    _agent(),
    Column("number", Integer, primary_key=True, autoincrement=False),
    # The order of creation across agents. Times do not give it: the clock may be set back.
    Column("position", BigInteger, nullable=False, server_default=text("0")),
    Column("external_id", String(200)),
    Column("mode", _enum(EpisodeMode), nullable=False),
    Column("status", _enum(EpisodeStatus), nullable=False),
    # Counts changes other than steps. A change is stored only if it was decided from this version.
    Column("version", Integer, nullable=False, server_default=text("0")),
    Column("label_required", Boolean, nullable=False),
    Column("policy_version", Integer, nullable=False),
    Column("plan", Integer),  # the episode that its plan was made for; null when imported
    Column("length", Integer),  # steps, once it is over
    Column("ended", Boolean, nullable=False),  # by the environment, before the horizon
    Column("final", Integer),  # the state it ended in or led to, where reported
    Column("final_observation", Numbers),
    Column("labels_wanted", Integer, nullable=False),
    Column("labels_given", Integer, nullable=False),  # in force now
    Column("cannot_tell", Integer, nullable=False, server_default=text("0")),  # such answers
    Column("label", Integer),  # their majority, once there are enough of them
    Column("label_due", BigInteger),
    Column("metadata", Document, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
    Column("labelled_at", BigInteger),
    Column("started_by", String(40)),  # the id of the key that started it
    # Whether the agent learns from its transitions; false for some evaluations.
    Column("learn_transitions", Boolean, nullable=False, server_default=true()),
    Column("running_due", BigInteger),  # when it is abandoned if it still runs
    Index(None, "agent", "status", "number"),
    Index(None, "agent", "external_id"),
    Index(None, "position"),
    Index(None, "status", "position"),
    Index(
        "ix_episodes_due",
        "status",
        "label_due",
        sqlite_where=text("status = 'awaiting_label' AND label_due IS NOT NULL"),
        postgresql_where=text("status = 'awaiting_label' AND label_due IS NOT NULL"),
    ),
    Index(
        "ix_episodes_overdue",
        "status",
        "running_due",
        sqlite_where=text("status = 'running' AND running_due IS NOT NULL"),
        postgresql_where=text("status = 'running' AND running_due IS NOT NULL"),
    ),
    Index(
        "ix_episodes_half_judged",
        "agent",
        "labels_given",
        sqlite_where=text("label IS NULL AND labels_given > 0"),
        postgresql_where=text("label IS NULL AND labels_given > 0"),
    ),
    Index(
        "ix_episodes_undecided",
        "agent",
        "cannot_tell",
        sqlite_where=text("label IS NULL AND cannot_tell > 0"),
        postgresql_where=text("label IS NULL AND cannot_tell > 0"),
    ),
    Index(
        "ix_episodes_evaluated",
        "agent",
        "number",
        sqlite_where=text("mode = 'evaluate' AND label IS NOT NULL"),
        postgresql_where=text("mode = 'evaluate' AND label IS NOT NULL"),
    ),
    sqlite_with_rowid=False,
)

steps = Table(
    "steps",
    metadata,
    _agent(),
    Column("episode", Integer, primary_key=True, autoincrement=False),
    Column("step", Integer, primary_key=True, autoincrement=False),
    Column("state", Integer, nullable=False),
    Column("action", Integer, nullable=False),
    Column("observation", Numbers),  # what a box was sent, before binning
    sqlite_with_rowid=False,
)

step_details = Table(
    "step_details",  # of the few steps that have any
    metadata,
    _agent(),
    Column("episode", Integer, primary_key=True, autoincrement=False),
    Column("step", Integer, primary_key=True, autoincrement=False),
    Column("actor", _enum(Actor)),  # who acted in place of the policy; null: the policy
    Column("executed", Integer),  # what was done, where it is not what was answered
    Column("allowed", Numbers),  # the actions that the client allowed
    sqlite_with_rowid=False,
)

labels = Table(
    "labels",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("agent", BigInteger, nullable=False),
    Column("episode", Integer, nullable=False),
    # 0, 1, …: which of the wanted labels this is; answers of "cannot tell" have higher numbers.
    Column("slot", Integer, nullable=False),
    Column("label", Integer),  # null: withdrawn, unless cannot_tell
    Column("cannot_tell", Boolean, nullable=False, server_default=false()),
    Column("labeller", String(200)),
    Column("comment", Text),
    Column("at", BigInteger, nullable=False),
    Column("guidelines_version", Integer),  # that the labeller judged by; null when imported
    Column("seconds", Float),  # that the labeller looked at the episode, where known
    Index(None, "agent", "episode"),
    Index(None, "labeller", "at"),
)

guidelines = Table(
    "guidelines",  # every version of them
    metadata,
    _agent(),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("question", Text),
    Column("guidelines", Text),
    Column("at", BigInteger, nullable=False),
)

events = Table(
    "events",
    metadata,
    _agent(),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", _enum(EventKind), nullable=False),
    Column("episode", Integer),
    Column("slot", Integer),
    Column("label", Integer),
    Column("final_known", Boolean),
    Column("policy_version", Integer),
    Column("at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

plans = Table(
    "plans",
    metadata,
    _agent(),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("episode", Integer, primary_key=True, autoincrement=False),  # -1: exploit
    Column("policy", Blob, nullable=False),
    Column("planner", String(16), nullable=False),
    Column("value", Float, nullable=False),
    Column("upper", Float, nullable=False),
    Column("lower", Float, nullable=False),
    Column("cells", BigInteger, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("label_required", Boolean, nullable=False),
)

versions = Table(
    "versions",
    metadata,
    _agent(),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("episodes", Integer, nullable=False),
    Column("labels", Integer, nullable=False),
    Column("planner", String(16), nullable=False),
    Column("value", Float, nullable=False),
    Column("gap", Float, nullable=False),
    Column("predicted", Float),  # success of the exploit plan, in the model
    Column("seconds", Float, nullable=False),
    Column("at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

maps = Table(
    "maps",  # what an agent believed at some of its versions
    metadata,
    _agent(),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("labels", Integer, nullable=False),  # that it knew
    Column("map", Blob, nullable=False),
)

knowledge = Table(
    "knowledge",
    metadata,
    _agent(),
    Column("snapshot", Blob),
    Column("snapshot_event", Integer, nullable=False),
    Column("insight", Blob),  # tables to explain with
)

pieces = Table(
    "pieces",  # of policies, snapshots and insights that are too large for one row
    metadata,
    _agent(),
    Column("blob", BigInteger, primary_key=True, autoincrement=False),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("content", Blob, nullable=False),
)

keys = Table(
    "keys",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("name", String(200), nullable=False),
    Column("role", String(16), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
    Column("agents", JSON(none_as_null=True)),  # the numbers of those it sees; null: all
    Index(None, "digest", unique=True),
)

sessions = Table(
    "sessions",  # of browsers that are signed in
    metadata,
    Column("id", String(40), primary_key=True),
    Column("key", String(40), nullable=False),
    Column("device", String(200), nullable=False),  # what the browser says it is
    Column("address", String(64), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    Index(None, "key"),
)

answers = Table(
    "answers",  # to requests with an Idempotency-Key
    metadata,
    Column("scope", String(200), primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("made", String(200), key="created_id", nullable=False),  # by the request
    Column("at", BigInteger, nullable=False),
    Index(None, "at"),
)

secrets = Table(
    "secrets",  # that the server made for itself
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", Blob, nullable=False),
)

recordings = Table(
    "recordings",
    metadata,
    _agent(),
    Column("episode", Integer, primary_key=True, autoincrement=False),
    Column("media_type", String(40), nullable=False),
    Column("size", Integer, nullable=False),
    Column("blob", String(80), nullable=False),  # its name in blob storage
    Column("at", BigInteger, nullable=False),
)

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("agent", BigInteger),  # null: every agent
    Column("url", Text, nullable=False),
    Column("events", JSON, nullable=False),
    Column("secret", String(80), nullable=False),
    Column("old_secret", String(80)),
    Column("old_until", BigInteger),
    Column("created_at", BigInteger, nullable=False),
)

deliveries = Table(
    "deliveries",  # of events to webhooks
    metadata,
    Column("id", Integer, primary_key=True),
    Column("webhook", String(40), nullable=False),
    Column("event", _enum(WebhookEvent), nullable=False),
    Column("agent", BigInteger, nullable=False),
    Column("episode", Integer),
    Column("code", String(100)),
    Column("data", Document, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("status", _enum(DeliveryStatus), nullable=False),
    Column("due_at", BigInteger),
    Column("attempts", Integer, nullable=False),
    Column("attempted_at", BigInteger),
    Column("response_status", Integer),
    Column("error", Text),
    Index(None, "webhook", "id"),
    Index(None, "agent", "episode"),
    Index(
        "ix_deliveries_due",
        "due_at",
        sqlite_where=text("due_at IS NOT NULL"),
        postgresql_where=text("due_at IS NOT NULL"),
    ),
)

OWNED = (
    steps,
    step_details,
    episodes,
    labels,
    guidelines,
    events,
    plans,
    versions,
    maps,
    knowledge,
    pieces,
    recordings,
)
"""The tables whose rows belong to an agent and are deleted with it."""
