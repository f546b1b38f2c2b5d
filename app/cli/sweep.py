"""`plaudit sweep`: simulate many tasks, agent kinds and options, and keep one row an episode."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


def sweep(
    file: Annotated[Path, typer.Argument(help="TOML with tasks, agents, seeds and episodes.")],
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; one per core.")] = None,
    out: Annotated[
        Path, typer.Option(file_okay=False, writable=True, help="Folder of the results.")
    ] = Path("out"),
) -> None:
    """Simulate every task with every agent of a file, on all cores; stop and continue at will.

    Writes OUT/episodes.csv (task, agent, seed, episode, value, regret) and a picture per task.

    Example of a file: tasks = ["riverswim-6"], seeds = 4, episodes = 100, [agents.thompson],
    [agents.timid] with kind = "thompson" and spread = 0.1.
    """
    from app.simulation.curve import draw_curves
    from app.simulation.experiment import experiment
    from app.simulation.extras import load_extra
    from app.simulation.sweep import keep_result, kept_result, read_sweep, write_rows

    load_extra("matplotlib")
    cells, console = read_sweep(file), Console()
    out.mkdir(parents=True, exist_ok=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    results = []
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        for cell in cells:
            total = len(cell.seeds) * cell.setting.episodes
            row = bar.add_task(f"{cell.task}, {cell.agent}", total=total)
            result = kept_result(cell, out)
            if result is None:
                result = experiment(
                    cell.setting,
                    cell.seeds,
                    jobs,
                    lambda played, row=row: bar.update(row, completed=played),  # type: ignore[misc]
                )
                keep_result(cell, result, out)
            bar.update(row, completed=total)
            results.append((cell, result))
    for task in dict.fromkeys(cell.task for cell in cells):
        shown = [(cell.agent, result) for cell, result in results if cell.task == task]
        curves = [result.curve(agent) for agent, result in shown]
        draw_curves(out / f"{task}.png", task, curves, shown[0][1].levels())
    rows = write_rows(results, out / "episodes.csv")
    console.print(f"wrote {rows} rows to {out / 'episodes.csv'}", highlight=False, soft_wrap=True)
