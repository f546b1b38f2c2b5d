"""What the first start compiles: once each, and no more than the default kind needs."""

import os
import subprocess
import sys

import pytest

from app.planning.warm_up import first_kernels

COLD = """
import time
from app.planning.warm_up import warm_up_first
seen = []
began = time.process_time()
warm_up_first(lambda done, total: seen.append((done, total)))
print(time.process_time() - began, seen)
"""


def run(program, **environment):
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.slow
def test_the_first_start_compiles_each_kernel_once_within_seconds(tmp_path):
    seconds, _, seen = run(COLD, NUMBA_CACHE_DIR=str(tmp_path)).partition(" ")
    total = len(first_kernels())
    assert eval(seen) == [(n, total) for n in range(1, total + 1)]
    assert float(seconds) < 15.0
