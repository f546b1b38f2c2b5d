"""Commands of access: keys, secrets, and answers to idempotent requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Generic, TypeVar

from sqlalchemy import Connection, delete, insert, update
from sqlalchemy.exc import IntegrityError

from app.errors import Stale
from app.storage.rows import AnswerRow, KeyRow
from app.storage.schema import answers, keys, secrets
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
    """Revoke an API key; a key that was revoked before keeps its time."""

    key: str
    now: int

    def apply(self, connection: Connection) -> None:
        """Update the row."""
        query = update(keys).where(keys.c.id == self.key, keys.c.revoked_at.is_(None))
        connection.execute(query.values(revoked_at=self.now))


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
        """Insert the row; `Stale` if the same request was answered meanwhile."""
        try:
            connection.execute(insert(answers), asdict(self.row))
        except IntegrityError as error:
            raise Stale("the request was answered meanwhile") from error


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
