"""Run the command with `python -m app.cli`."""

from app.cli.root import main

main()
