"""Agents on known tasks, in this process: what `plaudit simulate` and the benchmarks run."""
