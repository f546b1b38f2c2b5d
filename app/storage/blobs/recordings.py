"""Where recordings are kept, and what their blobs are called."""

from __future__ import annotations

import secrets
from pathlib import Path

from app.storage.backend import backend_of


def recordings_folder(database_url: str, chosen: str | None) -> Path:
    """The folder that an operator chose, else one that is named after the database.

    A folder belongs to one database, so that files without a row are orphans.
    """
    return Path(chosen) if chosen else backend_of(database_url).recordings_folder(database_url)


def new_recording_name(agent: int, episode: int) -> str:
    """A name that was never used, under its agent's prefix."""
    return f"{agent_prefix(agent)}{episode}-{secrets.token_hex(8)}"


def agent_prefix(agent: int) -> str:
    """What the names of an agent's recordings start with."""
    return f"{agent}/"


def agent_of(name: str) -> int | None:
    """The agent of a recording by its name; None for a blob that is not a recording."""
    agent, _, rest = name.partition("/")
    return int(agent) if agent.isascii() and agent.isdigit() and rest else None
