"""The `plaudit` command."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from app.agents import AGENT_KINDS
from app.errors import InvalidValue, PlauditError
from app.settings import load_settings
from app.simulation.curve import curve_table, draw_curves
from app.simulation.experiment import Experiment, experiment
from app.simulation.extras import load_extra
from app.simulation.runner import Setting, prepare
from app.simulation.tasks import task_names

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
