"""Every statement that the running service writes with, built once.

Statements are module constants so that the writer can tell equal neighbours apart from others
and execute them together.
"""

from __future__ import annotations

import json

from sqlalchemy import bindparam, case, delete, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from app.storage.schema import (
    agents,
    answers,
    episodes,
    events,
    journal,
    keys,
    knowledge,
    labels,
    plans,
    recordings,
    secrets,
    steps,
    versions,
)
from app.storage.sqlite.writer import Row

ADD_AGENT = insert(agents)
ADD_EPISODE = insert(episodes)
ADD_STEP = insert(journal)
ADD_FILED_STEP = upsert(steps).on_conflict_do_nothing()
ADD_LABEL = insert(labels)
ADD_EVENT = insert(events)
ADD_KEY = insert(keys)
ADD_ANSWER = upsert(answers).on_conflict_do_nothing()
ADD_PLAN = upsert(plans).on_conflict_do_nothing()
ADD_SECRET = upsert(secrets).on_conflict_do_nothing()
ADD_VERSION = upsert(versions).on_conflict_do_nothing()


def step_row(agent: int, episode: int, step: int, index: int, action: int, state: object) -> Row:
    """A step, as `ADD_FILED_STEP` takes it: its state's index, the numbers where it is a list."""
    observation = json.dumps(state) if isinstance(state, list) else None
    return agent, episode, step, index, action, observation


def journal_row(agent: int, episode: int, step: int, index: int, action: int, state: object) -> Row:
    """A step, as `ADD_STEP` takes it."""
    return None, *step_row(agent, episode, step, index, action, state)


_this_agent = agents.c.id == bindparam("the_agent")
_this_episode = (episodes.c.agent == bindparam("the_agent")) & (
    episodes.c.number == bindparam("the_episode")
)

COUNTERS = ("running", "awaiting_label", "labelled", "completed", "abandoned", "good")

COUNT = (  # add to the counters of an agent; how many episodes and events it has now
    update(agents)
    .where(_this_agent)
    .values(
        **{name: agents.c[name] + bindparam(f"more_{name}") for name in COUNTERS},
        episodes=bindparam("new_episodes"),
        last_event=bindparam("new_last_event"),
        last_lesson=bindparam("new_last_lesson"),
    )
)

DESCRIBE_AGENT = (
    update(agents)
    .where(_this_agent)
    .values(
        name=bindparam("new_name"),
        metadata=bindparam("new_metadata", type_=agents.c.metadata.type),
        display=bindparam("new_display", type_=agents.c.display.type),
        paused=bindparam("new_paused"),
    )
)

DELETE_AGENT = update(agents).where(_this_agent).values(deleted_at=bindparam("now"))

FINISH_EPISODE = (
    update(episodes)
    .where(_this_episode)
    .values(
        status=bindparam("new_status"),
        length=bindparam("new_length"),
        ended=bindparam("new_ended"),
        final=bindparam("new_final"),
        final_observation=bindparam(
            "new_final_observation", type_=episodes.c.final_observation.type
        ),
        label_due=bindparam("new_label_due"),
        finished_at=bindparam("now"),
    )
)

REPORT_EPISODE = (
    update(episodes)
    .where(_this_episode)
    .values(
        ended=bindparam("new_ended"),
        final=bindparam("new_final"),
        final_observation=bindparam(
            "new_final_observation", type_=episodes.c.final_observation.type
        ),
    )
)

LABEL_EPISODE = (
    update(episodes)
    .where(_this_episode)
    .values(
        status=bindparam("new_status"),
        verdicts=bindparam("new_verdicts"),
        label=bindparam("new_label"),
        # What never falls due, as an imported episode, does not when a label is withdrawn.
        label_due=case(
            (
                episodes.c.label_due.is_not(None),
                func.coalesce(bindparam("new_label_due"), episodes.c.label_due),
            )
        ),
        labelled_at=bindparam("new_labelled_at"),
    )
)

LEARNED = (
    update(agents)
    .where(_this_agent)
    .values(
        learned=bindparam("new_learned"),
        policy_version=bindparam("new_policy_version"),
        last_event=bindparam("new_last_event"),
        learning_error=None,
    )
)

NOTE = (
    update(agents)
    .where(_this_agent)
    .values(notes=bindparam("new_notes", type_=agents.c.notes.type))
)

LEARNING_FAILED = (
    update(agents).where(_this_agent).values(learning_error=bindparam("new_learning_error"))
)

_know = upsert(knowledge)
KNOW = _know.on_conflict_do_update(
    index_elements=["agent"],
    set_={
        "snapshot": _know.excluded.snapshot,
        "snapshot_event": _know.excluded.snapshot_event,
        "insight": _know.excluded.insight,
    },
)
KNOW_INSIGHT = _know.on_conflict_do_update(
    index_elements=["agent"], set_={"insight": _know.excluded.insight}
)

_record = upsert(recordings)
RECORD = _record.on_conflict_do_update(
    index_elements=["agent", "episode"],
    set_={name: _record.excluded[name] for name in ("media_type", "size", "content", "at")},
)
DROP_RECORDING = delete(recordings).where(
    recordings.c.agent == bindparam("the_agent"), recordings.c.episode == bindparam("the_episode")
)

DROP_OLD_PLANS = delete(plans).where(
    plans.c.agent == bindparam("the_agent"),
    plans.c.version < bindparam("the_version"),
    ~select(episodes.c.number)
    .where(
        episodes.c.agent == plans.c.agent,
        episodes.c.status == "running",
        episodes.c.policy_version == plans.c.version,
        episodes.c.plan == plans.c.episode,
    )
    .exists(),
)

REVOKE_KEY = (
    update(keys).where(keys.c.id == bindparam("the_key")).values(revoked_at=bindparam("now"))
)

FORGET_ANSWERS = delete(answers).where(answers.c.at < bindparam("before"))

_filed = (journal.c.agent + journal.c.episode) % bindparam("parts") == bindparam("part")
_columns = [column.name for column in steps.c]
FILE_STEPS = (  # each by its place in its episode; neighbours share a page, and so one write
    upsert(steps)
    .from_select(
        _columns,
        select(*(journal.c[name] for name in _columns))
        .where(_filed)
        .order_by(journal.c.agent, journal.c.episode, journal.c.step),
    )
    .on_conflict_do_nothing()
)
DROP_FILED = delete(journal).where(_filed)

# Agents that were deleted leave in pieces, so that nobody waits for a million rows.
PURGE_STEPS = delete(steps).where(
    steps.c.agent == bindparam("the_agent"), steps.c.episode < bindparam("before_episode")
)
_own = (steps, journal, episodes, labels, events, plans, versions, knowledge, recordings)
PURGE = (
    *(delete(table).where(table.c.agent == bindparam("the_agent")) for table in _own),
    delete(agents).where(_this_agent),
)
