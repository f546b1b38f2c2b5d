"""The learning processes: niced, one job each, killed when a job takes too long."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from typing import NamedTuple, overload

from app.errors import PlauditError, StorageUnavailable
from app.planning.problem import PlanBudget
from app.planning.warm_up import LATER_STAGES, warm_up_first
from app.service.training.jobs import (
    Job,
    JobResult,
    LearningJob,
    LearningResult,
    RankingJob,
    RebuildJob,
)
from app.service.training.scheduler import Scheduler, Work
from app.service.training.worker import Worker
from app.storage.reader import Reader
from app.storage.rows import PlanRow

log = logging.getLogger(__name__)

NICENESS = 10
START_SECONDS = 300.0  # a cold cache compiles for ten seconds or more before the first job
IDLE_SECONDS = 1.0  # without a job, after which a process compiles what later jobs may need
SECONDS_PER_CELL = 5e-6  # of learning, per (step, state, action): 2.4 to 6 were measured
_READY = "ready"
_QUARTERS = 4  # how often a process reports while it compiles


class Compiling(NamedTuple):
    """How many of a planner's kernels are compiled."""

    done: int
    total: int


Message = JobResult | PlauditError | Compiling | str
"""What a learning process sends: `_READY` once, then a result or an error for each job."""
_MOST_HOMES = 10_000  # agents whose last process is remembered


class JobFailed(PlauditError):
    """A job that crashed, was killed or took too long. The message is for people."""


class _Preempted(Exception):
    """A job whose process was ended for a shorter one."""


class ProcessPool:
    """A fixed number of processes that take jobs, each one at a time."""

    def __init__(
        self,
        count: int,
        database_url: str,
        check: Callable[[], None],
        budget: PlanBudget,
        warm_bytes: float,
        seconds: float,
        scheduler: Scheduler,
    ) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["app.service.training.process_pool"])
        self._seconds = seconds
        # The last process compiles while it is idle; the others load what it wrote to the cache.
        last = count - 1
        self._slots = [
            _Slot(context, database_url, budget, warm_bytes, n == last, check) for n in range(count)
        ]
        self._free = list(self._slots)
        self._scheduler = scheduler
        self._homes: dict[int, _Slot] = {}  # by agent: the process that ran its last job
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="learning")
        self._closed = False

    @property
    def ready(self) -> bool:
        """Whether a process has come up."""
        return any(slot.is_ready for slot in self._slots)

    @property
    def size(self) -> int:
        """How many processes there are."""
        return len(self._slots)

    @property
    def busy(self) -> int:
        """How many processes are at work."""
        return len(self._slots) - len(self._free)

    async def start(self) -> None:
        """Start the first process, which may have to compile, and then the others."""
        began = time.perf_counter()
        outcomes = await self._start(self._slots[:1]) + await self._start(self._slots[1:])
        failures = [outcome for outcome in outcomes if outcome is not None]
        if self._closed:
            return
        for failure in failures:
            log.error("a learning process did not start", extra={"reason": str(failure)})
        fields = {"processes": len(outcomes) - len(failures)}
        log.info(
            "learning ready", extra={**fields, "seconds": round(time.perf_counter() - began, 1)}
        )

    async def _start(self, slots: list[_Slot]) -> list[BaseException | None]:
        """Start processes side by side; the error of each that failed."""
        loop = asyncio.get_running_loop()
        starts = [loop.run_in_executor(self._threads, slot.start) for slot in slots]
        return await asyncio.gather(*starts, return_exceptions=True)

    @overload
    async def run(self, job: LearningJob, started: Callable[[], None] = ...) -> LearningResult: ...

    @overload
    async def run(self, job: RankingJob, started: Callable[[], None] = ...) -> list[float]: ...

    @overload
    async def run(self, job: RebuildJob, started: Callable[[], None] = ...) -> list[PlanRow]: ...

    async def run(self, job: Job, started: Callable[[], None] = lambda: None) -> JobResult:
        """Run a job in a free process, the agent's last one if that is free.

        A job that is preempted runs again later: nothing of it was stored.
        """
        work = Work(job.agent, type(job).__name__, job.cells * SECONDS_PER_CELL)
        while True:
            async with self._scheduler.turn(work) as turn:
                slot = self._take(job.agent)
                turn.preempt = slot.preempt
                try:
                    started()
                    loop = asyncio.get_running_loop()
                    return await loop.run_in_executor(self._threads, slot.run, job, self._seconds)
                except _Preempted:
                    log.info("learning preempted", extra={"job": work.kind})
                finally:
                    self._free.append(slot)

    def _take(self, agent: int) -> _Slot:
        home = self._homes.get(agent)
        # A process that may be compiling comes last: a short job would wait for seconds.
        first = min(self._free, key=lambda slot: slot.compiles)
        slot = home if home is not None and home in self._free else first
        self._free.remove(slot)
        if len(self._homes) > _MOST_HOMES:
            self._homes.clear()
        self._homes[agent] = slot
        return slot

    async def close(self) -> None:
        """End every process; a job under way is done again after the next start."""
        self._closed = True
        for slot in self._slots:
            slot.stop()
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)


class _Slot:
    """One process and the pipe to it; used by one thread at a time."""

    def __init__(
        self,
        context: ForkServerContext,
        url: str,
        budget: PlanBudget,
        warm_bytes: float = 1e9,
        compiles: bool = False,
        check: Callable[[], None] | None = None,
    ) -> None:
        self._context, self._arguments = context, (url, budget, warm_bytes, compiles, check)
        self.compiles = compiles
        self._pipe: Connection | None = None
        self.process: BaseProcess | None = None
        self.is_ready = False
        self._preempted = False
        self._stopped = threading.Event()
        self._starting = threading.Lock()

    def start(self) -> None:
        """Start the process and wait until it is ready; also for a start that is under way."""
        with self._starting:
            self._start()

    def _start(self) -> None:
        if self._stopped.is_set() or (self.is_ready and self.process and self.process.is_alive()):
            return
        self._kill()
        parent_end, child_end = self._context.Pipe()
        process = self._context.Process(
            target=_serve, args=(child_end, *self._arguments), name="plaudit-learn", daemon=True
        )
        process.start()
        child_end.close()
        self._pipe, self.process = parent_end, process
        if self._stopped.is_set():  # stopped during the start: do not wait for compiling
            self._kill()
            raise JobFailed("the server is shutting down")
        while isinstance(message := self._receive(START_SECONDS), Compiling):
            log.info("compiling the planners", extra=message._asdict())
        if message != _READY:
            raise JobFailed("the learning process did not start")
        self.is_ready = True

    def run(self, job: Job, seconds: float) -> JobResult:
        """Send a job and wait for its result."""
        self._preempted = False
        self.start()
        assert self._pipe is not None
        try:
            self._pipe.send(job)
        except OSError as error:  # the process died after its last job: start another one
            self._kill()
            if self._stopped.is_set():
                raise JobFailed("the server is shutting down") from error
            self.start()
            self._pipe.send(job)
        outcome = self._receive(seconds)
        if isinstance(outcome, StorageUnavailable):
            self._kill()  # the next process opens the files that are in their places then
        if isinstance(outcome, PlauditError):
            raise outcome
        assert not isinstance(outcome, Compiling | str)
        return outcome

    def preempt(self) -> None:
        """End the process, so that another job can have its place."""
        self._preempted = True
        if self.process is not None:
            self.process.kill()

    def stop(self) -> None:
        """Kill the process, even while it runs a job."""
        self._stopped.set()
        if self.process is not None:
            self.process.kill()

    def _receive(self, seconds: float) -> Message:
        assert self._pipe is not None
        try:
            if self._pipe.poll(seconds):
                message: Message = self._pipe.recv()
                return message
        except (EOFError, OSError) as error:
            code = self._kill()
            if self._preempted:
                raise _Preempted from error
            raise JobFailed(f"the learning process died (exit code {code})") from error
        self._kill()
        raise JobFailed(f"took longer than the {seconds:g} s that learning may take")

    def _kill(self) -> int | None:
        """End the process and forget it; its exit code."""
        self.is_ready = False
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if self.process is None:
            return None
        self.process.kill()
        self.process.join()
        code, self.process = self.process.exitcode, None
        return code


def _serve(
    pipe: Connection,
    url: str,
    budget: PlanBudget,
    warm_bytes: float,
    compiles: bool,
    check: Callable[[], None] | None,
) -> None:
    """The loop of a learning process, until the serving process closes the pipe or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the serving process
    os.nice(NICENESS)
    with suppress(BrokenPipeError):  # the serving process died: nobody waits for the result
        warm_up_first(partial(_report, pipe))
        _work(pipe, Worker(Reader(url, check), budget, warm_bytes), compiles)


def _work(pipe: Connection, worker: Worker, compiles: bool) -> None:
    """Carry out jobs; between them, compile what later jobs may need."""
    pipe.send(_READY)
    stages = list(reversed(LATER_STAGES)) if compiles else []
    while True:
        try:
            job = pipe.recv() if pipe.poll(IDLE_SECONDS if stages else None) else None
        except (EOFError, OSError):
            return
        if job is None:
            stages.pop().compile()
        else:
            pipe.send(_outcome(worker, job))


def _report(pipe: Connection, done: int, total: int) -> None:
    """Report the progress of compiling to the serving process, four times."""
    if done * _QUARTERS // total > (done - 1) * _QUARTERS // total:
        pipe.send(Compiling(done, total))


def _outcome(worker: Worker, job: Job) -> JobResult | PlauditError:
    """A job's result or error, serialised for the parent process."""
    try:
        return worker.run(job)
    except PlauditError as error:
        return error
    except MemoryError:
        return JobFailed("needed more memory than there is")
    except Exception as error:
        return JobFailed(f"{type(error).__name__}: {error}")
