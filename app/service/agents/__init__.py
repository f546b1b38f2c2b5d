"""Agents: created, described, deleted; their specification and their state in memory."""
