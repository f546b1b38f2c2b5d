"""Where recordings are kept, and what their blobs are called."""

from __future__ import annotations

import secrets
from pathlib import Path

from app.errors import InvalidValue
from app.storage.sqlite.engine import database_file


def recordings_folder(database_url: str, chosen: str | None) -> Path:
    """The configured folder; by default a folder next to the database file.

    A folder belongs to one database, so that files without a row are orphans.
    """
    if chosen:
        return Path(chosen)
    try:
        file = database_file(database_url).resolve()  # a symlink names the same database
    except InvalidValue:  # a database that is not a file
        return Path("data") / "recordings"
    return file.with_name(file.name + ".recordings")


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
