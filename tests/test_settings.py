"""The settings of a process: where they come from, and that they stay."""

from __future__ import annotations

import os

import pytest
from pydantic import ValidationError

from app import settings as module
from app.errors import InvalidValue
from app.planning.problem import PlanBudget
from app.settings import Settings, load_settings, unknown_variables


@pytest.fixture(autouse=True)
def _apart(monkeypatch, tmp_path):
    """No settings of the machine, and a directory of its own."""
    for name in [name for name in os.environ if name.startswith("PLAUDIT_")]:
        monkeypatch.delenv(name)
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
            ("nan", "a finite number"),
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

    @pytest.mark.parametrize(
        ("name", "value", "expected"),
        [
            ("DRAIN_SECONDS", "inf", "a finite number"),
            ("WAIT_SECONDS", "1e300", "less than or equal to 86400"),
            ("IDLE_SECONDS", "inf", "a finite number"),
            ("LEARNING_SECONDS", "nan", "a finite number"),
            ("HEADER_SECONDS", "0", "greater than 0"),
            ("PLAN_CELLS", "inf", "a finite number"),
            ("ADMIN_KEY", "short", "at least 16 characters, got 5; make one with"),
            ("HOST", "http://localhost", "an address or a host name, without scheme"),
            ("HOST", "[::1]", "an address or a host name, without scheme"),
            ("HOST", "", "an address or a host name, without scheme"),
            ("PORT", "70000", "less than or equal to 65535"),
            ("ROOT_PATH", "plaudit", "a path that starts with a slash"),
            ("ROOT_PATH", "/plaudit/", "a path that starts with a slash"),
            ("ROOT_PATH", "/a b", "a path that starts with a slash"),
            ("TRUSTED_PROXIES", "my-proxy", "addresses or networks separated by commas"),
        ],
    )
    def test_values_that_no_server_could_use(self, monkeypatch, name, value, expected):
        monkeypatch.setenv(f"PLAUDIT_{name}", value)
        with pytest.raises(InvalidValue) as caught:
            load_settings()
        assert caught.value.field == f"PLAUDIT_{name}"
        assert caught.value.expected.startswith(expected)

    def test_a_refused_secret_is_not_repeated(self, monkeypatch):
        monkeypatch.setenv("PLAUDIT_ADMIN_KEY", "hush-hush")
        with pytest.raises(InvalidValue) as caught:
            load_settings()
        assert "hush" not in f"{caught.value} {caught.value.__cause__}"

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "::1", "localhost", "robots.example"])
    def test_hosts(self, monkeypatch, host):
        monkeypatch.setenv("PLAUDIT_HOST", host)
        assert load_settings().host == host
        assert load_settings().is_loopback == (host in ("::1", "localhost"))

    @pytest.mark.parametrize("path", ["", "/plaudit", "/deep/plaudit"])
    def test_root_paths(self, monkeypatch, path):
        monkeypatch.setenv("PLAUDIT_ROOT_PATH", path)
        assert load_settings().root_path == path

    def test_a_misspelt_name_is_an_error(self, monkeypatch):
        monkeypatch.setenv("PLAUDIT_DRAIN_SECOND", "5")
        with pytest.raises(InvalidValue, match="did you mean PLAUDIT_DRAIN_SECONDS"):
            load_settings()

    def test_a_misspelt_name_in_a_file_is_one_too(self, tmp_path):
        (tmp_path / ".env").write_text("PLAUDIT_ADMINKEY=0123456789abcdef\n")
        with pytest.raises(InvalidValue, match="did you mean PLAUDIT_ADMIN_KEY"):
            load_settings()

    def test_names_that_resemble_no_setting_are_told(self, monkeypatch):
        """Kubernetes sets such names for a service that is called plaudit."""
        monkeypatch.setenv("PLAUDIT_SERVICE_HOST", "10.0.0.1")
        monkeypatch.setenv("PLAUDIT_PORT_8000_TCP", "tcp://10.0.0.1:8000")
        assert load_settings() == Settings()
        assert unknown_variables() == ["PLAUDIT_PORT_8000_TCP", "PLAUDIT_SERVICE_HOST"]

    def test_learning_leaves_one_processor_to_serving(self, monkeypatch):
        for processors, learning in ((1, 1), (2, 1), (8, 7)):
            monkeypatch.setattr(module, "usable_cpus", lambda count=processors: count)
            assert load_settings().learning_processes == learning
