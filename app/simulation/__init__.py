"""Agents against known tasks, in process: what `plaudit simulate` and the benchmarks run."""
