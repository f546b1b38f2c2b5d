"""The `plaudit` command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from app.agents import AGENT_KINDS
from app.errors import InvalidValue, NotFound, PlauditError, StorageUnavailable
from app.service.access.keys import Role, new_key, read_keys
from app.settings import load_settings
from app.simulation.curve import curve_table, draw_curves
from app.simulation.experiment import Experiment, experiment
from app.simulation.extras import load_extra
from app.simulation.runner import Setting, prepare
from app.simulation.tasks import task_names
from app.storage import commands
from app.storage.database import now_milliseconds, prepare_database
from app.storage.migrations import current_revision, newest_revision
from app.storage.sqlite.engine import database_file, make_writing_engine, reason_of
from app.storage.sqlite.writer import Write, execute

app = typer.Typer(
    help="Agents that learn from one good/bad verdict at the end of an episode.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_show_locals=False,
)
_TASKS = ", ".join(task_names())
# Simulated tasks have numbered states: kinds that see numbers have no place there.
_KINDS = ", ".join(name for name, kind in AGENT_KINDS.items() if not kind.observes)


def main() -> None:
    """Run the command; an error that was meant for the user is one line, not a traceback."""
    try:
        app()
    except PlauditError as error:
        line = f"[red]error[/red] {escape(str(error))}"
        Console(stderr=True).print(line, highlight=False, soft_wrap=True)
        raise SystemExit(2) from error


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"plaudit {version('plaudit')}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Agents that learn from one good/bad verdict at the end of an episode."""


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    database_url: Annotated[str | None, typer.Option(help="Where everything is kept.")] = None,
) -> None:
    """Serve agents over HTTP. Settings not given here come from PLAUDIT_* and .env."""
    from app.server import serve as serve_with  # what simulating does not need is slow to import

    serve_with(load_settings(host=host, port=port, database_url=database_url))


@app.command()
def migrate(
    database_url: Annotated[str | None, typer.Option(help="Which database.")] = None,
) -> None:
    """Create the database, or bring it to the schema of this version."""
    settings = load_settings(database_url=database_url)
    prepare_database(settings.database_url)
    print(f"{settings.database_url} is up to date")


keys = typer.Typer(help="Keys: who may do what.", no_args_is_help=True)
app.add_typer(keys, name="keys")
_DatabaseUrl = Annotated[str | None, typer.Option(help="Which database.")]


@keys.command("create")
def create_key(
    name: Annotated[str, typer.Argument(help="For people.")],
    role: Annotated[Role, typer.Option(help="What it is for.")] = Role.actor,
    database_url: _DatabaseUrl = None,
) -> None:
    """Create a key and print its secret, this once. A running server knows it within seconds."""
    key, secret, write = new_key(name, role)
    with _database(database_url) as connection:
        execute(connection, [write])
    Console(stderr=True).print(f"{key.id}  {role.value}  {name}", highlight=False, markup=False)
    print(secret)


@keys.command("list")
def list_keys(database_url: _DatabaseUrl = None) -> None:
    """List the keys, without their secrets."""
    table = Table("id", "role", "name", "created", "revoked")
    with _database(database_url) as connection:
        for key, _ in read_keys(connection):
            table.add_row(
                key.id, key.role.value, escape(key.name), _day(key.created_at), _day(key.revoked_at)
            )
    Console().print(table)


@keys.command("revoke")
def revoke_key(
    key: Annotated[str, typer.Argument(help="The id of the key.")],
    database_url: _DatabaseUrl = None,
) -> None:
    """Revoke a key: it opens nothing any more."""
    with _database(database_url) as connection:
        known = {one.id for one, _ in read_keys(connection)}
        if key not in known:
            raise NotFound("key", key)
        row = {"the_key": key, "now": now_milliseconds()}
        execute(connection, [Write(commands.REVOKE_KEY, row)])
    print(f"{key} is revoked")


@contextmanager
def _database(url: str | None) -> Iterator[Connection]:
    """A transaction on the configured database, which a server may be using meanwhile."""
    settings = load_settings(database_url=url)
    database_file(settings.database_url).parent.mkdir(parents=True, exist_ok=True)
    engine = make_writing_engine(settings.database_url)
    try:
        if current_revision(engine) != newest_revision():
            engine.dispose()
            prepare_database(settings.database_url)
        with engine.begin() as connection:
            yield connection
    except SQLAlchemyError as error:
        raise StorageUnavailable(f"the database cannot be used: {reason_of(error)}") from error
    finally:
        engine.dispose()


def _day(milliseconds: int | None) -> str:
    if milliseconds is None:
        return ""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M")


@app.command(
    help=f"""Let an agent learn a known task, in this process, and draw how well it does.

    Tasks: {_TASKS}.

    Writes OUT/TASK-AGENT.png, the mean success probability of the policies that were played with
    the band that holds 80 % of the seeds, the best possible and the uniformly random one; and
    OUT/TASK-AGENT.json with every number.

    Example: plaudit simulate frozenlake-4x4 --seeds 8 --episodes 300
    """
)
def simulate(
    task: Annotated[str, typer.Argument(help="The task to learn.")],
    agent: Annotated[str, typer.Option(help=f"The agent kind: {_KINDS}.")] = "thompson",
    options: Annotated[
        str, typer.Option(help="The kind's options as JSON, such as '{\"draws\": 1}'.")
    ] = "{}",
    features: Annotated[
        str,
        typer.Option(
            help="suggested (what suits the task), auto, full (step, state and action), or JSON "
            'such as \'{"kind": "one_hot", "over": ["state"], "steps": "last"}\'.'
        ),
    ] = "suggested",
    episodes: Annotated[int, typer.Option(min=1, help="Episodes per seed.")] = 500,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds.")] = 8,
    first_seed: Annotated[int, typer.Option(min=0, help="The first of them.")] = 0,
    parallel: Annotated[int, typer.Option(min=1, help="Episodes that run side by side.")] = 1,
    delay: Annotated[int, typer.Option(min=0, help="Labels come this many episodes late.")] = 0,
    flips: Annotated[float, typer.Option(min=0, max=1, help="Share of labels that are wrong.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; one per core.")] = None,
    out: Annotated[
        Path,
        typer.Option(file_okay=False, writable=True, help="Where the picture and the JSON go."),
    ] = Path("out"),
) -> None:
    """Let an agent learn a known task."""
    for needed in ("gymnasium", "matplotlib"):
        load_extra(needed)
    setting = Setting(
        task=task,
        episodes=episodes,
        algorithm=_json(options, "options") | {"kind": agent},
        features=_features(features),
        parallel=parallel,
        delay=delay,
        flips=flips,
        budget=load_settings().plan_budget,
    )
    prepare(setting, first_seed)  # what is wrong shows before a bar does
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        row = bar.add_task("episodes", total=seeds * episodes)
        result = experiment(
            setting,
            range(first_seed, first_seed + seeds),
            jobs,
            lambda played: bar.update(row, completed=played),
        )
    _report(result, out / f"{task}-{agent}")


def _features(text: str) -> dict[str, Any] | None:
    """What the feature option means; None leaves the choice to the task."""
    if text == "suggested":
        return None
    if text == "auto":
        return {"kind": "auto"}
    if text == "full":
        return {"kind": "one_hot", "over": ["step", "state", "action"]}
    return _json(text, "features")


def _json(text: str, field: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidValue(field, f"JSON, {error}") from error
    if not isinstance(value, dict):
        raise InvalidValue(field, "a JSON object")
    return value


def _report(result: Experiment, path: Path) -> None:
    """Print the curve and write it, as a picture and as numbers."""
    task, kind = result.setting.task, result.setting.algorithm["kind"]
    curve = result.curve(kind)
    draw_curves(path.with_suffix(".png"), task, [curve], result.levels())
    path.with_suffix(".json").write_text(json.dumps(result.summary(), indent=1) + "\n")
    console = Console()
    console.print(curve_table(f"{kind} on {task}", curve, result.levels()))
    median, seeds = result.reached_median(), len(result.runs)
    reached = "not reached" if median is None else f"reached after {median:g} episodes (median)"
    console.print(
        f"90 % of the best possible: {reached}, {result.failed()} of {seeds} seeds failed"
    )
    console.print(
        f"wrote {path}.png and {path}.json", markup=False, highlight=False, soft_wrap=True
    )


if __name__ == "__main__":
    main()
