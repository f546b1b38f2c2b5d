"""`python -m benchmarks.chaos`: ten minutes of faults; exits with 1 if anything is wrong.

`--hours 8` for a night, `--seed` for another order of the same faults.
"""

from __future__ import annotations

from typing import Annotated

import typer

from benchmarks.chaos.run import Report, run_chaos


def main(
    minutes: Annotated[float, typer.Option(help="How long.", min=0.1)] = 10.0,
    hours: Annotated[float, typer.Option(help="Added to the minutes.", min=0.0)] = 0.0,
    seed: Annotated[int, typer.Option(help="Of the order and the moments of faults.")] = 1,
    streams: Annotated[int, typer.Option(help="Event streams open at the same time.")] = 2000,
) -> None:
    """Put a server under load, do it harm, and check that nothing acknowledged was lost."""
    length = 60 * minutes if hours == 0 else 3600 * hours
    report = run_chaos(length, seed, streams)
    print(text_of(report))
    if report.failures:
        raise typer.Exit(1)


def text_of(report: Report) -> str:
    """The report as Markdown."""
    lines = ["| fault | times |", "|---|---|"]
    lines += [f"| {name} | {times} |" for name, times in report.faults.most_common()]
    megabytes = [round(value / 1e6) for value in report.memory]
    lines += [
        "",
        f"{report.acknowledged} requests in {report.seconds:.0f} s; players were answered 503 "
        f"{report.refused} times. {report.models} models are those rebuilt from the log.",
        f"Memory {megabytes[0]} to {megabytes[1]} MB, open files {report.files[0]} to "
        f"{report.files[1]}, {report.streams} streams at once.",
        "",
        f"**{len(report.failures)} failures**" if report.failures else "**Nothing was lost.**",
        *(f"- {failure}" for failure in report.failures[:20]),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    typer.run(main)
