"""Commands on labels: set the labels that are in force on an episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import BigInteger, Connection, Integer, bindparam, case, func, insert, select

from app.storage.commands.episodes import EndEpisode, ReportFinal, change_episode, change_of
from app.storage.commands.log import CounterChange, Logged, NewEvent, record
from app.storage.commands.outbox import notify_waiting
from app.storage.rows import EpisodeStatus, JsonObject, LabelRow
from app.storage.schema import agents, episodes, labels

_SET = change_of("status", "labels_given", "cannot_tell", "label", "labelled_at").values(
    # An episode without a due time, such as an imported one, never gets one.
    label_due=case(
        (
            episodes.c.label_due.is_not(None),
            func.coalesce(bindparam("new_label_due"), episodes.c.label_due),
        )
    )
)

# The version of the guidelines that the labeller saw; where it is not said, the one in force.
_ADD = insert(labels).values(
    guidelines_version=func.coalesce(
        bindparam("seen_version", type_=Integer),
        select(agents.c.guidelines_version)
        .where(agents.c.id == bindparam("of_agent", type_=BigInteger))
        .scalar_subquery(),
    )
)


@dataclass(frozen=True, slots=True)
class SetLabels:
    """Set the status and label of an episode after a change of its labels."""

    agent: int
    number: int
    version: int  # that this was decided from
    status: EpisodeStatus
    labels_given: int
    cannot_tell: int  # the number of such answers
    label: int | None
    labelled_at: int | None
    label_due: int | None  # None leaves it as it is
    change: CounterChange
    events: Sequence[NewEvent]  # an event to learn from comes last
    history: Sequence[LabelRow] = ()  # new entries of the label history

    def apply(self, connection: Connection) -> Logged:
        """Update the episode, add to its label history and append to the log."""
        change_episode(
            connection,
            _SET,
            self.agent,
            self.number,
            self.version,
            status=self.status,
            labels_given=self.labels_given,
            cannot_tell=self.cannot_tell,
            label=self.label,
            labelled_at=self.labelled_at,
            label_due=self.label_due,
        )
        if self.history:
            connection.execute(_ADD, [_added(row) for row in self.history])
        waiting = self.change.awaiting_label
        notify_waiting(connection, self.agent, self.number, self.events[-1].at, waiting)
        return record(connection, self.agent, self.change, self.events)


def _added(row: LabelRow) -> JsonObject:
    values = asdict(row)
    return values | {"seen_version": values.pop("guidelines_version"), "of_agent": row.agent}


@dataclass(frozen=True, slots=True)
class EndWithLabel:
    """End an episode, or report its final state, and label it in the same transaction."""

    end: EndEpisode | ReportFinal
    label: SetLabels

    def apply(self, connection: Connection) -> Logged:
        """Apply both; the log has the events of both in their order."""
        ended, labelled = self.end.apply(connection), self.label.apply(connection)
        return Logged([*ended.events, *labelled.events], labelled.counters)
