"""Commands of access: keys, sessions, secrets, and answers to idempotent requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Generic, TypeVar

from sqlalchemy import Connection, delete, insert, update
from sqlalchemy.exc import IntegrityError

from app.errors import Stale
from app.storage.rows import AnswerRow, KeyRow, SessionRow
from app.storage.schema import answers, keys, secrets, sessions
from app.storage.unit_of_work import Command
from app.storage.upsert import insert_or_ignore


@dataclass(frozen=True, slots=True)
class AddKey:
    """Add an API key."""

    row: KeyRow

    def apply(self, connection: Connection) -> None:
        """Insert the row."""
        connection.execute(insert(keys), asdict(self.row))


@dataclass(frozen=True, slots=True)
class RevokeKey:
    """Revoke an API key and end its sessions; a key that was revoked before keeps its time."""

    key: str
    now: int

    def apply(self, connection: Connection) -> None:
        """Update the row, and delete those of the sessions."""
        query = update(keys).where(keys.c.id == self.key, keys.c.revoked_at.is_(None))
        connection.execute(query.values(revoked_at=self.now))
        connection.execute(delete(sessions).where(sessions.c.key == self.key))


@dataclass(frozen=True, slots=True)
class AddSession:
    """Add a browser session."""

    row: SessionRow

    def apply(self, connection: Connection) -> None:
        """Insert the row."""
        connection.execute(insert(sessions), asdict(self.row))


@dataclass(frozen=True, slots=True)
class SeeSession:
    """Note when a browser session was used last."""

    session: str
    now: int

    def apply(self, connection: Connection) -> None:
        """Update the row, if the session was not ended meanwhile."""
        query = update(sessions).where(sessions.c.id == self.session)
        connection.execute(query.values(seen_at=self.now))


@dataclass(frozen=True, slots=True)
class EndSessions:
    """End some browser sessions."""

    sessions: Sequence[str]

    def apply(self, connection: Connection) -> None:
        """Delete the rows."""
        connection.execute(delete(sessions).where(sessions.c.id.in_(self.sessions)))


@dataclass(frozen=True, slots=True)
class ForgetSessions:
    """Drop browser sessions from before a time."""

    before: int

    def apply(self, connection: Connection) -> list[str]:
        """Delete the rows; their ids."""
        query = delete(sessions).where(sessions.c.created_at < self.before)
        return list(connection.execute(query.returning(sessions.c.id)).scalars())


@dataclass(frozen=True, slots=True)
class AddSecret:
    """Add a secret of the server, unless it has one of that name."""

    name: str
    value: bytes

    def apply(self, connection: Connection) -> None:
        """Insert the row."""
        insert_or_ignore(connection, secrets, [{"name": self.name, "value": self.value}])


@dataclass(frozen=True, slots=True)
class AddAnswer:
    """Remember what a request with an Idempotency-Key created."""

    row: AnswerRow

    def apply(self, connection: Connection) -> None:
        """Insert the row. Raises `Stale` if another process answered the same request first."""
        try:
            connection.execute(insert(answers), asdict(self.row))
        except IntegrityError as error:
            raise Stale("another process answered the request first") from error


@dataclass(frozen=True, slots=True)
class ForgetAnswers:
    """Drop answers from before a time."""

    before: int

    def apply(self, connection: Connection) -> None:
        """Delete the rows."""
        connection.execute(delete(answers).where(answers.c.at < self.before))


Stored = TypeVar("Stored")


@dataclass(frozen=True, slots=True)
class Answered(Generic[Stored]):
    """A command together with the answer that its request gets again when it is retried."""

    command: Command[Stored]
    answer: Callable[[Stored], AnswerRow]

    def apply(self, connection: Connection) -> Stored:
        """Apply the command, then remember what it created."""
        stored = self.command.apply(connection)
        AddAnswer(self.answer(stored)).apply(connection)
        return stored
