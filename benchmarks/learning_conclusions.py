"""What the record of `benchmarks.learning` shows, in sentences whose every number is computed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Row = dict[str, Any]
Record = dict[str, list[Row]]

FLEET_GOALS = {"frozenlake-4x4": 100.0, "riverswim-12": 50.0, "collect": 60.0, "grid": 120.0}
FLEET = 16  # episodes side by side
MUCH = 1.5  # times the regret of another setting


def conclusions(record: Record) -> list[str]:
    """A sentence or two for each section that is on record."""
    return [sentence(record) for name, sentence in _SENTENCES if name in record]


def or_never(row: Row) -> float:
    """The median of episodes to 90 %, infinite if most runs never got there."""
    return math.inf if row["median"] is None else float(row["median"])


def best_peer(peers: Row) -> str:
    """The peer that is first to be good; of equals the one with the least regret."""
    return min(peers, key=lambda kind: (or_never(peers[kind]), peers[kind]["regret"]))


def single_maps(row: Row) -> Row:
    """The regrets of a family with every single map, the suggested one included."""
    maps: Row = row["maps"] | {"suggested": row["suggested"]}
    return maps


def _goals(record: Record) -> str:
    rows = record["main"]
    missed = [
        f"`{row['task']}` ({name})"
        for row in rows
        for name in ("suggested", "auto")
        if or_never(row[name]) > row["goal"] or row[name]["failed"] > row["may_fail"]
    ]
    failed = sum(row[name]["failed"] for row in rows for name in ("suggested", "auto"))
    runs = sum(row[name]["seeds"] for row in rows for name in ("suggested", "auto"))
    met = "Every goal of sequential learning is met" if not missed else (
        f"{2 * len(rows) - len(missed)} of {2 * len(rows)} goals of sequential learning are met, "
        f"not those of {_listed(missed)}"
    )  # fmt: skip
    return f"{met}, with the suggested features and with `auto`; {_of(failed, runs)} failed."


def _auto(record: Record) -> str:
    ratios = {}
    for row in record["single"]:
        regrets = {name: one["regret"] for name, one in single_maps(row).items()}
        best = min(regrets, key=lambda name: regrets[name])
        ratios[row["task"]] = (row["auto"]["regret"] / regrets[best], best)
    *others, worst = sorted(ratios, key=lambda family: ratios[family][0])
    text = f"The regret of `auto` is {ratios[worst][0]:.1f} times that of the best single map"
    text += f" (`{ratios[worst][1]}`) on {worst}"
    if others:
        low, high = ratios[others[0]][0], ratios[others[-1]][0]
        text += f", and {low:.2f} to {high:.2f} times on the other families"
    return text + "."


def _flips(record: Record) -> str:
    rows = [row["suggested"] for row in record["flips10"]]
    failed, runs = sum(row["failed"] for row in rows), sum(row["seeds"] for row in rows)
    return f"With one wrong label in ten {_of(failed, runs)} failed, on {len(rows)} tasks."


def _peers(record: Record) -> str:
    own = {row["task"]: row["suggested"] for row in record.get("main", [])}
    slower, regret = {}, {}
    for row in record["peers"]:
        together = {
            f"{setting}: {kind}": peer
            for setting, peers in row["peers"].items()
            for kind, peer in peers.items()
        }
        best = together[best_peer(together)]
        if row["task"] in own:
            slower[row["task"]] = or_never(best) / or_never(own[row["task"]])
            regret[row["task"]] = best["regret"] / own[row["task"]]["regret"]
    if not slower:
        return "The peers were measured without `thompson` on the same tasks."
    first, last = min(slower, key=lambda t: slower[t]), max(slower, key=lambda t: slower[t])
    count = sum(len(peers) for peers in record["peers"][0]["peers"].values())
    return (
        f"The best of {count} tabular peers, picked afterwards for each task by its episodes to "
        f"90 %, needs {slower[first]:.1f} (`{first}`) to {slower[last]:.1f} times (`{last}`) as "
        f"many as `thompson`, and has {min(regret.values()):.1f} to {max(regret.values()):.0f} "
        "times the regret."
    )


def _random(record: Record) -> str:
    parts = []
    for setting in record["random"][0]["peers"]:
        ratios = {}
        for name in ("suggested", "auto"):
            pairs = [
                (
                    row[name]["regret"],
                    min(peer["regret"] for peer in row["peers"][setting].values()),
                )
                for row in record["random"]
            ]
            ratios[name] = sorted(own / peer for own, peer in pairs)
            ratios[f"{name} together"] = [sum(own for own, _ in pairs) / sum(p for _, p in pairs)]
        parts.append(
            f"{ratios['suggested'][0]:.2f} to {ratios['suggested'][-1]:.2f} of that of the best "
            f"{setting} peer ({ratios['suggested together'][0]:.2f} over all together; with `auto` "
            f"{ratios['auto'][0]:.2f} to {ratios['auto'][-1]:.2f}, together "
            f"{ratios['auto together'][0]:.2f})"
        )
    count = len(record["random"])
    return f"On {count} random MDPs the regret of `thompson` is {', and '.join(parts)}."


def _fleet(record: Record) -> str:
    rows = record["fleet16"]
    rounds = sorted(math.ceil(or_never(row["suggested"]) / FLEET) for row in rows)
    met = sum(or_never(row["suggested"]) <= FLEET_GOALS[row["task"]] for row in rows)
    return (
        f"{FLEET} episodes side by side learn in {rounds[0]} to {rounds[-1]} rounds; {met} of "
        f"{len(rows)} goals are met."
    )


def _full(record: Record) -> str:
    own = {row["task"]: row["suggested"] for row in record.get("main", [])}
    ratios = {
        row["task"]: or_never(row["suggested"]) / or_never(own[row["task"]])
        for row in record["full"]
        if row["task"] in own
    }
    if not ratios:
        return "The full features were measured without the suggested ones on the same tasks."
    much = [f"`{task}`" for task, ratio in ratios.items() if ratio > MUCH]
    text = (
        "The full (step, state, action) features have thousands of weights. Their episodes to 90 % "
        f"are {min(ratios.values()):.2f} to {max(ratios.values()):.2f} times those of the "
        "suggested ones"
    )
    return f"{text}; above {MUCH} times on {_listed(much)}." if much else f"{text}."


def _events(record: Record) -> str:
    rows = {row["task"]: row["suggested"] for row in record["events"]}
    never = [name for name, row in rows.items() if row["median"] is None]
    learned = {name: row for name, row in rows.items() if row["median"] is not None}
    quick = min(learned, key=lambda name: learned[name]["median"]) if learned else None
    text = (
        f"Of {len(rows)} settings with events, or with sums for such labels, {len(learned)} reach "
    )
    text += "90 % in most runs"
    if quick is not None:
        text += f", the quickest after {learned[quick]['median']:g} episodes ({quick})"
    return f"{text}. Most runs never do with {'; '.join(never)}." if never else f"{text}."


def _of(failed: int, runs: int) -> str:
    return f"{failed or 'no'} run{'s' * (failed > 1)} of {runs}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


_SENTENCES: tuple[tuple[str, Callable[[Record], str]], ...] = (
    ("main", _goals),
    ("single", _auto),
    ("flips10", _flips),
    ("peers", _peers),
    ("random", _random),
    ("fleet16", _fleet),
    ("full", _full),
    ("events", _events),
)
