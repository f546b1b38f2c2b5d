"""The settings of a process: where they come from, and that they stay."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from app.errors import InvalidValue
from app.planning.problem import PlanBudget
from app.settings import Settings, load_settings


@pytest.fixture(autouse=True)
def _apart(monkeypatch, tmp_path):
    """No settings of the machine, and a directory of its own."""
    for name in ("PLAUDIT_PLAN_CELLS", "PLAUDIT_PLAN_BYTES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def test_a_server_allows_less_than_a_planner_by_itself():
    """Plans have to come within the time that learning may take."""
    assert Settings().plan_cells < PlanBudget().cells
    assert Settings().plan_bytes == PlanBudget().bytes


def test_they_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("PLAUDIT_PLAN_CELLS", "1e6")
    monkeypatch.setenv("plaudit_plan_bytes", "5e7")
    assert (Settings().plan_cells, Settings().plan_bytes) == (1e6, 5e7)


def test_other_names_are_left_alone(monkeypatch):
    monkeypatch.setenv("PLAN_CELLS", "7")
    monkeypatch.setenv("PLAUDIT_SOMETHING_ELSE", "7")
    assert Settings().plan_cells != 7


def test_they_come_from_a_file(tmp_path):
    (tmp_path / ".env").write_text("PLAUDIT_PLAN_CELLS=12345\nUNRELATED=1\nPLAUDIT_UNKNOWN=2\n")
    assert Settings().plan_cells == 12345
    assert Settings().plan_bytes == PlanBudget().bytes


def test_the_environment_goes_before_the_file(monkeypatch, tmp_path):
    (tmp_path / ".env").write_text("PLAUDIT_PLAN_CELLS=12345\n")
    monkeypatch.setenv("PLAUDIT_PLAN_CELLS", "99")
    assert Settings().plan_cells == 99


def test_they_do_not_change():
    settings = Settings()
    with pytest.raises(ValidationError, match="frozen"):
        settings.plan_cells = 5.0


@pytest.mark.parametrize("value", ["0", "-1", "many", "nan", ""])
@pytest.mark.parametrize("name", ["plan_cells", "plan_bytes"])
def test_what_is_no_size_is_refused(monkeypatch, name, value):
    monkeypatch.setenv(f"PLAUDIT_{name.upper()}", value)
    with pytest.raises(ValidationError, match=name):
        Settings()


class TestLoading:
    """As a process reads them: what is wrong is said in the words of the environment."""

    def test_they_are_the_settings(self, monkeypatch):
        assert load_settings() == Settings()
        monkeypatch.setenv("PLAUDIT_PLAN_CELLS", "1e6")
        assert load_settings().plan_cells == 1e6

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("0", "greater than 0"),
            ("-1", "greater than 0"),
            ("nan", "greater than 0"),
            ("many", "a valid number"),
            ("", "a valid number"),
        ],
    )
    @pytest.mark.parametrize("name", ["PLAUDIT_PLAN_CELLS", "PLAUDIT_PLAN_BYTES"])
    def test_a_bad_one_is_named(self, monkeypatch, name, value, expected):
        monkeypatch.setenv(name, value)
        with pytest.raises(InvalidValue) as caught:
            load_settings()
        assert caught.value.field == name
        assert caught.value.expected.startswith(expected)

    def test_a_bad_one_may_stand_in_a_file(self, tmp_path):
        (tmp_path / ".env").write_text("PLAUDIT_PLAN_BYTES=-5\n")
        with pytest.raises(InvalidValue, match="PLAUDIT_PLAN_BYTES: expected greater than 0"):
            load_settings()
