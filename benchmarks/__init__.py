"""Measurements as ratios within one run; run each with `python -m benchmarks.<name>`."""

import app  # noqa: F401 - it limits BLAS to one thread, which must come before NumPy
