"""How migrations run: on the connection that the caller made, or on the configured database."""

from alembic import context
from sqlalchemy import Connection

from app.settings import load_settings
from app.storage.schema import metadata
from app.storage.sqlite.engine import make_writing_engine


def _run(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    _run(given)
else:
    with make_writing_engine(load_settings().database_url).connect() as made:
        _run(made)
