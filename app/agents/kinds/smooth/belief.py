"""The belief of `smooth` at one point of the log: the dynamics, and what labels depend on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from app.learning.arrays import Floats, Integers
from app.learning.continuous.frame import Frame, Track
from app.learning.continuous.label_model import (
    Candidate,
    LabelModel,
    SuccessLogit,
    candidates,
    weigh,
)
from app.learning.continuous.process import Labels
from app.learning.continuous.steps import Path
from app.learning.continuous.world import World
from app.learning.randomness import generator
from app.learning.selection.competition import checkpoint

_CANDIDATES = candidates()
MOST_EPISODES = 400  # labelled episodes that a process is fitted to
_SAMPLE = 12  # address of the generator that picks labelled episodes
OUTSIDE = -10.0  # the logit of a state outside the declared box, before any success


class Notes:
    """Shared parts of all beliefs about one world: episodes as tracks, weights of candidates."""

    def __init__(self, world: World, horizon: int) -> None:
        self.world, self.horizon = world, horizon
        self.frame = Frame(world.coarse, world.fine)
        self.shares: dict[tuple[tuple[int, int], ...], Floats] = {}
        self._tracks: dict[tuple[int, bool], Track] = {}

    def track(self, episode: int, path: Path) -> Track:
        """An episode as the label model sees it; rebuilt once its end is reported."""
        key = episode, path.final is not None
        if key not in self._tracks:
            states = self.world.states_of(path, self.horizon)
            self._tracks[key] = Track(self.frame, states, path.ended)
        return self._tracks[key]


class Belief:
    """Learned dynamics, and the label models fitted to the labels so far."""

    def __init__(
        self,
        notes: Notes,
        paths: Mapping[int, Path],
        verdicts: Sequence[tuple[int, int]],
        seed: int,
    ) -> None:
        self.world, self.horizon = notes.world, notes.horizon
        self.good = sum(label for _, label in verdicts)
        self._notes, self._paths, self._seed = notes, paths, seed
        self._verdicts = verdicts
        self.label_model, self.labels = self._model_labels(verdicts)

    @cached_property
    def shares(self) -> Floats:
        """The posterior probability of each candidate, by the labels up to a checkpoint."""
        labels = np.array([label for _, label in self._verdicts], dtype=np.float64)
        count = checkpoint(labels)
        last = self._verdicts[count - 1][0] if count else -1
        known = tuple(verdict for verdict in self._verdicts if verdict[0] <= last)
        found = self._notes.shares
        if known not in found:
            found[known] = weigh(*self._model_labels(known), _CANDIDATES)
        return found[known]

    @property
    def best(self) -> Candidate:
        """The most probable candidate."""
        return _CANDIDATES[int(np.argmax(self.shares))]

    def mean(self) -> SuccessLogit:
        """The posterior mean of the most probable candidate."""
        return self.label_model.mean(self.best)

    def draw(self, spread: float, rng: np.random.Generator) -> SuccessLogit:
        """Draw a candidate and its function from the posterior."""
        candidate = _CANDIDATES[int(rng.choice(len(_CANDIDATES), p=self.shares))]
        return self.label_model.draw(candidate, spread, rng)

    def predict(self, paths: Mapping[int, Path]) -> tuple[Floats, Floats]:
        """Mean and deviation of the logit of each episode, by the most probable candidate."""
        tracks = [self._notes.track(episode, path) for episode, path in paths.items()]
        return self.label_model.predict(self.best, tracks)

    def _model_labels(self, verdicts: Sequence[tuple[int, int]]) -> tuple[LabelModel, Labels]:
        rng = generator(self._seed, _SAMPLE, len(verdicts))
        chosen, labels = _collect(self._paths, verdicts, rng)
        tracks = [self._notes.track(episode, self._paths[episode]) for episode in chosen]
        return LabelModel(self._notes.frame, tracks, labels, self.horizon), labels


def _collect(
    paths: Mapping[int, Path], verdicts: Sequence[tuple[int, int]], rng: np.random.Generator
) -> tuple[list[int], Labels]:
    """Collect the labelled episodes, at most `MOST_EPISODES`, with their labels.

    Episodes with the rarer label are kept first. A kept episode also counts for episodes with the
    same label that are left out.
    """
    given: dict[int, list[int]] = {}
    for episode, label in verdicts:
        given.setdefault(episode, []).append(label)
    episodes = np.array(sorted(given), dtype=np.int64)
    shares = np.array([np.mean(given[n]) for n in episodes.tolist()])
    counts = np.array([float(len(given[n])) for n in episodes.tolist()])
    if len(episodes) > MOST_EPISODES:
        kept, factors = _representatives(shares >= 0.5, rng)
        episodes, shares, counts = episodes[kept], shares[kept], counts[kept] * factors
    chosen = [int(n) for n in episodes]
    ended = np.array([float(paths[n].ended) for n in chosen])
    return chosen, Labels(shares, counts, ended)


def _representatives(good: NDArray[np.bool_], rng: np.random.Generator) -> tuple[Integers, Floats]:
    """Choose the episodes to keep, and how many episodes each represents."""
    kinds = sorted((np.flatnonzero(good == kind) for kind in (False, True)), key=len)
    few = min(len(kinds[0]), MOST_EPISODES // 2)
    sizes = (few, MOST_EPISODES - few)
    kept = [rng.choice(k, size, replace=False) for k, size in zip(kinds, sizes, strict=True)]
    factors = [np.full(size, len(k) / max(size, 1)) for k, size in zip(kinds, sizes, strict=True)]
    order = np.argsort(np.concatenate(kept))
    return np.concatenate(kept)[order], np.concatenate(factors)[order]
