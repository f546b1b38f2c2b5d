"""The errors of the domain: what they say, and that they survive the way between processes."""

from __future__ import annotations

import copy
import importlib
import pickle
import pkgutil

import pytest

import app
from app import errors
from app.errors import (
    BudgetExceeded,
    Conflict,
    Forbidden,
    InvalidValue,
    NotFound,
    NumericalError,
    Overloaded,
    PlauditError,
    SnapshotError,
    Stale,
    StorageUnavailable,
    TooManyAttempts,
    Unauthenticated,
    UnknownField,
    UnsafeStart,
)
from app.service.training.process_pool import JobFailed
from app.simulation.extras import MissingExtra, load_extra

EXAMPLES = [
    InvalidValue("features.steps", "different steps from 0 to 3, in order"),
    UnknownField("algorithm.colour", ("draws", "epsilon"), "thompson"),
    BudgetExceeded("plan: grid points", 3.2e9, 2e8, "lower the horizon"),
    SnapshotError("snapshot format 9, this version reads 1"),
    NumericalError("cannot factorise a matrix of 3 rows"),
    MissingExtra("gymnasium"),
    NotFound("agent", "agt_0123456789"),
    Conflict("episode_over", "the episode is over: it is labelled"),
    Unauthenticated("nobody knows this key, or it was revoked"),
    TooManyAttempts(42),
    Forbidden("a key with the role actor may not do this"),
    Overloaded("too many writes are waiting for the disk"),
    Stale("the episode has changed"),
    StorageUnavailable("the write could not be stored"),
    UnsafeStart("another server is using this database"),
    JobFailed("took longer than the 120 s that learning may take"),
]


def subclasses(kind: type[PlauditError]) -> set[type[PlauditError]]:
    return {kind} | {below for child in kind.__subclasses__() for below in subclasses(child)}


def test_every_kind_has_an_example_here():
    for module in pkgutil.walk_packages(app.__path__, "app."):
        if not module.name.endswith("__main__"):  # importing it runs the command line
            importlib.import_module(module.name)
    ours = {kind for kind in subclasses(PlauditError) if kind.__module__.startswith("app.")}
    assert ours - {PlauditError} == {type(example) for example in EXAMPLES}


def test_the_tree_is_drawn_as_it_is():
    drawn = errors.__doc__ or ""
    for kind in subclasses(PlauditError):
        if kind.__module__ == "app.errors":
            assert kind.__name__ in drawn


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: type(example).__name__)
@pytest.mark.parametrize("way", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy])
def test_they_survive_the_way_between_processes(example, way):
    arrived = way(example)
    assert type(arrived) is type(example)
    assert str(arrived) == str(example)
    assert vars(arrived) == vars(example)
    assert arrived.args == example.args


def test_they_say_what_is_wrong():
    assert str(InvalidValue("label", "0 or 1")) == "label: expected 0 or 1"
    assert str(UnknownField("algorithm.colour", ("draws", "epsilon"), "thompson")) == (
        "algorithm.colour: unknown option 'colour'. Options of thompson: draws, epsilon"
    )
    assert str(UnknownField("colour", ("name",))) == (
        "colour: unknown field 'colour'. Fields: name"
    )
    assert str(NotFound("agent", "agt_x")) == "No agent with id 'agt_x'."
    assert str(NotFound("recording", "eps_x", "of episode")) == "No recording of episode 'eps_x'."
    over = BudgetExceeded("plan: bytes", 3.21e9, 2e9, "lower the horizon")
    assert str(over) == "plan: bytes: needs 3.21e+09, allowed 2e+09; lower the horizon"
    assert str(SnapshotError("not a snapshot")) == "not a snapshot"


class TestMissingExtra:
    def test_it_says_how_to_install(self):
        with pytest.raises(MissingExtra) as caught:
            load_extra("a_package_that_nobody_has.part")
        assert str(caught.value) == (
            "a_package_that_nobody_has is not installed: pip install 'plaudit[simulate]'"
        )

    def test_a_fault_inside_a_package_shows_as_what_it_is(self, tmp_path, monkeypatch):
        (tmp_path / "broken_extra.py").write_text("import another_one_that_nobody_has\n")
        monkeypatch.syspath_prepend(tmp_path)
        with pytest.raises(ModuleNotFoundError) as caught:
            load_extra("broken_extra")
        assert caught.value.name == "another_one_that_nobody_has"

    def test_what_is_there_is_loaded(self):
        assert load_extra("json").loads("[1]") == [1]
