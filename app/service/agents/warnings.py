"""Warnings about an agent: what is allowed, and likely not what its user meant."""

from __future__ import annotations

import logging

from app.service.agents.hosted_agent import HostedAgent
from app.service.agents.pace import Pace
from app.service.runtime.times import moment
from app.storage.commands.webhooks import NotifyWarning
from app.storage.database import Database, now_milliseconds
from app.storage.queries import suspicions
from app.storage.queries.suspicions import Suspicions
from app.storage.rows import AgentRow
from app.wire.agents import Specification, WarningView

log = logging.getLogger(__name__)

MANY_LABELS = 50  # that should not all be the same
SHORT_WAIT = 0.2  # seconds; nobody minds them
LONG_RUN = 3_600_000  # milliseconds that an episode may run without a warning, at least
LONG_RUNS = 20  # times the typical episode


class Warnings:
    """Looks for new warnings of agents in use, and logs each once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._logged: dict[int, set[str]] = {}

    async def review(self, agent: HostedAgent) -> None:
        """Log the warnings of an agent that are new since it was last reviewed."""
        row, found = await self._database.read(
            suspicions.agent_with_suspicions, agent.number, agent.horizon
        )
        if row is None:
            self._logged.pop(agent.number, None)
            return
        warnings = find_warnings(row, agent.specification, agent.pace, found)
        known = self._logged.get(agent.number, set())
        for warning in warnings:
            if warning.code not in known:
                extra = {"agent": agent.id, "code": warning.code, "reason": warning.detail}
                log.warning("an agent may not do what was meant", extra=extra)
                told = NotifyWarning(agent.number, warning.code, warning.detail, now_milliseconds())
                await self._database.commit(told)
        self._logged[agent.number] = {warning.code for warning in warnings}


def find_warnings(
    row: AgentRow,
    specification: Specification,
    pace: Pace | None = None,
    suspicions: Suspicions | None = None,
    now: int | None = None,
) -> list[WarningView]:
    """Every warning about an agent; those about its episodes need ``suspicions``."""
    found = _notes(row)
    if specification.default_label is not None and specification.label_timeout is None:
        found["default_label_without_timeout"] = (
            "`default_label` is never given, because there is no `label_timeout`. Create the agent "
            'with a `label_timeout` such as "PT24H".'
        )
    found |= _label_warnings(row)
    if pace is not None:
        found |= _wait_warning(pace)
    if suspicions is not None:
        found |= _episode_warnings(row, pace, suspicions, now or now_milliseconds())
    return [WarningView(code=code, detail=detail) for code, detail in found.items()]


def _notes(row: AgentRow) -> dict[str, str]:
    """The warnings of the agent kind. Older databases have them without a code."""
    notes = row.notes.get("warnings", {})
    if isinstance(notes, list):
        return {f"specification_{i}": detail for i, detail in enumerate(notes, 1)}
    return dict(notes)


def _label_warnings(row: AgentRow) -> dict[str, str]:
    if row.labelled < MANY_LABELS:
        return {}
    if row.good == 0:
        return {
            "no_good_label": f"None of {row.labelled} labels is good, so the agent cannot know "
            "what success is. Check that 1 means good, make the task easier at first, or import a "
            "few good episodes."
        }
    if row.good == row.labelled:
        return {
            "label_always_the_same": f"All {row.labelled} labels are good, so there is nothing to "
            "learn from them. Check that bad episodes are labelled 0."
        }
    return {}


def _wait_warning(pace: Pace) -> dict[str, str]:
    waited, episode = pace.wait.seconds, pace.episode.seconds
    if not pace.wait.is_known or waited is None or episode is None:
        return {}
    if waited <= max(episode, SHORT_WAIT):
        return {}
    return {
        "learning_holds_up_play": f"Starts wait {waited:.2g} s for learning, longer than an "
        f'episode takes ({episode:.2g} s). Start episodes with "wait": "adaptive" or false, which '
        "play on the newest policy meanwhile."
    }


def _episode_warnings(
    row: AgentRow, pace: Pace | None, suspicions: Suspicions, now: int
) -> dict[str, str]:
    found: dict[str, str] = {}
    oldest = suspicions.oldest_running
    typical = 0.0 if pace is None else 1000 * (pace.episode.seconds or 0.0)
    if oldest is not None and now - oldest > max(LONG_RUN, LONG_RUNS * typical):
        found["episodes_never_finished"] = (
            f"{row.running} episodes are running, the oldest since {moment(oldest):%Y-%m-%d %H:%M} "
            "UTC. Call `finish` or `abandon` when an episode is over. An agent with a "
            '`running_timeout` such as "PT1H" abandons them by itself.'
        )
    if suspicions.cut_off:
        found["terminated_false_at_an_end"] = (
            f"{suspicions.cut_off} of the newest episodes were cut off (`terminated` false) in the "
            "same state, and none ever went on from there. If the environment ends episodes there, "
            "finish them with `terminated` true."
        )
    return found
