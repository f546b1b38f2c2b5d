"""Measurements as ratios within one run; run each with `python -m benchmarks.<name>`."""
