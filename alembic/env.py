"""How migrations run: on the connection that the caller made, or on the configured database."""

from alembic import context
from sqlalchemy import Connection

from app.settings import load_settings
from app.storage.backend import backend_of
from app.storage.blobs.folder import FolderBlobs
from app.storage.blobs.recordings import recordings_folder
from app.storage.schema import metadata


def _run(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    _run(given)
else:
    settings = load_settings()
    folder = recordings_folder(settings.database_url, settings.recordings_folder)
    context.config.attributes["blobs"] = FolderBlobs(folder)
    url = settings.database_url
    with backend_of(url).writing_engine(url).connect() as new_connection:
        _run(new_connection)
