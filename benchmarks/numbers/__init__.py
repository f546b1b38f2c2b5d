"""Learning from observed numbers, measured: `python -m benchmarks.numbers`."""
