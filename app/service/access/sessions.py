"""Sessions of browsers: a signed text that names a key, and a token against forged requests.

Nothing is kept of a session: the text says whose it is and until when, and the signature covers
the digest of the key's secret too, so that a key that is revoked or replaced ends its sessions.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from dataclasses import dataclass

from app.service.access.keys import ANYONE, Caller, Keys
from app.storage.commands.access import AddSecret
from app.storage.database import Database
from app.storage.queries import access

SESSION_SECONDS = 14 * 24 * 3600
_NAME = "sessions"
_TEXT = re.compile(r"([A-Za-z0-9_]{1,60})\.([0-9]{1,12})\.([A-Za-z0-9_-]{1,40})\.([0-9a-f]{64})")


@dataclass(frozen=True)
class Session:
    """Somebody at a browser."""

    caller: Caller
    text: str  # what the cookie holds
    token: str  # what every form and every fetch that changes something must carry


class Sessions:
    """Opens sessions and recognises them."""

    def __init__(self, database: Database, keys: Keys) -> None:
        self._database = database
        self._keys = keys
        self._secret = b""

    async def start(self) -> None:
        """Read the secret that sessions are signed with; make it where there is none."""
        stored = await self._database.read(access.secret, _NAME)
        if stored is None:
            await self._database.commit(AddSecret(_NAME, secrets.token_bytes(32)))
            stored = await self._database.read(access.secret, _NAME)
        assert stored is not None
        self._secret = stored

    async def open(self, caller: Caller) -> Session:
        """A new session of a caller."""
        found = await self._keys.caller_of(caller.key)
        hashed = "" if found is None else found[1]
        until = int(time.time()) + SESSION_SECONDS
        said = f"{caller.key}.{until}.{secrets.token_urlsafe(12)}"
        return self._session(caller, said, hashed)

    async def read(self, text: str | None) -> Session | None:
        """The session that a cookie holds, if it is one and still good."""
        match = _TEXT.fullmatch(text or "")
        if match is None or int(match[2]) < time.time():
            return None
        if not self._keys.are_on:
            caller, hashed = ANYONE, ""
        else:
            found = await self._keys.caller_of(match[1])
            if found is None:
                return None
            caller, hashed = found
        session = self._session(caller, match[0].rpartition(".")[0], hashed)
        return session if hmac.compare_digest(session.text, match[0]) else None

    def _session(self, caller: Caller, said: str, hashed: str) -> Session:
        signature = self._sign("session", said, hashed)
        return Session(caller, f"{said}.{signature}", self._sign("form", said, hashed))

    def _sign(self, *parts: str) -> str:
        return hmac.new(self._secret, "\n".join(parts).encode(), hashlib.sha256).hexdigest()
