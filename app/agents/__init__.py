"""The agents, one file per kind, and their registry."""
