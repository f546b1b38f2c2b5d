"""The root command: version, help, and how errors are printed."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from app.cli import copy, database, demo, doctor, keys, serve, simulate, sweep
from app.errors import PlauditError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_show_locals=False,
)
app.command()(serve.serve)
app.command()(demo.demo)
app.command()(doctor.doctor)
app.command()(database.migrate)
app.command()(database.backup)
app.command()(database.restore)
app.command()(copy.copy)
app.add_typer(keys.app, name="keys")
app.command(cls=simulate.SimulateCommand)(simulate.simulate)
app.command()(sweep.sweep)


def main() -> None:
    """Run the command line; print an expected error as one line and exit with code 2."""
    try:
        app()
    except PlauditError as error:
        line = f"[red]error[/red] {escape(str(error))}"
        Console(stderr=True).print(line, highlight=False, soft_wrap=True)
        raise SystemExit(2) from error


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"plaudit {version('plaudit')}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Host agents that learn from one good/bad verdict at the end of an episode."""
