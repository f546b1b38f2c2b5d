"""Signatures of deliveries: HMAC-SHA256 over the time and the body."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence

HEADER = "Plaudit-Signature"


def new_secret() -> str:
    """A random secret that signs deliveries."""
    return f"whsec_{secrets.token_urlsafe(32)}"


def signature(body: bytes, seconds: int, keys: Sequence[str]) -> str:
    """The header of a delivery at a time: ``t=…,v1=…``, with one v1 for each secret in force."""
    signed = b"%d." % seconds + body
    marks = [hmac.new(key.encode(), signed, hashlib.sha256).hexdigest() for key in keys]
    return ",".join([f"t={seconds}", *(f"v1={mark}" for mark in marks)])
