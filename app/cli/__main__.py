"""Run the command with `python -m app.cli`."""

from app.cli.root import main

if __name__ == "__main__":
    main()
