"""Where the server is and which key opens it: from arguments, or PLAUDIT_URL and PLAUDIT_KEY."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from plaudit.errors import InvalidArgument
from plaudit.version import __version__

DEFAULT_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Connection:
    """The address of a server, and a key."""

    url: str
    key: str | None = field(default=None, repr=False)

    @property
    def headers(self) -> dict[str, str]:
        """What every request carries."""
        headers = {"User-Agent": f"plaudit-client/{__version__}", "Accept": "*/*"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        return headers


def connection(url: str | None, key: str | None) -> Connection:
    """The connection that arguments and environment describe; arguments come first."""
    given = url or os.environ.get("PLAUDIT_URL") or DEFAULT_URL
    return Connection(_checked_url(given.strip()), _checked_key(key))


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidArgument(
            f"The address {url!r} is not a URL. Give one such as {DEFAULT_URL}, in PLAUDIT_URL or "
            "as Client(url=…)."
        )
    if parts.query or parts.fragment:
        raise InvalidArgument(f"The address {url!r} must end before the '?' or '#'.")
    return url.rstrip("/")


def _checked_key(key: str | None) -> str | None:
    found = (key or os.environ.get("PLAUDIT_KEY") or "").strip()
    if not (found.isascii() and found.isprintable()):
        raise InvalidArgument("The key has characters that no key has. Check PLAUDIT_KEY.")
    return found or None
