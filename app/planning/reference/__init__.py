"""Slow planners for small problems: exact enumeration and the paper's own programme."""
