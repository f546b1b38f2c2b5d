"""The page of how few labels it takes says what is on record, and of peers the best."""

import json

from benchmarks.learning import PAGE, RECORD
from benchmarks.learning_conclusions import conclusions
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


def own(task, suggested, auto, goal=50, may_fail=0):
    pair = {"suggested": suggested, "auto": auto}
    return pair | {"task": task, "goal": goal, "may_fail": may_fail}


class TestConclusions:
    """Every sentence follows the record."""

    def test_goals_that_are_met(self):
        (text,) = conclusions({"main": [own("lake", peer(50.0, 1.0), peer(7.0, 1.0))]})
        assert text == (
            "Every goal of sequential learning is met, with the suggested features and with "
            "`auto`; no run of 40 failed."
        )

    def test_goals_that_are_missed(self):
        failed = peer(9.0, 1.0) | {"failed": 2}
        rows = [own("lake", peer(51.0, 1.0), failed), own("sea", peer(5.0, 1.0), peer(5.0, 1.0))]
        (text,) = conclusions({"main": rows})
        assert "2 of 4 goals" in text
        assert "not those of `lake` (suggested) and `lake` (auto)" in text
        assert text.endswith("2 runs of 80 failed.")

    def test_auto_stands_beside_the_best_single_map(self):
        maps = {"state": peer(None, 20.0), "last": peer(None, 10.0)}
        rows = [
            {"task": "a", "maps": maps, "suggested": peer(None, 40.0), "auto": peer(None, 25.0)},
            {"task": "b", "maps": maps, "suggested": peer(None, 5.0), "auto": peer(None, 6.0)},
        ]
        (text,) = conclusions({"single": rows})
        assert "2.5 times that of the best single map (`last`) on a" in text
        assert "1.20 to 1.20 times on the other families" in text

    def test_peers_stand_beside_thompson(self):
        peers = {"textbook": {"x": peer(20.0, 30.0)}, "tuned": {"x": peer(15.0, 9.0)}}
        record = {"main": [own("lake", peer(5.0, 3.0), peer(5.0, 3.0))]}
        record["peers"] = [{"task": "lake", "peers": peers}]
        text = conclusions(record)[1]
        assert "best of 2 tabular peers" in text
        assert "3.0 (`lake`) to 3.0 times (`lake`)" in text
        assert "3.0 to 3 times the regret" in text

    def test_rounds_of_a_fleet(self):
        rows = [{"task": "collect", "suggested": peer(33.0, 1.0)}]
        rows.append({"task": "grid", "suggested": peer(121.0, 1.0)})
        (text,) = conclusions({"fleet16": rows})
        assert text == "16 episodes side by side learn in 3 to 8 rounds; 1 of 2 goals are met."

    def test_what_is_never_learned_is_named(self):
        rows = [{"task": "sums", "suggested": peer(None, 9.0)}]
        rows.append({"task": "events", "suggested": peer(4.5, 9.0)})
        (text,) = conclusions({"events": rows})
        assert "Of 2 settings" in text
        assert "the quickest after 4.5 episodes (events)" in text
        assert text.endswith("Most runs never do with sums.")
