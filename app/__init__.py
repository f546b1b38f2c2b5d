"""Plaudit hosts agents that learn from one good/bad verdict at the end of an episode."""

import os

# Learning runs in many processes with one thread each. More threads of linear algebra would only
# wait for each other on matrices of this size. The limit must be set before NumPy is imported.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
