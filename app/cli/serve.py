"""`plaudit serve`."""

from __future__ import annotations

from typing import Annotated

import typer


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    database_url: Annotated[str | None, typer.Option(help="Database to use.")] = None,
) -> None:
    """Serve agents over HTTP. Options override PLAUDIT_* variables and the .env file."""
    from app import server
    from app.settings import load_settings

    server.serve(load_settings(host=host, port=port, database_url=database_url))
