"""Processes that start at once: forked from a template that has imported the whole program.

The template is the fork server of `multiprocessing`, one for each process of pytest. Importing the
program and loading its compiled code takes seconds; forking the template takes milliseconds.
"""

import multiprocessing
import os
import socket
import sys
from contextlib import contextmanager
from multiprocessing import connection, forkserver
from subprocess import CompletedProcess
from tempfile import TemporaryFile

from tests.support.changes import change

FORKED = multiprocessing.get_context("forkserver")
_PRELOADED = ["tests.support.preloaded"]

forkserver.set_forkserver_preload(_PRELOADED)
# Learning processes that a test makes itself must not replace what the template imports.
forkserver.set_forkserver_preload = lambda modules: None


def start(arguments, environment, outputs, changes=None):
    """Start `plaudit ARGUMENTS` in a process of its own, with its output and its errors."""
    options = (arguments, environment, outputs, changes or {})
    process = FORKED.Process(target=_run, args=options, daemon=False)
    with _importable():
        process.start()
    return process


def run(arguments, environment, seconds=120):
    """Run `plaudit ARGUMENTS` to its end: exit code, output and errors, as of `subprocess.run`."""
    with TemporaryFile("w+") as out, TemporaryFile("w+") as errors:
        outputs = [connection.Connection(os.dup(file.fileno())) for file in (out, errors)]
        process = start(arguments, environment, outputs)
        for output in outputs:
            output.close()
        process.join(seconds)
        assert process.exitcode is not None, f"plaudit {arguments} does not end"
        for file in (out, errors):
            file.seek(0)
        return CompletedProcess(arguments, process.exitcode, out.read(), errors.read())


@contextmanager
def _importable():
    """Let the template import the tests, in whatever folder it is started."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def _run(arguments, environment, outputs, changes):
    """The forked process: become what `plaudit` started from a shell would be."""
    os.setsid()
    for number, output in zip((1, 2), outputs, strict=True):
        os.dup2(output.fileno(), number)
    for output in set(outputs):
        output.close()
    sys.stdout.reconfigure(line_buffering=True)
    os.environ.clear()
    os.environ.update(environment)
    _fork_the_fork_server()
    change(**changes)
    from app.cli import main

    sys.argv = ["plaudit", *arguments]
    main()


def _fork_the_fork_server():
    """Give learning processes a fork server that is forked too, instead of a new interpreter."""
    listener, (alive, held) = socket.socket(socket.AF_UNIX), os.pipe()
    address = connection.arbitrary_address("AF_UNIX")
    listener.bind(address)
    listener.listen()
    child = os.fork()
    if child == 0:
        os.close(held)
        try:
            forkserver.main(listener.detach(), alive, preload=[])
        finally:
            os._exit(0)
    listener.close()
    os.close(alive)
    own = forkserver._forkserver
    own._forkserver_address, own._forkserver_alive_fd, own._forkserver_pid = address, held, child
