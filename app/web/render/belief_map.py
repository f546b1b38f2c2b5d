"""The belief map as squares of an SVG: chance as colour, visits as opacity, actions as arrows."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from app.service.views.belief_maps import BeliefCell, BeliefMap
from app.web.render.wording import Names, percent
from app.wire.agents import AgentView
from app.wire.specification.display import GridDisplay

MOST_LINKED = 400  # squares that are links; more would be a long way for the keyboard
_MOST_TILES = 400  # states without a grid that are drawn as squares
_SIGNS = {"goal": "⚑", "hole": "hole", "wall": "", "danger": "!"}
_ENDS = ("goal", "hole", "danger", "wall")
_ACROSS = {"left": -1, "west": -1, "right": 1, "east": 1}
_ALONG = {"up": -1, "north": -1, "down": 1, "south": 1}
_ARROWS = {
    (-1, 0): "←",
    (1, 0): "→",
    (0, -1): "↑",
    (0, 1): "↓",
    (-1, -1): "↖",
    (1, -1): "↗",
    (-1, 1): "↙",
    (1, 1): "↘",
}


@dataclass(frozen=True)
class Square:
    """A square of the map."""

    x: int
    y: int
    state: int | None  # that its link leads to
    kind: str  # of the cell: wall, hole, goal, start, item, danger, or empty
    strength: float  # of its colour, from 0 to 1
    opacity: float
    sign: str
    words: str

    @property
    def is_strong(self) -> bool:
        """Whether its colour is so strong that signs on it are white."""
        return self.strength * self.opacity > 0.75

    @property
    def changing(self) -> tuple[float, float, str, str]:
        """What differs between policy versions."""
        return self.strength, self.opacity, self.sign, self.words


@dataclass(frozen=True)
class DrawnMap:
    """The map as a page draws it."""

    columns: int
    rows: int
    squares: list[Square]
    is_linked: bool


def draw_map(found: BeliefMap | None, agent: AgentView, names: Names) -> DrawnMap | None:
    """Draw a map; None where its states have no places."""
    if found is None:
        return None
    if found.axes:
        return _over_numbers(found, names)
    grid = agent.display if isinstance(agent.display, GridDisplay) else None
    if grid is not None and len(found.cells) <= (len(grid.places) or grid.rows * grid.cols):
        return _on_grid(found.cells, grid, names)
    if len(found.cells) > _MOST_TILES:
        return None
    columns = math.ceil(math.sqrt(1.6 * len(found.cells)))
    rows = -(-len(found.cells) // columns)
    most = max((cell.visits for cell in found.cells), default=0)
    squares = [
        _square(i % columns, i // columns, i, "", cell, names.state(i), names, most)
        for i, cell in enumerate(found.cells)
    ]
    return DrawnMap(columns, rows, squares, True)


def _on_grid(cells: Sequence[BeliefCell], grid: GridDisplay, names: Names) -> DrawnMap:
    kinds = {square: kind for kind, some in grid.cells.items() for square in some}
    there: dict[int, list[int]] = defaultdict(list)  # the states of each square
    for state in range(len(cells)):
        there[grid.places[state] if grid.places else state].append(state)
    merged = {square: _merged([cells[state] for state in some]) for square, some in there.items()}
    most = max((cell.visits for cell in merged.values()), default=0)
    squares = []
    for square in range(grid.rows * grid.cols):
        cell = merged.get(square, BeliefCell(None, 0, None))
        y, x = divmod(square, grid.cols)
        first = there[square][0] if there[square] else None
        name = f"Row {y + 1}, column {x + 1}"
        kind = kinds.get(square, "")
        squares.append(_square(x, y, first, kind, cell, name, names, most))
    return DrawnMap(grid.cols, grid.rows, squares, len(squares) <= MOST_LINKED)


def _merged(cells: Sequence[BeliefCell]) -> BeliefCell:
    """The states that share a square as one: chances weighed by visits, the usual action."""
    visits = sum(cell.visits for cell in cells)
    known = [cell for cell in cells if cell.success is not None]
    if not known:
        return BeliefCell(None, visits, None)
    weight = sum(cell.visits for cell in known)
    success = sum(cell.visits * (cell.success or 0.0) for cell in known) / weight
    return BeliefCell(success, visits, max(known, key=lambda cell: cell.visits).action)


def _over_numbers(found: BeliefMap, names: Names) -> DrawnMap:
    columns = found.axes[0].cells
    rows = found.axes[1].cells if len(found.axes) > 1 else 1
    most = max((cell.visits for cell in found.cells), default=0)
    squares = []
    for i, cell in enumerate(found.cells):
        x, y = divmod(i, rows)
        ends = []
        for axis, place in zip(found.axes, (x, y), strict=False):
            width = (axis.high - axis.low) / axis.cells
            low = axis.low + place * width
            ends.append(f"{names.dimension(axis.dimension)} {low:.3g} to {low + width:.3g}")
        words = ", ".join(ends).replace("-", "\N{MINUS SIGN}")
        squares.append(_square(x, rows - 1 - y, None, "", cell, words, names, most))
    return DrawnMap(columns, rows, squares, False)


def _square(
    x: int,
    y: int,
    state: int | None,
    kind: str,
    cell: BeliefCell,
    name: str,
    names: Names,
    most: int,
) -> Square:
    words = [name]
    is_end = kind in _ENDS and not cell.visits
    if is_end:
        words.append({"wall": "A wall", "goal": "The goal"}.get(kind, f"A {kind}".strip()))
    elif cell.visits == 0:
        words.append("It never acted here")
    else:
        action = None if cell.action is None else names.action(cell.action)
        words += [] if action is None else [f"Does: {action}"]
        words += [] if cell.success is None else [f"{percent(cell.success)} chance from here"]
        words.append(f"Seen {cell.visits} time{'' if cell.visits == 1 else 's'}")
    sign = _SIGNS.get(kind, "") if is_end else ""
    if cell.action is not None:
        sign = arrow(names.action(cell.action))
    share = math.log1p(cell.visits) / math.log1p(most) if most else 0.0
    return Square(
        x,
        y,
        state,
        kind if is_end or kind in ("start", "item") else "",
        round(cell.success or 0.0, 2),
        1.0 if is_end else round(0.35 + 0.65 * share, 2),
        sign,
        ". ".join(words) + ".",
    )


def arrow(action: str) -> str:
    """An action as a sign: an arrow where its name is a direction, else its first letters."""
    words = action.lower().replace("-", " ").replace("_", " ").split()
    across = next((_ACROSS[word] for word in words if word in _ACROSS), 0)
    along = next((_ALONG[word] for word in words if word in _ALONG), 0)
    return _ARROWS.get((across, along)) or action[:3]
