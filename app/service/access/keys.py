"""Keys and roles: who may do what. Secrets are random and stored hashed."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.errors import Forbidden, InvalidValue, NotFound, Unauthenticated
from app.service.access.idempotency import Remember
from app.service.access.visibility import EVERY_AGENT, Visibility
from app.service.runtime.ids import read_agent_id
from app.storage.commands.access import AddKey, Answered, RevokeKey
from app.storage.database import Database, ReadConnection, now_milliseconds
from app.storage.queries import access
from app.storage.queries.agents import existing
from app.storage.reader import Reader
from app.storage.rows import KeyRow
from app.storage.unit_of_work import Command
from app.wire.roles import Role as Role

REFRESH_SECONDS = 2.0  # after which keys that another process changed are read again


_INCLUDES: dict[Role, frozenset[Role]] = {
    Role.admin: frozenset(Role),
    Role.operator: frozenset({Role.operator, Role.robot, Role.actor, Role.labeller, Role.viewer}),
    Role.robot: frozenset({Role.robot}),
    Role.actor: frozenset({Role.actor}),
    Role.labeller: frozenset({Role.labeller}),
    Role.viewer: frozenset({Role.viewer}),
}


@dataclass(frozen=True)
class Caller:
    """Who makes a request."""

    key: str  # its id
    name: str
    role: Role
    sees: Visibility = EVERY_AGENT
    session: str | None = None  # of a browser; None where the key itself was sent

    def may(self, allowed: frozenset[Role]) -> bool:
        """Whether one of the roles that something is allowed for is among the caller's."""
        return bool(_INCLUDES[self.role] & allowed)


ANYONE = Caller("anyone", "anyone", Role.admin)


@dataclass(frozen=True)
class Key:
    """A key without its secret."""

    id: str
    name: str
    role: Role
    created_at: int
    revoked_at: int | None
    agents: frozenset[int] | None = None  # that it is bound to


def digest(secret: str) -> str:
    """The hash of a secret. Secrets are random, so a fast hash is as safe as a slow one."""
    return hashlib.sha256(secret.encode()).hexdigest()


def new_key(name: str, role: Role, agents: frozenset[int] | None = None) -> tuple[Key, str, AddKey]:
    """A key, its secret, and the command that stores it; ``agents`` binds it to some agents."""
    if agents is not None and role is Role.admin:
        raise InvalidValue("agents", "no agents for an admin key. Choose another role to bind it")
    secret = f"plk_{secrets.token_urlsafe(32)}"
    key = Key(f"key_{secrets.token_hex(8)}", name, role, now_milliseconds(), None, agents)
    bound = None if agents is None else sorted(agents)
    row = KeyRow(key.id, name, role.value, digest(secret), key.created_at, None, bound)
    return key, secret, AddKey(row)


def key_of(row: KeyRow) -> Key:
    """A stored key without the digest of its secret."""
    agents = None if row.agents is None else frozenset(_agents_of(row))
    return Key(row.id, row.name, Role(row.role), row.created_at, row.revoked_at, agents)


def _agents_of(row: KeyRow) -> list[int]:
    """The agents that a key is bound to; none if the column is damaged."""
    return row.agents if isinstance(row.agents, list) else []


def has_admin_key(database_url: str) -> bool:
    """Whether a database has an admin key that is not revoked."""
    reader = Reader(database_url)
    try:
        with reader.session() as session:
            rows = session.read(access.key_rows)
    finally:
        reader.close()
    return any(row.role == Role.admin and row.revoked_at is None for row in rows)


def known_agents(connection: ReadConnection, ids: Sequence[str]) -> frozenset[int]:
    """The agents that a key is to be bound to; each must exist."""
    if not ids:
        raise InvalidValue("agents", "at least one agent, or no `agents` for a key that sees all")
    found: set[int] = set()
    for i, id_ in enumerate(ids):
        try:
            number = read_agent_id(id_)
            if not existing(connection, {number}):
                raise NotFound("agent", id_)
        except NotFound as error:
            raise InvalidValue(f"agents.{i}", "the id of an agent that exists") from error
        found.add(number)
    return frozenset(found)


def _caller(key: Key) -> Caller:
    return Caller(key.id, key.name, key.role, Visibility(key.agents))


class Keys:
    """The keys of one server, cached in memory.

    Keys are off only if the settings allow it and no admin key was ever created.
    """

    def __init__(self, database: Database, admin_secret: str | None, may_be_open: bool) -> None:
        self._database = database
        self._may_be_open = may_be_open
        self._admin_digest = None if admin_secret is None else digest(admin_secret)
        self._callers: dict[str, Caller] = {}  # by the digest of the secret
        self._digests: dict[str, str] = {}  # by the id of the key
        self._known: dict[str, Key] = {}
        self._read_at = -REFRESH_SECONDS
        self.are_on = self._admin_digest is not None or not may_be_open  # requests need a key
        self.on_refresh: Callable[[], None] = lambda: None

    async def refresh(self) -> None:
        """Read the keys again."""
        self._read_at = time.monotonic()
        rows = await self._database.read(access.key_rows)
        self._known = {row.id: key_of(row) for row in rows}
        self._callers = {
            row.digest: _caller(self._known[row.id]) for row in rows if row.revoked_at is None
        }
        if self._admin_digest is not None:
            self._callers[self._admin_digest] = Caller("key_admin", "admin", Role.admin)
        self._digests = {caller.key: hashed for hashed, caller in self._callers.items()}
        # Revoking the last admin key must not open the server to everyone.
        made_admin = any(key.role is Role.admin for key in self._known.values())
        has_admin = self._admin_digest is not None or made_admin
        self.are_on = has_admin or not self._may_be_open
        self.on_refresh()

    def is_in_force(self, key: str) -> bool:
        """Whether a key by its id opens something: it was not revoked since the last refresh."""
        return key in self._digests or (key == ANYONE.key and not self.are_on)

    async def caller(self, authorization: str | None) -> Caller:
        """The caller of a request, by its Authorization header."""
        if time.monotonic() - self._read_at > REFRESH_SECONDS:
            await self.refresh()
        if authorization is None:
            if self.are_on:
                raise Unauthenticated("This server needs a key. Send Authorization: Bearer …")
            return ANYONE
        scheme, _, secret = authorization.partition(" ")
        if not self.are_on:
            return ANYONE
        caller = self._callers.get(digest(secret.strip())) if scheme.lower() == "bearer" else None
        if caller is None:
            raise Unauthenticated("This key is unknown or was revoked.")
        return caller

    async def caller_of(self, key: str) -> tuple[Caller, str] | None:
        """The caller of a key by its id, if it is in force, with the digest of its secret."""
        if time.monotonic() - self._read_at > REFRESH_SECONDS:
            await self.refresh()
        hashed = self._digests.get(key)
        return None if hashed is None else (self._callers[hashed], hashed)

    async def create(
        self,
        name: str,
        role: Role,
        agents: Sequence[str] | None = None,
        remember: Remember | None = None,
    ) -> tuple[Key, str]:
        """A new key and its secret, which is shown this once; ``agents`` binds it to some."""
        bound = None if agents is None else await self._database.read(known_agents, agents)
        key, secret, add = new_key(name, role, bound)
        command: Command[None] = add
        if remember is not None:
            command = Answered(add, lambda _: remember(key.id))
        await self._database.commit(command)
        await self.refresh()
        return key, secret

    async def revoke(self, key: str) -> None:
        """Revoke a key. It is refused from now on."""
        await self.refresh()
        if key not in self._known:
            raise NotFound("key", key[:80])
        if self._known[key].revoked_at is None:
            await self._database.commit(RevokeKey(key, now_milliseconds()))
        await self.refresh()

    async def all(self) -> list[Key]:
        """Every key, revoked ones too."""
        await self.refresh()
        return list(self._known.values())


def check(caller: Caller, allowed: frozenset[Role]) -> None:
    """Refuse a caller whose role does not allow it."""
    if not caller.may(allowed):
        roles = ", ".join(sorted(allowed))
        raise Forbidden(f"The role {caller.role} may not do this. It takes {roles}.")
