"""The `plaudit` command: one file a group of subcommands.

Commands import what they need when they run, so that `plaudit --help` starts quickly.
"""

from app.cli.root import main

__all__ = ["main"]
