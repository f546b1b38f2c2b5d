"""The page of how few labels it takes says what is on record, and of peers the best."""

import json

from benchmarks.learning import PAGE, RECORD
from benchmarks.learning_page import page


def peer(median, regret):
    return {"seeds": 20, "median": median, "failed": 0, "regret": regret}


def cells(text, task):
    """Of the row of a task."""
    (row,) = (line for line in text.splitlines() if line.startswith(f"| {task} |"))
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_the_page_is_what_the_record_gives():
    assert PAGE.read_text() == page(json.loads(RECORD.read_text()))


def test_the_best_peer_for_a_task_is_the_first_to_be_good():
    peers = {"never": peer(None, 1.0), "slow": peer(90.0, 2.0), "soon": peer(40.5, 30.0)}
    tied = {"a": peer(7.0, 9.0), "b": peer(7.0, 8.0)}
    text = page({"peers": [{"task": "lake", "peers": {"textbook": peers, "tuned": tied}}]})
    expected = ["soon", "40.5", "0 of 20", "30", "b", "7", "0 of 20", "8"]
    assert cells(text, "lake") == ["lake", *expected]


def test_regrets_stand_beside_the_least_of_the_peers_and_add_up():
    def row(task, own, auto, *regrets):
        peers = {name: peer(None, regret) for name, regret in zip("ab", regrets, strict=True)}
        sums = {"suggested": peer(5.0, own), "auto": peer(5.0, auto)}
        return sums | {"task": task, "peers": {"textbook": peers}}

    text = page(
        {"random": [row("one", 10.0, 20.0, 40.0, 50.0), row("two", 30.0, 40.0, 90.0, 60.0)]}
    )
    assert cells(text, "one") == ["one", "10.0", "20.0", "a", "40.0", "0.25", "0.50"]
    assert cells(text, "two") == ["two", "30.0", "40.0", "b", "60.0", "0.50", "0.67"]
    assert cells(text, "together")[1:3] == ["40.0", "60.0"]
    assert cells(text, "together")[4:] == ["100.0", "0.40", "0.60"]
