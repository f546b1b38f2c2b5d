"""The paper's theory (`python -m benchmarks.paper`) and its figure (`benchmarks.paper.figure`)."""
