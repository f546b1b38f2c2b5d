"""The curve's numbers, its picture and its table."""

from __future__ import annotations

import sys
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from app.errors import InvalidValue
from app.simulation.curve import Curve, Levels, curve_table, draw_curves
from app.simulation.extras import MissingExtra, load_extra

LEVELS = Levels(optimum=0.8, uniform=0.02)


def some_curve(seeds: int = 5, points: int = 40) -> Curve:
    episodes = np.arange(1, points + 1) * 5
    rise = 0.8 / (1 + np.exp(-(episodes - 60) / 15))
    noise = np.random.default_rng(0).normal(scale=0.03, size=(seeds, points))
    return Curve("thompson", episodes, np.clip(rise + noise, 0, 1))


def printed(table) -> str:
    out = StringIO()
    Console(file=out, width=80).print(table)
    return out.getvalue()


class TestCurve:
    def test_mean_and_band(self):
        curve = Curve("a", np.array([1, 2]), np.array([[0.0, 0.1], [0.5, 0.2], [1.0, 0.9]]))
        np.testing.assert_allclose(curve.mean, [0.5, 0.4])
        np.testing.assert_allclose(curve.band, [[0.1, 0.12], [0.9, 0.76]])

    @pytest.mark.parametrize(
        ("episodes", "success"),
        [([1, 2], np.zeros((3, 3))), ([1, 1], np.zeros((3, 2))), ([], np.zeros((3, 0)))],
    )
    def test_refusals(self, episodes, success):
        with pytest.raises(InvalidValue):
            Curve("a", np.array(episodes), success)


class TestDrawing:
    @pytest.mark.parametrize("seeds", [1, 5])
    def test_writes_a_picture_with_ink_in_it(self, tmp_path, seeds):
        path = tmp_path / "out" / "curve.png"
        draw_curves(path, "FrozenLake 4x4", [some_curve(seeds)], LEVELS)
        pixels = load_extra("matplotlib.image").imread(path)
        assert pixels.shape[0] > 400
        assert pixels.shape[1] > 800
        blue = np.abs(pixels[:, :, :3] - np.array([0x00, 0x72, 0xB2]) / 255).max(axis=2) < 0.02
        assert blue.sum() > 500

    def test_a_single_point_can_be_drawn(self, tmp_path):
        curve = Curve("a", np.array([1]), np.array([[0.5]]))
        draw_curves(tmp_path / "curve.png", "one", [curve, some_curve()], LEVELS)
        draw_curves(tmp_path / "curve.png", "one", [curve], LEVELS)

    def test_missing_extra_says_what_to_install(self, monkeypatch):
        # Python's own way of saying that a module is not to be found.
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        with pytest.raises(MissingExtra, match=r"plaudit\[simulate\]"):
            load_extra("matplotlib.figure")

    def test_a_fault_inside_an_extra_is_not_hidden(self, monkeypatch, tmp_path):
        (tmp_path / "broken_extra.py").write_text("import not_there_at_all\n")
        monkeypatch.syspath_prepend(tmp_path)
        with pytest.raises(ModuleNotFoundError, match="not_there_at_all"):
            load_extra("broken_extra")


class TestTable:
    def test_rows_and_caption(self):
        text = printed(curve_table("FrozenLake 4x4", some_curve(), LEVELS))
        assert "FrozenLake 4x4" in text
        assert "best possible 0.800, uniform random 0.020" in text
        rows = [line.split() for line in text.splitlines() if "░" in line or "█" in line]
        assert [int(row[0]) for row in rows] == [5, 10, 20, 30, 50, 75, 100, 150, 200]
        np.testing.assert_allclose(float(rows[-1][1]), some_curve().mean[-1], atol=6e-4)

    def test_one_seed_has_no_band(self):
        text = printed(curve_table("x", some_curve(seeds=1), LEVELS))
        assert "10-90" not in text

    def test_bar_is_the_share_of_the_optimum(self):
        curve = Curve("a", np.array([1, 2, 5]), np.array([[0.0, 0.4, 0.9]]))
        bars = [line.count("█") for line in printed(curve_table("x", curve, LEVELS)).splitlines()]
        assert [bar for bar in bars if bar] == [10, 20]

    def test_no_optimum_no_bar(self):
        curve = Curve("a", np.array([1]), np.array([[0.0]]))
        assert "█" not in printed(curve_table("x", curve, Levels(0.0, 0.0)))
