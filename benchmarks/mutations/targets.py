"""The modules that hold the paper's formulas, and the tests that are to notice a change."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
REASONS = Path(__file__).parent / "equivalent.json"

TESTS = (
    "tests/learning/paper",
    "tests/learning/world/test_transitions.py",
    "tests/learning/logistic/test_posterior.py",
    "tests/learning/logistic/test_logistic.py",
    "tests/agents/kinds/ucbvi",
    "tests/agents/kinds/ucbvi_exact",
    "tests/agents/kinds/ucbvi_explore",
)
# Modules, each with the functions and constants that are no formula of the paper: storage,
# sentences for people, limits of memory and work, searches, addresses of generators.
TARGETS: dict[str, frozenset[str]] = {
    "app/learning/paper/confidence.py": frozenset(),
    "app/learning/paper/coverage.py": frozenset(),
    "app/learning/paper/euler.py": frozenset(),
    "app/learning/paper/explorability.py": frozenset(),
    "app/learning/paper/regret_bounds.py": frozenset(),
    "app/learning/world/transitions.py": frozenset({"arrays", "load", "draw", "guess"}),
    "app/learning/logistic/loss.py": frozenset({"rounding"}),
    "app/learning/logistic/posterior.py": frozenset(
        {"sample", "solve", "log_determinant", "_is_small", "_is_primal", "_conjugate"}
        | {"DENSE_LIMIT", "LARGEST_FACTOR", "SOLVE_TOLERANCE", "SOLVE_LIMIT", "BATCH"}
    ),
    "app/agents/tabular/optimist.py": frozenset(),
    "app/agents/kinds/ucbvi_exact/agent.py": frozenset({"check_budget", "_limits", "HISTORIES"}),
    "app/agents/kinds/ucbvi_explore/agent.py": frozenset(
        {"progress", "_not_reached", "warnings", "_own_arrays", "_load_own", "check_budget"}
        | {"_plan_reward", "REWARD_WORK", "EXAMPLES", "MOST_ENTRIES", "_COIN"}
    ),
    "app/agents/kinds/ucbvi_explore/exploration.py": frozenset(
        {"arrays", "load", "_most_reachable", "RESTARTS", "BETTER", "_DIRECTIONS"}
    ),
    "app/agents/kinds/ucbvi_explore/size.py": frozenset({"sentence", "TUNED_EPISODES"}),
}


@dataclass(frozen=True)
class Break:
    """A gross change that one test by itself must notice, so that the test holds its lemma."""

    name: str
    path: str
    owner: str
    old: str
    new: str
    test: str


_LEMMAS = "tests/learning/paper/test_paper_lemmas.py"
_DESIGN = "tests/agents/kinds/ucbvi_explore/test_ucbvi_explore.py::TestTheDesign"
_XI = "    return np.where(counts > 0, visited, UNVISITED)"
BREAKS = (
    Break(
        "xi ten times too small",
        "app/learning/paper/confidence.py",
        "xi",
        _XI,
        _XI + " / 10.0",
        f"{_LEMMAS}::test_a_tenth_of_xi_is_not_enough",
    ),
    Break(
        "xi ten times too small",
        "app/learning/paper/confidence.py",
        "xi",
        _XI,
        _XI + " / 10.0",
        f"{_LEMMAS}::test_xi_covers_the_bonuses_of_both_lemmas[400]",
    ),
    Break(
        "Psi a thousand times too small",
        "app/learning/paper/explorability.py",
        "condition_bound",
        "return float(4.0 / 3.0 * shape",
        "return float(4.0 / 3000.0 * shape",
        f"{_DESIGN}::test_the_lemmas_on_eigenvalues",
    ),
    Break(
        "no kappa in the design of Algorithm 3",
        "app/agents/tabular/optimist.py",
        "Optimist.design",
        "ridge = self.kappa * self.scale**2",
        "ridge = 1e-9 * self.scale**2",
        f"{_DESIGN}::test_the_sandwich_and_the_condition_number",
    ),
    Break(
        "no square root of H in the sandwich",
        "app/learning/paper/explorability.py",
        "sandwich_factor",
        "return math.sqrt(horizon * condition)",
        "return math.sqrt(condition)",
        f"{_DESIGN}::test_the_sandwich_and_the_condition_number",
    ),
    Break(
        "the martingale bound half as large",
        "app/learning/paper/regret_bounds.py",
        "martingale_bound",
        "return 2.0 * size",
        "return 0.5 * size",
        f"{_LEMMAS}::test_martingales_stay_below_their_bound_at_all_times[signs]",
    ),
    Break(
        "the determinant lemma without its 2",
        "app/learning/paper/regret_bounds.py",
        "potential_bound",
        "return 2.0 * dimension",
        "return 0.5 * dimension",
        f"{_LEMMAS}::test_the_determinant_lemma[30.0]",
    ),
)


def reasons() -> dict[str, str]:
    """Why a mutant is equivalent, by the mutant's key."""
    found = json.loads(REASONS.read_text()) if REASONS.exists() else []
    return {mutant: entry["reason"] for entry in found for mutant in entry["mutants"]}
