"""Run the tests against mutants, each in a forked process whose functions are exchanged in place.

The parent imports the product and the tests once. A child takes the code of the changed function
from the changed module, so that everybody who imported the function runs the change.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import json
import os
import resource
import signal
import sys
import time
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coverage
import pytest

from benchmarks.mutations.mutants import Mutant, mutated
from benchmarks.mutations.targets import Break

OPTIONS = (
    "-x",
    "-q",
    "--assert=plain",
    "--noconftest",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:unraisableexception",
    "-m",
    "not slow",
)
SECONDS = 60  # of the processor; a mutant that takes longer is noticed: it hangs
FIRST = 8  # tests that are run before the others
LONGEST = 1800.0  # seconds of any clock, for what sleeps


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant."""

    noticed_by: str | None  # the first test that failed; "time" if the tests did not end
    tests: int = 0  # that run the changed line


@dataclass(frozen=True)
class Baseline:
    """The tests without a change: how long each takes, and which lines it runs."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, set[str]]]  # by path and line

    def tests_of(self, mutant: Mutant, most_seconds: float) -> list[str]:
        """The tests that run the changed line, fastest first, as many as there is time for.

        Lines that run only when the module is imported belong to every test of the module.
        """
        lines, own = self.lines.get(mutant.path, {}), f"/test_{Path(mutant.path).stem}.py::"
        found = lines.get(mutant.line) or set().union(
            *lines.values(), (test for test in self.seconds if own in test)
        )
        ordered = sorted(found - {""}, key=lambda test: (self.seconds[test], test))
        total = 0.0
        chosen: list[str] = []
        for test in ordered:
            total += self.seconds[test]
            if chosen and total > most_seconds:
                break
            chosen.append(test)
        return chosen


class _Watch:
    """A plugin of pytest: processor time, the first failure, and the test that runs now."""

    def __init__(self, began: Callable[[str], object] = lambda _: None) -> None:
        self.began = began
        self.seconds: dict[str, float] = {}
        self.failed: str | None = None
        self._since = 0.0

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._since = time.process_time()
        self.began(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = time.process_time() - self._since
        if report.failed and self.failed is None:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid


def preload(paths: list[str]) -> None:
    """Import these files of the product and of its tests."""
    for path in paths:
        importlib.import_module(path.removesuffix(".py").replace("/", "."))
    gc.collect()
    gc.freeze()  # what is here is never garbage; children need not look at it


def measure(paths: list[str], tests: list[str]) -> Baseline:
    """Run all tests once, in a child; refused where one fails."""

    def run() -> Any:
        watcher = coverage.Coverage(data_file=None, include=paths)
        watch = _Watch(watcher.switch_context)
        watcher.start()
        code = pytest.main([*OPTIONS, *tests], plugins=[watch])
        watcher.stop()
        data = watcher.get_data()
        lines = {}
        for file in data.measured_files():
            found = data.contexts_by_lineno(file)
            lines[os.path.relpath(file)] = {line: sorted(found[line]) for line in found}
        return {"code": int(code), "failed": watch.failed, "seconds": watch.seconds, "lines": lines}

    found = _in_child(run, seconds=1800)
    if found is None or found["code"]:
        raise RuntimeError(f"the tests fail without any change: {found and found['failed']}")
    lines = {
        path: {int(line): set(names) for line, names in by_line.items()}
        for path, by_line in found["lines"].items()
    }
    return Baseline(found["seconds"], lines)


def test_mutant(mutant: Mutant, root: Path, tests: list[str]) -> Outcome:
    """Run the tests with the mutant in force."""
    if not tests:
        return Outcome(None)

    def run() -> Any:
        try:
            source = (root / mutant.path).read_text()
            put_in_force(mutant.path, mutant.owner, mutated(source, mutant), mutant.line)
        except Exception as error:
            return {"failed": f"import: {type(error).__name__}"}
        watch = _Watch()
        for some in (tests[:FIRST], tests[FIRST:]):  # to collect a few is quicker
            if some and watch.failed is None:
                pytest.main([*OPTIONS, *some], plugins=[watch])
        return {"failed": watch.failed}

    found = _in_child(run, SECONDS)
    return Outcome("time" if found is None else found["failed"], len(tests))


def test_break(broken: Break, root: Path) -> bool:
    """Whether the one test that a break is for notices it."""

    def run() -> Any:
        source = (root / broken.path).read_text()
        assert source.count(broken.old) == 1
        put_in_force(broken.path, broken.owner, ast.parse(source.replace(broken.old, broken.new)))
        watch = _Watch()
        pytest.main([*OPTIONS, broken.test], plugins=[watch])
        return {"failed": watch.failed}

    found = _in_child(run, SECONDS)
    return found is not None and found["failed"] == broken.test


test_mutant.__test__ = test_break.__test__ = False  # type: ignore[attr-defined]  # not pytest's


def put_in_force(path: str, owner: str, tree: ast.Module, line: int = 0) -> None:
    """Exchange what was changed in the module, in every module that has imported it.

    ``owner`` is the function; without one the constants of the statement at ``line`` are meant.
    """
    name = path.removesuffix(".py").replace("/", ".")
    module, changed = importlib.import_module(name), types.ModuleType(name)
    changed.__dict__.update(__file__=path, __package__=name.rpartition(".")[0])
    sys.modules[name] = changed  # dataclasses look their module up
    try:
        exec(compile(tree, path, "exec"), changed.__dict__)
    finally:
        sys.modules[name] = module
    if owner:
        pairs = zip(_functions(module, owner), _functions(changed, owner), strict=True)
        for old, new in pairs:
            old.__code__, old.__defaults__ = new.__code__, new.__defaults__
            old.__kwdefaults__ = new.__kwdefaults__
        return
    for name, function in vars(changed).items():  # a constant may be a default
        if isinstance(function, types.FunctionType) and function.__module__ == module.__name__:
            getattr(module, name).__defaults__ = function.__defaults__
    for constant in _assigned(tree, line):
        old_value = getattr(module, constant)
        for other in list(sys.modules.values()):
            if getattr(other, "__dict__", {}).get(constant) is old_value:
                setattr(other, constant, getattr(changed, constant))


def _functions(module: types.ModuleType, owner: str) -> list[types.FunctionType]:
    """The function of this name, or all functions of a class, without their decorators.

    A class stands for the defaults of its fields, which its `__init__` has.
    """
    found: Any = module
    for part in owner.split("."):
        found = vars(found)[part]
        if isinstance(found, types.FunctionType):  # a function inside it is part of its code
            break
    if isinstance(found, type):
        return [
            one for _, one in sorted(vars(found).items()) if isinstance(one, types.FunctionType)
        ]
    for wrapper in ("fget", "func", "__func__", "__wrapped__"):
        found = getattr(found, wrapper, None) or found
    return [found]


def _assigned(tree: ast.Module, line: int) -> list[str]:
    """The names that the top-level statement at this line assigns."""
    for statement in tree.body:
        if statement.lineno <= line <= (statement.end_lineno or line):
            return [node.id for node in ast.walk(statement)
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]  # fmt: skip
    return []


def _in_child(run: Callable[[], Any], seconds: int) -> Any:
    """What ``run`` returns in a forked process; None if it takes longer or dies."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # the tests need none; they load slowly
        with open(os.devnull, "w") as nowhere, contextlib.suppress(BaseException):
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
            with os.fdopen(writer, "w") as pipe:
                json.dump(run(), pipe)
        os._exit(0)
    os.close(writer)
    return _answer(child, reader)


def _answer(child: int, reader: int) -> Any:
    def stop(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    text = ""
    try:
        with os.fdopen(reader) as pipe:
            text = pipe.read()
    except TimeoutError:
        os.kill(child, signal.SIGKILL)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        os.waitpid(child, 0)
    return json.loads(text) if text else None
