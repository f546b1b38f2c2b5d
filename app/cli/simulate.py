"""`plaudit simulate`: let an agent learn a known task and draw its learning curve."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from typer.core import TyperCommand

from app.errors import InvalidValue

if TYPE_CHECKING:
    from app.simulation.experiment import Experiment
    from app.simulation.runner import Setting

if TYPE_CHECKING:
    from app.wire.base import JsonObject


class SimulateCommand(TyperCommand):
    """A command whose help lists the tasks and agent kinds; they are loaded for it alone."""

    def format_help(self, *arguments: Any) -> None:  # types differ between versions of Typer
        """Add the names to the help text."""
        from app.agents import AGENT_KINDS, DEFAULT_KIND
        from app.simulation.tasks import task_names

        # Simulated tasks have numbered states, so kinds for numeric observations are left out.
        kinds = [name for name, kind in AGENT_KINDS.items() if not kind.observes]
        names = f"Tasks: {', '.join(task_names())}.\n\nAgent kinds: {', '.join(kinds)}"
        names += f" (default {DEFAULT_KIND})."
        self.help = f"{self.help}\n\n{names}"
        super().format_help(*arguments)


def simulate(
    task: Annotated[str, typer.Argument(help="The task to learn.")],
    agent: Annotated[str | None, typer.Option(help="The agent kind.")] = None,
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
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds.")] = 8,
    first_seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    parallel: Annotated[int, typer.Option(min=1, help="Episodes that run side by side.")] = 1,
    delay: Annotated[int, typer.Option(min=0, help="Labels come this many episodes late.")] = 0,
    flips: Annotated[float, typer.Option(min=0, max=1, help="Share of labels that are wrong.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; one per core.")] = None,
    out: Annotated[
        Path,
        typer.Option(file_okay=False, writable=True, help="Folder of the picture and the JSON."),
    ] = Path("out"),
) -> None:
    """Let an agent learn a known task in this process and draw its learning curve.

    Writes OUT/TASK-AGENT.png (the mean success probability of the policies that were played, the
    band that holds 80 % of the seeds, the best possible policy and the uniformly random one) and
    OUT/TASK-AGENT.json with every number.

    Example: plaudit simulate frozenlake-4x4 --seeds 8 --episodes 300
    """
    from app.agents import DEFAULT_KIND
    from app.planning.problem import PlanBudget
    from app.settings import load_settings
    from app.simulation.extras import load_extra
    from app.simulation.runner import Setting

    load_extra("matplotlib")
    settings, kind = load_settings(), agent or DEFAULT_KIND
    setting = Setting(
        task=task,
        episodes=episodes,
        algorithm=_parse_object(options, "options") | {"kind": kind},
        features=_parse_features(features),
        parallel=parallel,
        delay=delay,
        flips=flips,
        budget=PlanBudget(cells=settings.plan_cells, bytes=settings.plan_bytes),
    )
    result = _run(setting, range(first_seed, first_seed + seeds), jobs)
    _report(result, out / f"{task}-{kind}")


def _parse_features(text: str) -> JsonObject | None:
    """Parse the option --features; None means the features that suit the task."""
    if text == "suggested":
        return None
    if text == "auto":
        return {"kind": "auto"}
    if text == "full":
        return {"kind": "one_hot", "over": ["step", "state", "action"]}
    return _parse_object(text, "features")


def _parse_object(text: str, field: str) -> JsonObject:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidValue(field, f"JSON, {error}") from error
    if not isinstance(value, dict):
        raise InvalidValue(field, "a JSON object")
    return value


def _run(setting: Setting, seeds: range, jobs: int | None) -> Experiment:
    """Run the experiment and show a progress bar."""
    from app.simulation import experiment, runner

    runner.prepare(setting, seeds.start)  # reports a bad setting before the bar appears
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        row = bar.add_task("episodes", total=len(seeds) * setting.episodes)
        return experiment.experiment(
            setting, seeds, jobs, lambda played: bar.update(row, completed=played)
        )


def _report(result: Experiment, path: Path) -> None:
    """Print the learning curve and write it as a picture and as JSON."""
    from app.simulation.curve import curve_table, draw_curves

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
