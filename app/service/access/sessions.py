"""Browser sessions: a signed cookie that names a key, and a token against forged requests (CSRF).

Nothing of a session is stored. The digest of the key's secret is part of the signing key, so that
revoking or replacing a key ends its sessions.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from itsdangerous import BadSignature, TimestampSigner

from app.service.access.keys import ANYONE, Caller, Keys
from app.storage.commands.access import AddSecret
from app.storage.database import Database
from app.storage.queries import access

SESSION_SECONDS = 14 * 24 * 3600
_NAME = "sessions"


@dataclass(frozen=True)
class Session:
    """A signed-in browser."""

    caller: Caller
    text: str  # the value of the cookie
    token: str  # required in every form and in every fetch that changes something


class Sessions:
    """Opens sessions and verifies their cookies."""

    def __init__(self, database: Database, keys: Keys) -> None:
        self._database = database
        self._keys = keys
        self._secret = b""

    async def start(self) -> None:
        """Read the secret that cookies are signed with; the first start creates it."""
        stored = await self._database.read(access.secret, _NAME)
        if stored is None:
            await self._database.commit(AddSecret(_NAME, secrets.token_bytes(32)))
            stored = await self._database.read(access.secret, _NAME)
        assert stored is not None
        self._secret = stored

    async def open(self, caller: Caller) -> Session:
        """A new session of a caller."""
        found = await self._keys.caller_of(caller.key)
        digest = "" if found is None else found[1]
        value = f"{caller.key}.{secrets.token_urlsafe(12)}"
        text = self._signer("session", digest).sign(value).decode()
        return self._session(caller, text, digest)

    async def read(self, text: str | None) -> Session | None:
        """The session of a cookie; None if it is forged, expired, or its key was revoked."""
        if text is None:
            return None
        found: tuple[Caller, str] | None = ANYONE, ""
        if self._keys.are_on:
            found = await self._keys.caller_of(text.partition(".")[0])
        if found is None:
            return None
        caller, digest = found
        try:
            self._signer("session", digest).unsign(text, max_age=SESSION_SECONDS)
        except BadSignature:
            return None
        return self._session(caller, text, digest)

    def _session(self, caller: Caller, text: str, digest: str) -> Session:
        return Session(caller, text, self._signer("form", digest).get_signature(text).decode())

    def _signer(self, purpose: str, digest: str) -> TimestampSigner:
        return TimestampSigner(
            self._secret,
            salt=f"plaudit {purpose} {digest}",
            key_derivation="hmac",
            digest_method=hashlib.sha256,
        )
