"""The processes that learn, seen from the server that starts them."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.planning.problem import PlanBudget
from app.service.training.process_pool import ProcessPool, _Slot
from app.service.training.scheduler import FairScheduler
from tests.support.databases import database_url
from tests.support.running import wait_until


@pytest.fixture
def slot(tmp_path):
    context = multiprocessing.get_context("forkserver")
    slot = _Slot(context, database_url(tmp_path), PlanBudget())
    yield slot
    slot.stop()
    slot.process.join()


def test_a_job_that_comes_while_a_process_starts_does_not_start_it_again(slot):
    """The first job may be given to a process before it is ready: it must wait for it."""
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda _: slot.start(), range(2)))
    assert slot.is_ready
    assert slot.process.is_alive()


@pytest.mark.slow
def test_a_process_is_ready_before_it_has_compiled_everything(tmp_path, monkeypatch, caplog):
    """It reports how far compiling is; the first process compiles the rest while it is idle."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    caplog.set_level("INFO")
    url = database_url(tmp_path)
    slot = _Slot(multiprocessing.get_context("spawn"), url, PlanBudget(), compiles=True)
    slot.start()
    try:
        reports = [record for record in caplog.records if "compiling" in record.message]
        assert [round(4 * record.done / record.total) for record in reports] == [1, 2, 3, 4]
        assert not compiled(tmp_path, "solve")
        wait_until(lambda: compiled(tmp_path, "_follow_step"), seconds=300)
    finally:
        slot.stop()
        slot.process.join()


def compiled(folder, kernel):
    """The files of numba's cache that belong to a kernel."""
    return list(folder.glob(f"cache/**/*.{kernel}-*.nbi"))


def test_the_process_that_compiles_takes_a_job_last(tmp_path):
    """Compiling is not interrupted: a short job would wait for it."""
    scheduler = FairScheduler(1, 1, 30.0)
    url, check = database_url(tmp_path), lambda: None
    pool = ProcessPool(2, url, check, PlanBudget(), 1e9, 60.0, scheduler)
    first, second = pool._take(1), pool._take(2)
    assert (first.compiles, second.compiles) == (False, True)
    pool._free += [second, first]
    assert pool._take(3) is first
    pool._free.append(first)
    assert pool._take(2) is second  # where the agent is warm
