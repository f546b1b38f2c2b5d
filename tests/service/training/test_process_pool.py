"""The processes that learn, seen from the server that starts them."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.planning.problem import PlanBudget
from app.service.training.process_pool import _Slot


@pytest.fixture
def slot(tmp_path):
    context = multiprocessing.get_context("forkserver")
    slot = _Slot(context, f"sqlite:///{tmp_path}/plaudit.db", PlanBudget())
    yield slot
    slot.stop()
    slot.process.join()


def test_a_job_that_comes_while_a_process_starts_does_not_start_it_again(slot):
    """The first job may be given to a process before it is ready: it must wait for it."""
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda _: slot.start(), range(2)))
    assert slot.is_ready
    assert slot.process.is_alive()
