"""Browser sessions: a signed cookie that names a key and a row, and a token against CSRF.

A session lasts until its row is gone: at a sign-out, when somebody ends it from another device,
when its key is revoked, or after two weeks. The digest of the key's secret is part of the signing
key, so that a replaced admin key ends its sessions too. Where keys are off nothing is stored.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from itsdangerous import BadSignature, TimestampSigner

from app.errors import NotFound, PlauditError
from app.service.access.keys import ANYONE, Caller, Keys, Role
from app.storage.commands.access import (
    AddSecret,
    AddSession,
    EndSessions,
    ForgetSessions,
    SeeSession,
)
from app.storage.database import Database, now_milliseconds
from app.storage.queries import access
from app.storage.rows import SessionRow

SESSION_SECONDS = 14 * 24 * 3600
_SEEN_MILLISECONDS = 60_000  # the time of the last use is exact to a minute
_NAME = "sessions"
_LONGEST_DEVICE, _LONGEST_ADDRESS = 200, 64


@dataclass(frozen=True)
class Session:
    """A signed-in browser."""

    caller: Caller
    text: str  # the value of the cookie
    token: str  # required in every form and in every fetch that changes something


@dataclass(frozen=True)
class Device:
    """A session as its list shows it."""

    id: str
    key_name: str
    browser: str  # the User-Agent header
    address: str
    signed_in_at: int
    seen_at: int
    is_current: bool


class Sessions:
    """Opens, verifies, lists and ends sessions."""

    def __init__(self, database: Database, keys: Keys) -> None:
        self._database = database
        self._keys = keys
        self._secret = b""
        self.on_end: Callable[[Sequence[str]], None] = lambda _: None
        """Called with the ids of sessions that have ended."""

    async def start(self) -> None:
        """Read the secret that cookies are signed with; the first start creates it."""
        stored = await self._database.read(access.secret, _NAME)
        if stored is None:
            await self._database.commit(AddSecret(_NAME, secrets.token_bytes(32)))
            stored = await self._database.read(access.secret, _NAME)
        assert stored is not None
        self._secret = stored

    async def open(self, caller: Caller, browser: str = "", address: str = "") -> Session:
        """A new session of a caller."""
        found, id_ = await self._keys.caller_of(caller.key), secrets.token_urlsafe(12)
        digest = "" if found is None else found[1]
        if caller is not ANYONE:
            caller, now = replace(caller, session=id_), now_milliseconds()
            browser, address = browser[:_LONGEST_DEVICE], address[:_LONGEST_ADDRESS]
            row = SessionRow(id_, caller.key, browser, address, now, now)
            await self._database.commit(AddSession(row))
        text = self._signer("session", digest).sign(f"{caller.key}.{id_}").decode()
        return self._session(caller, text, digest)

    async def read(self, text: str | None) -> Session | None:
        """The session of a cookie; None if it is forged, expired or ended."""
        if text is None:
            return None
        key, _, rest = text.partition(".")
        found: tuple[Caller, str] | None = ANYONE, ""
        if self._keys.are_on:
            found = await self._keys.caller_of(key)
        if found is None:
            return None
        caller, digest = found
        try:
            self._signer("session", digest).unsign(text, max_age=SESSION_SECONDS)
        except BadSignature:
            return None
        if caller is not ANYONE:
            id_ = rest.partition(".")[0]
            row = await self._database.read(access.session_row, id_)
            if row is None or row.key != key:
                return None
            caller = replace(caller, session=id_)
            await self._see(row)
        return self._session(caller, text, digest)

    async def devices(self, caller: Caller) -> list[Device]:
        """The sessions that a caller may end: those of its key, for an admin all."""
        names = {key.id: key.name for key in await self._keys.all()}
        return [
            Device(
                row.id,
                names.get(row.key, "admin"),
                row.device,
                row.address,
                row.created_at,
                row.seen_at,
                row.id == caller.session,
            )
            for row in await self._rows(caller)
        ]

    async def end(self, caller: Caller, session: str) -> None:
        """End a session that the caller may end."""
        if session not in {row.id for row in await self._rows(caller)}:
            raise NotFound("session", session[:80])
        await self._end([session])

    async def end_others(self, caller: Caller) -> None:
        """End the sessions of the caller's key but this one."""
        rows = await self._database.read(access.session_rows, caller.key)
        await self._end([row.id for row in rows if row.id != caller.session])

    async def forget_old(self) -> None:
        """Drop the rows of sessions that have expired."""
        before = now_milliseconds() - 1000 * SESSION_SECONDS
        self.on_end(await self._database.commit(ForgetSessions(before)))

    async def _rows(self, caller: Caller) -> list[SessionRow]:
        sees_all = caller.role is Role.admin
        return await self._database.read(access.session_rows, None if sees_all else caller.key)

    async def _end(self, ended: Sequence[str]) -> None:
        await self._database.commit(EndSessions(ended))
        self.on_end(ended)

    async def _see(self, row: SessionRow) -> None:
        now = now_milliseconds()
        if abs(now - row.seen_at) > _SEEN_MILLISECONDS:
            with suppress(PlauditError):  # reading goes on where nothing can be written
                await self._database.commit(SeeSession(row.id, now))

    def _session(self, caller: Caller, text: str, digest: str) -> Session:
        return Session(caller, text, self._signer("form", digest).get_signature(text).decode())

    def _signer(self, purpose: str, digest: str) -> TimestampSigner:
        return TimestampSigner(
            self._secret,
            salt=f"plaudit {purpose} {digest}",
            key_derivation="hmac",
            digest_method=hashlib.sha256,
        )
