"""What one more label costs the estimate.

    python -m benchmarks.logistic [--json] [--repeats N]

First, a refit after one more label against scikit-learn fitting the same data and prior from
scratch, at 3000 labels and 300 features: medians over repetitions that take turns, so that a busy
machine slows both sides. They meet at equal accuracy, twice: the refit as the agents use it against
the solvers that end with a gradient as small as its own (*matched*), and a refit that is asked for
no more than the gradient that scikit-learn's default settings reach on the same data. Exits 1
unless the refit is 10 times faster than the fastest matched solver at both.
Second, how the cost of one more label grows with the labels given, when every trajectory is new
and when trajectories repeat. One thread throughout.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from app.learning.logistic.estimate import GRADIENT_TOLERANCE, LogisticEstimator
from app.learning.logistic.labelled import LabelledTrajectories

LABELS, FEATURES, STEPS = 3000, 300, 30
PRIOR = 1 / 9  # precision of a weight where rows have norm 1
SIZES = (100, 300, 1000, 3000, 10_000, 30_000)
REPERTOIRE = 500  # distinct trajectories where they repeat
REQUIRED = 10.0
WARM_UP = 3
LABELS_A_TURN = 5  # refits are short, and one alone may meet an interruption

Floats = NDArray[np.float64]
# At 1e-11 newton-cg misses the refit's gradient on some data; tighter would only flatter the refit.
SOLVERS: dict[str, dict[str, Any]] = {
    "default": {},
    "lbfgs": {"solver": "lbfgs", "tol": 1e-12, "max_iter": 5000},
    "newton-cg": {"solver": "newton-cg", "tol": 1e-12, "max_iter": 500},
    "newton-cholesky": {"solver": "newton-cholesky", "tol": 1e-12, "max_iter": 100},
}


@dataclass(frozen=True)
class Contest:
    """One way to fit against the refit after one more label; gradients are the largest of all."""

    rows: str
    solver: str
    seconds: float
    refit_seconds: float
    gradient_norm: float
    tolerance: float  # the gradient that the refit was asked for

    @property
    def ratio(self) -> float:
        """How many times as long the solver takes."""
        return self.seconds / self.refit_seconds

    @property
    def matched(self) -> bool:
        """Whether the solver's estimate is as good as the refit's has to be."""
        return self.gradient_norm <= self.tolerance


@dataclass(frozen=True)
class Growth:
    """Seconds for one more label at each number of labels, about labels**exponent.

    Up to some thousand labels the fixed cost of a refit hides the growth: ``late_exponent`` is that
    of the larger sizes alone.
    """

    rows: str
    labels: list[int]
    seconds: list[float]
    distinct: list[int]
    exponent: float
    late_exponent: float


def dense_rows(rng: np.random.Generator, count: int) -> Floats:
    """Full rows of norm about 1, shape (count, FEATURES)."""
    return np.asarray(rng.normal(size=(count, FEATURES)) / np.sqrt(FEATURES))


def count_rows(rng: np.random.Generator, count: int) -> Floats:
    """How often each of FEATURES cells was visited in STEPS steps; some far more than others."""
    chances = rng.dirichlet(np.full(FEATURES, 0.3))
    return rng.multinomial(STEPS, chances, size=count).astype(np.float64)


def labels_of(rng: np.random.Generator, rows: Floats) -> NDArray[np.int64]:
    """Labels of a logistic model whose logits have spread 2."""
    logits = rows @ rng.normal(size=rows.shape[1])
    logits = 2 * (logits - logits.mean()) / logits.std()
    return np.asarray(rng.random(len(rows)) < expit(logits), dtype=np.int64)


def precision_of(rows: Floats) -> Floats:
    """The prior in the adaptive scale: counts over their maximum, rows of mean square norm 1."""
    largest = np.maximum(np.abs(rows).max(axis=0), 1e-3)
    return np.asarray(PRIOR * largest**2 * np.mean(((rows / largest) ** 2).sum(axis=1)))


def sparse_row(row: Floats) -> tuple[NDArray[np.int64], Floats]:
    """The row as indices and values."""
    columns = np.flatnonzero(row)
    return columns, row[columns]


def seconds(action: Callable[[], object]) -> float:
    """How long ``action`` takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


class Learner:
    """An estimator that has seen the first labels, and takes the others one by one."""

    def __init__(self, rows: Floats, labels: NDArray[np.int64], precision: Floats) -> None:
        self.data, self._estimator = LabelledTrajectories(rows.shape[1]), LogisticEstimator()
        self._precision = precision
        for row, label in zip(rows, labels, strict=True):
            self.data.add(sparse_row(row), int(label))
        self._estimator.fit(self.data, precision, PRIOR)

    def refit(self, row: Floats, label: int, tolerance: float | None = None) -> float:
        """The seconds that one more label takes."""
        start = time.perf_counter()
        self.data.add(sparse_row(row), int(label))
        fit = self._estimator.fit(self.data, self._precision, PRIOR, tolerance)
        spent = time.perf_counter() - start
        if not fit.converged:
            raise RuntimeError(f"a refit did not converge: {fit.gradient_norm}")
        return spent


def contests(kind: str, repeats: int) -> list[Contest]:
    """The refit against every solver, on one kind of rows."""
    rng = np.random.default_rng(0)
    total = LABELS + repeats * LABELS_A_TURN
    rows = (dense_rows if kind == "dense" else count_rows)(rng, total)
    labels = labels_of(rng, rows)
    precision = precision_of(rows)
    # A column divided by the root of its precision makes scikit-learn's one penalty this prior.
    joint = np.hstack([rows / np.sqrt(precision), np.full((total, 1), 1 / np.sqrt(PRIOR))])
    theirs = joint if kind == "dense" else sparse.csr_array(joint)
    # Newton-Cholesky makes a dense Hessian from dense rows only.
    inputs = {name: joint if name == "newton-cholesky" else theirs for name in SOLVERS}
    roots = np.sqrt(np.append(precision, PRIOR))
    times: dict[str, list[float]] = {name: [] for name in ("refit", "rough", *SOLVERS)}
    norms: dict[str, list[float]] = {name: [] for name in SOLVERS}
    begun = rows[:LABELS], labels[:LABELS], precision
    learner, rough = Learner(*begun), Learner(*begun)
    for first in range(LABELS, total, LABELS_A_TURN):
        n = first + LABELS_A_TURN
        more = list(zip(rows[first:n], labels[first:n], strict=True))
        times["refit"] += [learner.refit(row, label) for row, label in more]
        for name, options in SOLVERS.items():
            model = LogisticRegression(fit_intercept=False, **options)
            chosen = inputs[name][:n]
            times[name].append(seconds(partial(model.fit, chosen, labels[:n])))
            weights = model.coef_[0]
            residual = expit(joint[:n] @ weights) - labels[:n]
            gradient = (joint[:n].T @ residual + weights) * roots
            norms[name].append(float(np.linalg.norm(gradient)))
        asked = norms["default"][-1]
        times["rough"] += [rough.refit(row, label, asked) for row, label in more]
    medians = {name: statistics.median(spent) for name, spent in times.items()}
    pairs = [("default", "rough", max(norms["default"]))]
    pairs += [(name, "refit", GRADIENT_TOLERANCE) for name in SOLVERS]
    return [
        Contest(kind, solver, medians[solver], medians[refit], max(norms[solver]), tolerance)
        for solver, refit, tolerance in pairs
    ]


def growth(kind: str, repeats: int) -> Growth:
    """The cost of one more label from few labels to many."""
    rng = np.random.default_rng(1)
    rows = count_rows(rng, SIZES[-1] + WARM_UP + repeats)
    if kind == "repeated":
        popularity = 1 / np.arange(1, REPERTOIRE + 1)
        rows = rows[rng.choice(REPERTOIRE, size=len(rows), p=popularity / popularity.sum())]
    labels = labels_of(rng, rows)
    precision = precision_of(rows)
    medians, distinct = [], []
    for size in SIZES:
        learner = Learner(rows[:size], labels[:size], precision)
        more = range(size, size + WARM_UP + repeats)
        taken = [learner.refit(rows[i], labels[i]) for i in more]
        medians.append(statistics.median(taken[WARM_UP:]))
        distinct.append(learner.data.distinct)
    exponents = (
        float(np.polyfit(np.log(SIZES[first:]), np.log(medians[first:]), 1)[0])
        for first in (0, SIZES.index(LABELS))
    )
    return Growth(kind, list(SIZES), medians, distinct, *exponents)


def show(results: list[Contest], curves: list[Growth]) -> None:
    """Both measurements as tables."""
    console = Console()
    table = Table(
        title=f"One more label at n = {LABELS}, d = {FEATURES}, against a fit from scratch"
    )
    for heading in ("rows", "scikit-learn", "ms", "refit ms", "ratio", "gradient", "asked", ""):
        table.add_column(
            heading, justify="left" if heading in ("rows", "scikit-learn") else "right"
        )
    for r in results:
        spent = (f"{1e3 * r.seconds:.1f}", f"{1e3 * r.refit_seconds:.2f}", f"{r.ratio:.1f}")
        norms = f"{r.gradient_norm:.0e}", f"{r.tolerance:.0e}"
        table.add_row(r.rows, r.solver, *spent, *norms, "matched" if r.matched else "")
    console.print(table)
    table = Table(title="One more label, ms, by labels so far")
    table.add_column("trajectories")
    for size in SIZES:
        table.add_column(str(size), justify="right")
    table.add_column("exponent", justify="right")
    table.add_column(f"from {LABELS}", justify="right")
    for curve in curves:
        cells = [f"{1e3 * spent:.2f}" for spent in curve.seconds]
        table.add_row(curve.rows, *cells, f"{curve.exponent:.2f}", f"{curve.late_exponent:.2f}")
    console.print(table)


def worst_ratio(results: list[Contest]) -> float:
    """The least ratio to a matched solver, over both kinds of rows and both accuracies."""
    return min(r.ratio for r in results if r.matched)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and say whether the refit is fast enough."""
    parser = argparse.ArgumentParser(description="What one more label costs the estimate.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--repeats", type=int, default=9, help="repetitions of each measurement")
    options = parser.parse_args(arguments)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn on solvers that stop early, which is shown
        results = [r for kind in ("dense", "counts") for r in contests(kind, options.repeats)]
        curves = [growth(kind, options.repeats) for kind in ("distinct", "repeated")]
    ratio = worst_ratio(results)
    if options.json:
        report = {
            "contests": [asdict(r) | {"ratio": r.ratio, "matched": r.matched} for r in results],
            "growth": [asdict(curve) for curve in curves],
            "ratio": ratio,
            "required": REQUIRED,
        }
        print(json.dumps(report, indent=2))
    else:
        show(results, curves)
        print(f"least ratio to a matched solver: {ratio:.1f} (at least {REQUIRED:g} is required)")
    return 0 if ratio >= REQUIRED else 1


if __name__ == "__main__":
    sys.exit(main())
