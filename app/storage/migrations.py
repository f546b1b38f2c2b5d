"""Bringing a database to the schema of this version, with Alembic."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Engine

from app.errors import UnsafeStart
from app.storage.blobs.base import BlobStore
from app.storage.blobs.folder import FolderBlobs
from app.storage.blobs.recordings import recordings_folder


def migrate(engine: Engine, revision: str = "head", blobs: BlobStore | None = None) -> None:
    """Upgrade the database; it is created when it is not there.

    ``blobs`` is where recordings are kept, by default the folder next to the database.
    """
    with engine.connect() as connection:
        try:
            command.upgrade(_config(connection, blobs or _default_blobs(engine)), revision)
        except CommandError as error:
            raise UnsafeStart(f"a newer version made the database: {error}") from error
        connection.commit()


def downgrade(engine: Engine, revision: str, blobs: BlobStore | None = None) -> None:
    """Take the database back to an earlier revision."""
    with engine.connect() as connection:
        command.downgrade(_config(connection, blobs or _default_blobs(engine)), revision)
        connection.commit()


def current_revision(engine: Engine) -> str | None:
    """The revision that a database is at."""
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def newest_revision() -> str | None:
    """The revision that this version needs."""
    return ScriptDirectory.from_config(_config(None)).get_current_head()


def known_revisions() -> set[str]:
    """Every revision that this version can upgrade from."""
    return {
        script.revision for script in ScriptDirectory.from_config(_config(None)).walk_revisions()
    }


def _default_blobs(engine: Engine) -> BlobStore:
    url = engine.url.render_as_string(hide_password=False)
    return FolderBlobs(recordings_folder(url, None))


def _config(connection: object, blobs: BlobStore | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_folder()))
    config.attributes["connection"] = connection
    config.attributes["blobs"] = blobs
    return config


def _folder() -> Path:
    """Beside the package in the repository, inside it once installed."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "migrations"
    return inside if inside.is_dir() else package.parent / "alembic"
