"""Serving: checks first, then uvicorn, with a start and an end that say what happens."""

from __future__ import annotations

import gc
import logging
import signal
import socket

import uvicorn
from fastapi import FastAPI
from rich.console import Console

from app.errors import UnsafeStart
from app.logs import set_up_logs
from app.main import create_app
from app.service.access.keys import Role, read_keys
from app.settings import Settings
from app.storage.database import prepare_database
from app.storage.sqlite.engine import make_reading_engine

log = logging.getLogger(__name__)

_NEW_OBJECTS = 10_000  # until the garbage collector looks through them


def serve(settings: Settings) -> None:
    """Migrate, check that it is safe, and serve until told to stop."""
    set_up_logs(settings.log_format, settings.log_level)
    prepare_database(settings.database_url)
    refuse_unsafe(settings)
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=int(settings.drain_seconds),
        lifespan="on",
    )
    server = _Server(config, app, settings)
    for ending in (signal.SIGINT, signal.SIGTERM):
        # Uvicorn raises what ended it once more when all is done; to end well is no failure.
        signal.signal(ending, server.handle_exit)
    server.run()
    if not server.started:
        raise SystemExit(1)


def refuse_unsafe(settings: Settings) -> None:
    """Refuse to let anybody in by accident."""
    if settings.is_loopback or settings.allow_anyone or settings.admin_key is not None:
        return
    engine = make_reading_engine(settings.database_url)
    with engine.connect() as connection:
        keys = [key for key, _ in read_keys(connection) if key.revoked_at is None]
    engine.dispose()
    if not any(key.role is Role.admin for key in keys):
        raise UnsafeStart(
            f"{settings.host} can be reached from other machines and there is no key. Set "
            "PLAUDIT_ADMIN_KEY (16 characters or more), or make one with `plaudit keys create NAME "
            "--role admin`, or say PLAUDIT_ALLOW_ANYONE=true if everybody may do everything"
        )


def _spare_what_stays() -> None:
    """Keep the garbage collector from going through the whole program again and again.

    What is there once the server has started stays there; looking through it took a third of the
    time of a step.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)


class _Server(uvicorn.Server):
    """Uvicorn that says where it listens and ends its streams first."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, settings: Settings) -> None:
        super().__init__(config)
        self._app = app
        self._settings = settings

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            _spare_what_stays()
            self._greet()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        log.info("stopping")
        self._app.state.container.broadcast.close()  # streams would never end by themselves
        await super().shutdown(sockets)

    def _greet(self) -> None:
        """A line for the log and, where people read it, a few more."""
        listening = self.servers[0].sockets[0].getsockname()
        host = f"[{listening[0]}]" if ":" in listening[0] else listening[0]
        url = f"http://{host}:{listening[1]}{self._settings.root_path}"
        keys, data = self._app.state.container.keys, self._settings.database_url
        fields = {"url": url, "database": data, "keys": "on" if keys.are_on else "off"}
        log.info("serving", extra={**fields, "version": self._app.version})
        if self._settings.log_format == "json":
            return
        console = Console(highlight=False, soft_wrap=True)
        console.print(f"[bold]Plaudit[/bold] listens on [bold]{url}[/bold]")
        console.print(f"  agents       {url}/")
        console.print(f"  label        {url}/label")
        console.print(f"  try the API  {url}/docs")
        console.print(f"  data         {data}")
        console.print(f"  keys         {self._say_keys(keys.are_on)}")
        console.print("  stop         Ctrl-C")

    def _say_keys(self, are_on: bool) -> str:
        if are_on:
            return "on: Authorization: Bearer …"
        if self._settings.is_loopback:
            return "off: only this machine can reach it"
        return "off: everybody who can reach it may do everything"
