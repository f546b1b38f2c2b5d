"""Plaudit hosts agents that learn from one good/bad verdict at the end of an episode."""
