"""Speed of a running server under load: `python -m benchmarks.serving`."""
