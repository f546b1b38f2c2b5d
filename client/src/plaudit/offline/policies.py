"""The kinds of policies, as the server's documentation of policies describes them.

A policy maps (step, state, memory, u) to (action, memory). States and actions are indices, the
memory is None when an episode begins, and u is a random number in [0, 1). With ``done``, the action
that somebody else did, the memory is the one after that.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from math import floor
from typing import Any, Protocol

from plaudit.errors import InvalidArgument

Document = Mapping[str, Any]
Seen = int | Sequence[float]
"""The index of a state; or, for a net or a network, the numbers that are seen."""


class Policy(Protocol):
    """Chooses actions."""

    def act(
        self, step: int, state: Any, memory: Any, u: float, done: int | None = None
    ) -> tuple[int, Any]:
        """The action, and the memory after it."""


def hold(x: int, low: int, high: int) -> int:
    """A number within bounds."""
    return min(max(x, low), high)


class Draw:
    """Draws one of the actions that are possible in a state, all as likely."""

    def __init__(self, document: Document) -> None:
        self._actions: int = document["actions"] if "actions" in document else document["sizes"][0]
        self._allowed: list[list[int]] | None = document.get("allowed")

    def __call__(self, state: Seen, u: float) -> int:
        """The action that u falls on."""
        if self._allowed is None:
            return floor(u * self._actions)
        row = self._allowed[state if isinstance(state, int) else 0]
        possible = [action for action, allowed in enumerate(row) if allowed]
        return possible[floor(u * len(possible))]


class Uniform:
    """Every possible action is as likely."""

    def __init__(self, document: Document) -> None:
        self._draw = Draw(document)

    def act(
        self, step: int, state: int, memory: None, u: float, done: int | None = None
    ) -> tuple[int, None]:
        """The action that u falls on."""
        return self._draw(state, u) if done is None else done, memory


class Markov:
    """One action for each step and state."""

    def __init__(self, document: Document) -> None:
        self._actions: list[list[int]] = document["actions"]

    def act(
        self, step: int, state: int, memory: None, u: float, done: int | None = None
    ) -> tuple[int, None]:
        """The action of the table."""
        return self._actions[step][state] if done is None else done, memory


class Grid:
    """A table over step, state and the logit gathered so far; the memory counts that in deltas."""

    def __init__(self, document: Document) -> None:
        self._rows = document["low"], document["high"], document["offsets"]
        self._actions, self._weights = document["actions"], document["weights"]
        self._delta, self._clip = document["delta"], document["clip"]

    def act(
        self, step: int, state: int, memory: int | None, u: float, done: int | None = None
    ) -> tuple[int, int]:
        """The action, and the logit with its step; u rounds it."""
        gathered = memory or 0
        low, high, offset = (rows[step][state] for rows in self._rows)
        action: int = self._actions[offset + hold(gathered, low, high) - low]
        action = action if done is None else done
        grown = min(max(self._weights[step][state][action] / self._delta, -1e9), 1e9)
        whole = floor(grown)
        return action, hold(gathered + whole + (u < grown - whole), *self._clip)


class Reward:
    """A table over step, state and two counters, one of which stops at the top."""

    def __init__(self, document: Document) -> None:
        rows = ("low_a", "high_a", "low_b", "high_b", "offsets")
        moves = ("steps_a", "steps_b", "thetas_a", "thetas_b")
        self._rows = tuple(document[name] for name in rows)
        self._moves = tuple(document[name] for name in moves)
        self._actions, self._top = document["actions"], document["top"]

    def act(
        self,
        step: int,
        state: int,
        memory: tuple[int, int] | None,
        u: float,
        done: int | None = None,
    ) -> tuple[int, tuple[int, int]]:
        """The action, and both counters with their step; u rounds them."""
        first, second = memory or (0, 0)
        low_a, high_a, low_b, high_b, offset = (rows[step][state] for rows in self._rows)
        row = (hold(first, low_a, high_a) - low_a) * (high_b - low_b + 1)
        action: int = self._actions[offset + row + hold(second, low_b, high_b) - low_b]
        action = action if done is None else done
        step_a, step_b, p, q = (moves[step][state][action] for moves in self._moves)
        first, second = first + step_a, second + step_b
        if second >= self._top:
            second, q = self._top, 0.0
        rest = u / p if u < p else (u - p) / (1.0 - p)
        return action, (first + (u < p), second + (rest < q))


class History:
    """A tree of histories; the memory is its last edge, and -1 where the history left the tree."""

    def __init__(self, document: Document) -> None:
        self._actions, self._states = document["sizes"]
        self._levels, self._keys = document["levels"], document["keys"]
        self._choices, self._draw = document["choices"], Draw(document)

    def act(
        self, step: int, state: int, memory: int | None, u: float, done: int | None = None
    ) -> tuple[int, int]:
        """The action of the tree; any action, if the history is not in it."""
        edge = memory or 0
        begin, end = self._levels[step], self._levels[step + 1]
        key = edge * self._states + state
        place = bisect_left(self._keys, key, begin, end)
        if edge == -1 or place == end or self._keys[place] != key:
            return self._draw(state, u) if done is None else done, -1
        action: int = self._choices[place] if done is None else done
        return action, (place - begin) * self._actions + action


class Paper:
    """A table over three sums of the history; the memory is these sums."""

    def __init__(self, document: Document) -> None:
        self._zeta, self._width, self._offset = document["scalars"]
        self._sums, self._choices = document["sums"], document["choices"]

    def act(
        self,
        step: int,
        state: int,
        memory: tuple[float, ...] | None,
        u: float,
        done: int | None = None,
    ) -> tuple[int, tuple[float, ...]]:
        """The action at the cell of the sums so far."""
        totals = memory or (0.0, 0.0, 0.0)
        choices = self._choices[step][state]
        shifted = (totals[0] + self._offset, *totals[1:])
        cells = (
            hold(floor((total + self._zeta) / self._width), 0, len(choices) - 1)
            for total in shifted
        )
        for cell in cells:
            choices = choices[cell]
        action: int = choices if done is None else done
        moved = zip(totals, self._sums, strict=True)
        return action, tuple(total + table[step][state][action] for total, table in moved)


class Tracked:
    """A policy behind a small automaton, whose state it takes for the state."""

    def __init__(self, document: Document) -> None:
        self._entered, self._memories = document["entered"], document["memories"]
        mark = "inner."
        inner = {k[len(mark) :]: value for k, value in document.items() if k.startswith(mark)}
        self._inner = policy_of(inner)

    def act(
        self,
        step: int,
        state: int,
        memory: tuple[int, Any] | None,
        u: float,
        done: int | None = None,
    ) -> tuple[int, tuple[int, Any]]:
        """The action of the policy behind the automaton."""
        held, inside = memory or (0, None)
        place = self._entered[held][state]
        action, inside = self._inner.act(step, place, inside, u, done)
        return action, (self._memories[place][action], inside)


class Mixture:
    """One of several tables, or an inner policy; a coin at the first step decides."""

    def __init__(self, document: Document) -> None:
        self._chance, self._draw = document["chance"], Draw(document)
        self._tables: list[list[list[int]]] = document["tables"]
        mark = "inner."
        inner = {k[len(mark) :]: value for k, value in document.items() if k.startswith(mark)}
        self._inner = policy_of(inner)

    def act(
        self,
        step: int,
        state: int,
        memory: tuple[int, Any] | None,
        u: float,
        done: int | None = None,
    ) -> tuple[int, tuple[int, Any]]:
        """The action of what the coin chose."""
        if memory is not None:
            chosen, inside = memory
        elif u < self._chance:
            u, inside = u / self._chance, None
            chosen = 1 + floor(u * len(self._tables))
        else:
            u, chosen, inside = (u - self._chance) / (1.0 - self._chance), 0, None
        if chosen == 0:
            action, inside = self._inner.act(step, state, inside, u, done)
        elif self._tables:
            action = self._tables[chosen - 1][step][state]
        else:
            action = self._draw(state, u)
        return action if done is None else done, (chosen, inside)


def _net(document: Document) -> Policy:
    from plaudit.offline.net import Net

    return Net(document)


def _network(document: Document) -> Policy:
    from plaudit.offline.network import Network

    return Network(document)


KINDS: dict[str, Callable[[Document], Policy]] = {
    "uniform": Uniform,
    "markov": Markov,
    "grid": Grid,
    "reward": Reward,
    "history": History,
    "paper": Paper,
    "tracked": Tracked,
    "mixture": Mixture,
    "net": _net,
    "network": _network,
}


def policy_of(document: Document) -> Policy:
    """The policy that a document describes."""
    kind = document.get("kind")
    if kind not in KINDS:
        raise InvalidArgument(
            f"This client cannot run policies of the kind {kind!r}. Upgrade plaudit-client."
        )
    return KINDS[kind](document)
