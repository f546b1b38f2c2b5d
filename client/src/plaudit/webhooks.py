"""Receiving webhooks: check a signature, and read the message."""

from __future__ import annotations

import hashlib
import hmac
import json
import time

from plaudit._core.parsing import parse
from plaudit.answers.webhooks import WebhookMessage
from plaudit.errors import InvalidArgument


def read_webhook_message(
    body: bytes, signature: str, secret: str, *, tolerance: float = 300.0
) -> WebhookMessage:
    """The message of a webhook, once its signature is checked.

    ``body`` is the request's body as it came, ``signature`` its header `Plaudit-Signature`. A
    message that was signed more than ``tolerance`` seconds ago is refused, so that nobody sends
    an old one again.
    """
    parts = [part.partition("=") for part in signature.split(",")]
    times = [value for name, _, value in parts if name == "t"]
    if len(times) != 1 or not (times[0].isascii() and times[0].isdigit()):
        raise InvalidArgument("The signature has no time.")
    signed = times[0].encode() + b"." + body
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    marks = [value for name, _, value in parts if name == "v1"]
    if not any(hmac.compare_digest(expected.encode(), mark.encode()) for mark in marks):
        raise InvalidArgument("The signature does not fit the message and the secret.")
    if abs(time.time() - int(times[0])) > tolerance:
        raise InvalidArgument(f"The message was signed more than {tolerance:g} s ago.")
    return parse(WebhookMessage, json.loads(body))
