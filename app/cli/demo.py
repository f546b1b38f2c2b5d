"""`plaudit demo`: a server of its own, two built-in tasks, and agents that learn them live."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from app.errors import UnsafeStart
from plaudit import AgentView, Client, CurveView, DemoView, PlauditError

_BARS = " ▁▂▃▄▅▆▇█"
_COLUMNS = 30  # of the curve
_FEWEST_LABELS = 10  # in one column
_TASKS = ["frozenlake-4x4", "grid"]
_LOOK_SECONDS = 0.5  # between two looks at the demos
_START_SECONDS = 300.0  # the first start on a machine compiles the planners


def demo(
    task: Annotated[
        list[str] | None, typer.Option(help="A built-in task; repeat it for several.")
    ] = None,
    episodes: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Episodes to learn from, for each task.")
    ] = None,
    human: Annotated[
        bool, typer.Option("--human", help="Leave the verdicts to you, at the desk.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of agents and tasks.")] = 0,
    stay: Annotated[
        bool, typer.Option(help="Keep serving the pages afterwards, until Ctrl+C.")
    ] = True,
) -> None:
    """Watch agents learn from one verdict per episode, on a server with a temporary database.

    Nothing is left on this machine afterwards.
    """
    console = Console()
    with ExitStack() as stack:
        stack.enter_context(_quiet_interrupt(console))
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="plaudit-demo-")))
        url = stack.enter_context(_server(folder))
        client = stack.enter_context(Client(url))
        with console.status("Starting a server. The first start compiles the planners once …"):
            _wait_until_ready(client, folder)
        judge: Literal["simulated", "people"] = "people" if human else "simulated"
        for name in task or _TASKS:
            client.start_demo(name, judge=judge, episodes=episodes, seed=seed)
        console.print(f"Watch it at [bold]{url}/[/bold]", highlight=False)
        if human:
            console.print(f"Judge it at [bold]{url}/label[/bold]", highlight=False)
        _follow(client, console)
        _report(client, console)
        if stay and console.is_terminal:
            console.print(f"The pages stay at {url}/ until you press Ctrl+C.", highlight=False)
            while True:
                time.sleep(3600)


@contextmanager
def _quiet_interrupt(console: Console) -> Iterator[None]:
    """Ctrl+C ends the demo without a traceback."""
    try:
        yield
    except KeyboardInterrupt:
        console.print("The demo is over. Nothing of it is left.")


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    """Serve a database in ``folder`` on a free port of this machine; yields the address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PLAUDIT_")}
    own = {
        "PLAUDIT_DATABASE_URL": f"sqlite:///{folder / 'demo.db'}",
        "PLAUDIT_HOST": "127.0.0.1",
        "PLAUDIT_PORT": str(port),
    }
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "app.cli", "serve"],
            env=kept | own, cwd=folder, stdout=log, stderr=log,
            start_new_session=True,  # Ctrl+C reaches this process alone, which then ends the server
        )  # fmt: skip
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_until_ready(client: Client, folder: Path) -> None:
    """Wait until the server answers and agents can learn."""
    impatient, deadline = client.with_options(patience=0), time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        try:
            if impatient.read_readiness().ok:
                return
        except PlauditError:
            pass
        time.sleep(0.1)
    lines = (folder / "server.log").read_text(errors="replace").splitlines()[-5:]
    raise UnsafeStart("the server of the demo did not start:\n" + "\n".join(lines))


def _follow(client: Client, console: Console) -> None:
    """Show how the agents learn until the demos are over."""
    with Live(console=console, refresh_per_second=4) as live:
        while True:
            demos = client.list_demos().items
            live.update(_table(client, demos))
            if not any(demo.running for demo in demos):
                return
            time.sleep(_LOOK_SECONDS)


def _table(client: Client, demos: list[DemoView]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("task")
    table.add_column("episodes", justify="right")
    table.add_column("share of good episodes", min_width=_COLUMNS, no_wrap=True)
    for heading in ("now", "random", "best"):
        table.add_column(heading, justify="right")
    for demo in demos:
        shares = good_shares(client.read_curve(demo.agent))
        table.add_row(
            demo.task.title,
            f"{demo.played} of {demo.episodes}",
            "".join(_BARS[round(share * (len(_BARS) - 1))] for share in shares),
            f"{shares[-1]:.0%}" if shares else "",
            f"{demo.random_success:.1%}",
            f"{demo.best_success:.0%}",
        )
    return table


def good_shares(curve: CurveView) -> list[float]:
    """The share of good labels over time, each over at least ten labels, in at most 30 columns."""
    counts = [point.labels for point in curve.observed]  # up to the end of each point
    sizes = [end - begin for begin, end in pairwise([0, *counts])]
    least = max(_FEWEST_LABELS, sum(sizes) / _COLUMNS)
    shares, good, labels = [], 0.0, 0
    for point, size in zip(reversed(curve.observed), reversed(sizes), strict=True):
        good, labels = good + point.success * size, labels + size
        if labels >= least:
            shares.append(good / labels)
            good, labels = 0.0, 0
    return shares[::-1]


def _report(client: Client, console: Console) -> None:
    """Say what the agents learned."""
    for demo in client.list_demos().items:
        console.print(summary(demo, client.read_agent(demo.agent)), highlight=False)


def summary(demo: DemoView, agent: AgentView) -> str:
    """One sentence: success before, success after, and the number of labels."""
    labels, found = agent.episodes.labelled, agent.evaluation
    before = f"{demo.task.title}: random play succeeds in {demo.random_success:.1%} of episodes."
    if found is None:
        return f"{before} {labels} labels were given."
    return (
        f"{before} After {labels} labels the agent succeeds in {found.success:.0%} "
        f"({found.good} of {found.episodes} evaluation episodes; the best policy "
        f"succeeds in {demo.best_success:.0%})."
    )
