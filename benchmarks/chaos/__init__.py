"""Chaos: a real server under mixed load and many faults, and what it must not have lost."""
