"""A real browser for tests of pages: chromium, watched for errors and for where it asks."""

import os
from pathlib import Path
from urllib.parse import urlsplit

import pytest

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
PATIENCE = 60_000  # milliseconds


def need_chromium():
    """Skip loudly where there is no browser; CI must have one."""
    if not CHROMIUM.exists():
        assert os.environ.get("CI") != "true", f"CI needs a browser at {CHROMIUM}"
        pytest.skip(f"NOT CHECKED: there is no browser at {CHROMIUM}")


class Watched:
    """What a browser complained about, and every address that it asked for."""

    def __init__(self):
        self.complaints = []
        self.asked = []

    def watch(self, context):
        """Watch every page of a context."""
        context.set_default_timeout(PATIENCE)
        context.on("page", self._page)
        context.on("request", lambda request: self.asked.append(request.url))

    def _page(self, page):
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def strangers(self, url):
        """The addresses that are not of a server."""
        own = urlsplit(url).netloc
        return [
            one
            for one in self.asked
            if not one.startswith(("data:", "blob:")) and urlsplit(one).netloc != own
        ]
