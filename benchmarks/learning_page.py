"""The page `docs/learning.md`, from the record of what `benchmarks.learning` measured."""

from __future__ import annotations

from textwrap import fill
from typing import Any

from benchmarks.learning_conclusions import FLEET_GOALS, best_peer, conclusions, single_maps

Row = dict[str, Any]

HEAD = """# How few labels it takes

Every number here was measured by the command beneath its table, with the defaults of `thompson`, no
tuning per task, on seeds that no setting was chosen on. `python -m benchmarks.learning` writes this
page and `learning.json` anew.

- `frozenlake-4x4`, `-8x8`: Gymnasium's slippery FrozenLake, horizon 100 and 200; good when the
  goal was reached.
- `riverswim-6`, `-12`: RiverSwim, horizon 20 and 40; good with a chance logistic in the time spent
  at the right end.
- `collect`: a 5x5 grid with two items, horizon 25; good when both were collected.
- `grid`: the paper's 10x15 grid with one goal and a random start, horizon 30; good when next to the
  goal at each of the last three steps.
- `random-0` ... `-5`: random MDPs, 10 states, 3 actions, horizon 10; good with a chance that is
  logistic in the visits of (state, action).

The suggested features are one-hot over the state at all steps (FrozenLake, RiverSwim, collect),
over the state at the last three steps (grid), and over state and action (random). With `auto`
nothing is suggested.
"""


def _reached(row: Row) -> str:
    median = "-" if row["median"] is None else f"{row['median']:g}"
    return f"{median} | {row['failed']} of {row['seeds']} | {row['regret']:g}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    first, *others = ["| " + " | ".join(cells) + " |" for cells in (head, *rows)]
    return "\n".join([first, "|" + "---|" * len(head), *others])


def _pair_table(rows: list[Row], goals: dict[str, float] | None = None) -> str:
    """A table of 90 % / failed / regret for each column that the rows have."""
    columns = [name for name in ("suggested", "auto") if name in rows[0]]
    titles = {"suggested": "suggested features", "auto": "`auto`"}
    if rows[0].get("only"):
        titles["suggested"] = rows[0]["only"]
    head = ["task", *(["goal"] if goals else [])]
    head += [cell for name in columns for cell in (f"{titles[name]}: to 90 %", "failed", "regret")]
    lines = []
    for row in rows:
        goal = [f"<= {goals[row['task']]:g}"] if goals else []
        lines.append([row["task"], *goal, *(_reached(row[name]) for name in columns)])
    return _table(head, lines)


def _peer_table(rows: list[Row]) -> str:
    """Episodes to 90 % of the best peer of each setting."""
    head = ["task"]
    for setting in rows[0]["peers"]:
        head += [f"best {setting} peer", "to 90 %", "failed", "regret"]
    lines = []
    for row in rows:
        line = [row["task"]]
        for peers in row["peers"].values():
            best = best_peer(peers)
            line += [best, _reached(peers[best])]
        lines.append(line)
    return _table(head, lines)


def _random_table(rows: list[Row]) -> str:
    """Regrets beside the best peer's of each setting, and their sums."""
    head = ["task", "suggested features", "`auto`"]
    for setting in rows[0]["peers"]:
        head += [f"best {setting} peer", "its regret", "ratio", "ratio of `auto`"]
    lines, columns = [], []
    for row in rows:
        names, regrets = [], [row["suggested"]["regret"], row["auto"]["regret"]]
        for peers in row["peers"].values():
            names.append(min(peers, key=lambda kind: peers[kind]["regret"]))
            regrets.append(peers[names[-1]]["regret"])
        lines.append(_random_line(row["task"], names, regrets))
        columns.append(regrets)
    sums = [sum(column) for column in zip(*columns, strict=True)]
    together = _random_line("together", ["those above"] * len(rows[0]["peers"]), sums)
    return _table(head, [*lines, together])


def _random_line(task: str, names: list[str], regrets: list[float]) -> list[str]:
    own, auto, *peers = regrets
    cells = [task, f"{own:.1f}", f"{auto:.1f}"]
    for name, regret in zip(names, peers, strict=True):
        cells += [name, f"{regret:.1f}", f"{own / regret:.2f}", f"{auto / regret:.2f}"]
    return cells


def _single_table(rows: list[Row]) -> str:
    head = ["family", "`auto`", "best single map", "ratio", *rows[0]["maps"], "suggested"]
    lines = []
    for row in rows:
        singles = single_maps(row)
        best = min(singles, key=lambda name: singles[name]["regret"])
        ratio = row["auto"]["regret"] / singles[best]["regret"]
        regrets = [_with_failures(single) for single in singles.values()]
        lines.append([row["task"], _with_failures(row["auto"]), best, f"{ratio:.2f}", *regrets])
    return _table(head, lines)


def _with_failures(row: Row) -> str:
    failed = f" ({row['failed']} of {row['seeds']})" if row["failed"] else ""
    return f"{row['regret']:g}{failed}"


def page(record: dict[str, list[Row]]) -> str:
    """The page that shows what is on record."""
    parts = [HEAD.rstrip()]
    if shown := conclusions(record):
        lines = [fill(text, 100, initial_indent="- ", subsequent_indent="  ") for text in shown]
        parts.append("\n".join(["## What it shows", *lines]))
    texts = {
        "main": "## Sequential learning, clean labels\n\nEpisodes until the policy without bonuses "
        "first reaches 90 % of the optimum, median over the seeds; seeds that never did; mean "
        "regret of the episodes played.",
        "peers": "## What tabular peers need for the same tasks\n\nTabular Q-learning "
        "(epsilon-greedy and optimistic), Monte-Carlo control and REINFORCE, each on state or "
        "(step, state) tables. Textbook: step size 1/n down to 0.1, epsilon 0.1, discount 0.99, "
        "Monte-Carlo by averages. Tuned: by random search over these very tasks and the random "
        "MDPs. The best of the eight on each task, picked afterwards, on the same seeds.",
        "random": "## Random MDPs: regret after 3000 episodes\n\nBeside the best of the same "
        "peers, picked afterwards for each task, on the same seeds.",
        "single": "## `auto` against single maps: regret after 300 episodes\n\nMean regret, summed "
        "over the tasks of a family; in brackets the runs that did not reach 90 % by then. Six "
        "seeds a task.",
        "late10": "## Labels 10 episodes late",
        "late50": "## Labels 50 episodes late",
        "fleet16": "## Sixteen episodes side by side\n\nEvery episode plans its own draw and "
        "counts the visits that the others will probably make.",
        "flips10": "## One label in ten is wrong",
        "full": "## The full (step, state, action) features",
        "events": "## Features by events\n\nGood when two places were visited, in "
        "any order, while the state does not say which were: the corners of a 5x5 grid "
        "(`visit-both`, 300 episodes), the ends of a row of four cells (`corridor`, 100 episodes). "
        "No sum over steps gives these labels. And FrozenLake 4x4 (400 episodes) by one event.",
    }
    for name, text in texts.items():
        if name not in record:
            continue
        rows = record[name]
        goals = {row["task"]: row["goal"] for row in rows if "goal" in row}
        if name == "fleet16":
            goals = dict(FLEET_GOALS)
        if name == "full":
            rows = [row | {"only": "full features"} for row in rows]
        if name == "events":
            rows = [row | {"only": "episodes"} for row in rows]
        tables = {"peers": _peer_table, "random": _random_table, "single": _single_table}
        table = tables[name](rows) if name in tables else _pair_table(rows, goals)
        seeds = f" --seeds {rows[0]['suggested']['seeds']}" if name == "random" else ""
        command = f"`python -m benchmarks.learning --sections {name}{seeds}`"
        parts += [text, table, f"Measured with {command}."]
    return "\n\n".join(parts) + "\n"
