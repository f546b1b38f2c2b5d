"""Plaudit hosts agents that learn from one good/bad verdict at the end of an episode."""

import os

# Learning runs on one thread per process, and on many processes. Threads of linear algebra only
# wait for each other on matrices of this size; the limit holds if it is set before NumPy loads.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
