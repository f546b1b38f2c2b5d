"""The HTTP server: prepares the database, refuses unsafe settings, then runs uvicorn."""

from __future__ import annotations

import gc
import logging
import math
import resource
import signal
import socket

import uvicorn
from fastapi import FastAPI
from rich.console import Console

from app.api.http.connections import SWEEP_SECONDS, ConnectionLimits, Connections
from app.errors import UnsafeStart
from app.logs import set_up_logs
from app.main import create_app
from app.service.access.keys import has_admin_key
from app.settings import Settings, unknown_variables
from app.storage.database import prepare_database

log = logging.getLogger(__name__)

_GC_THRESHOLD = 10_000  # new objects until the garbage collector runs
_FILES = 200  # open files that are not connections: databases, pipes, libraries
_TICKS = round(SWEEP_SECONDS / 0.1)  # uvicorn ticks ten times a second


def serve(settings: Settings) -> None:
    """Upgrade the database, check that serving is safe, and serve until a signal arrives."""
    set_up_logs(settings.log_format, settings.log_level)
    for name in unknown_variables():
        log.warning("unknown setting", extra={"variable": name})
    prepare_database(settings.database_url, settings.recordings_folder)
    require_keys(settings)
    _raise_file_limit(settings.connections)
    sockets = bind(settings.host, settings.port)
    app = create_app(settings)
    server = Server(app, settings)
    for ending in (signal.SIGINT, signal.SIGTERM):
        # Uvicorn raises the signal again after a shutdown. With its own handler installed before
        # it starts, this changes nothing, and the process exits with code 0.
        signal.signal(ending, server.handle_exit)
    server.run(sockets)
    if not server.started:
        raise SystemExit(1)


def require_keys(settings: Settings) -> None:
    """Refuse to serve other machines without keys, unless the operator allows that explicitly."""
    if settings.is_loopback or settings.allow_anyone or settings.admin_key is not None:
        return
    if not has_admin_key(settings.database_url):
        raise UnsafeStart(
            f"{settings.host} can be reached from other machines and there is no admin key. Set "
            "PLAUDIT_ADMIN_KEY (16 characters or more), or make one with `plaudit keys create NAME "
            "--role admin`, or set PLAUDIT_ALLOW_ANYONE=true if everyone may do everything"
        )


def bind(host: str, port: int) -> list[socket.socket]:
    """Bind a socket to every address of a host name, before anything else is started."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        sockets: list[socket.socket] = []
        for family, *_, address in dict.fromkeys(found):
            free = sockets[0].getsockname()[1] if sockets else port
            sockets.append(_bind(family, (address[0], free, *address[2:])))
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnsafeStart(
            f"cannot listen on {host} port {port}: {reason}; "
            "set PLAUDIT_HOST and PLAUDIT_PORT, or --host and --port"
        ) from error
    return sockets


def _bind(family: int, address: tuple[object, ...]) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    listener.bind(address)
    return listener


def _raise_file_limit(connections: int) -> None:
    """Let this process open as many files as its connections need, within the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        if limit < wanted:
            log.warning("few open files allowed", extra={"allowed": limit, "wanted": wanted})


def _freeze_garbage() -> None:
    """Exclude all objects that exist now from garbage collection.

    Modules, routes and models stay for as long as the server runs. Scanning them again and again
    took a third of the time of a step.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD)


class Server(uvicorn.Server):
    """Uvicorn with limits on connections, a greeting, and streams that end at a shutdown."""

    def __init__(self, app: FastAPI, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._connections = Connections(_limits(settings), app.state.metrics)
        gauge = app.state.metrics.gauge
        gauge("plaudit_connections", "Open connections.", lambda: len(self._connections.open))
        super().__init__(_configuration(app, settings, self._connections))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening, and log the address."""
        await super().startup(sockets)
        if self.started:
            _freeze_garbage()
            self._greet()

    async def on_tick(self, counter: int) -> bool:
        """Close connections of slow clients, once a second."""
        if counter % _TICKS == 0:
            self._connections.sweep(SWEEP_SECONDS)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, end the event streams, and wait for requests in progress."""
        log.info("stopping")
        self._app.state.container.events.close()  # streams do not end by themselves
        await super().shutdown(sockets)

    def _greet(self) -> None:
        """Log where the server listens; in text mode also print a summary for people."""
        address, port, *_ = self.servers[0].sockets[0].getsockname()
        host = f"[{address}]" if ":" in address else address
        url = f"http://{host}:{port}{self._settings.root_path}"
        container = self._app.state.container
        keys, data = container.keys, container.database.name
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
        console.print(f"  keys         {self._describe_keys(keys.are_on)}")
        console.print("  stop         Ctrl-C")

    def _describe_keys(self, are_on: bool) -> str:
        if are_on:
            return "on: Authorization: Bearer …"
        if self._settings.is_loopback:
            return "off: only this machine can reach it"
        return "off: everybody who can reach it may do everything"


def _limits(settings: Settings) -> ConnectionLimits:
    return ConnectionLimits(
        header_bytes=settings.header_bytes,
        header_seconds=settings.header_seconds,
        body_seconds=settings.body_seconds,
        idle_seconds=settings.keep_alive_seconds,
        connections=settings.connections,
        connections_per_address=settings.connections_per_address,
    )


def _configuration(app: FastAPI, settings: Settings, connections: Connections) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=connections.protocol(),
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        forwarded_allow_ips=settings.trusted_proxies,
        timeout_keep_alive=math.ceil(settings.keep_alive_seconds),
        timeout_graceful_shutdown=math.ceil(settings.drain_seconds),
        lifespan="on",
    )
