"""REINFORCE (Williams 1992) with one label per trajectory, as in the paper's experiment.

grad V = E[ y_tau sum_h grad log pi_theta(a_h | s_h) ], estimated on a batch of labelled episodes.
A baseline is added: y minus its mean over the batch. It takes most of the noise away, and dividing
by the deviation as well makes batches of rare successes count like others.

The gradient of an episode is taken at the parameters that PLAYED it, where it is an estimate of
grad V without any correction. For an episode that was labelled late these are not those that the
step is then taken from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.learning.arrays import Floats, Integers
from app.learning.network.network import Network

Advantages = Literal["normalised", "centred", "raw"]

_SMALL = 1e-8  # keeps a batch whose labels are all the same from dividing by zero


@dataclass(frozen=True, eq=False)
class Lesson:
    """A labelled episode and who played it."""

    observations: Floats  # (n, k)
    actions: Integers  # (n,)
    label: int
    theta: Floats  # (p,): the parameters of the policy that played it


def batch_gradient(
    network: Network,
    lessons: Sequence[Lesson],
    advantages: Advantages,
    lens: Callable[[Floats], Floats] = np.asarray,
) -> Floats:
    """The mean over the batch of advantage times grad log pi(tau), shape (p,)."""
    labels = np.array([lesson.label for lesson in lessons], dtype=np.float64)
    shares = advantage(labels, advantages) / len(lessons)
    gradient = np.zeros(network.parameters)
    for theta, members in _by_player(lessons):
        observations = np.concatenate([lessons[i].observations for i in members])
        actions = np.concatenate([lessons[i].actions for i in members])
        factors = np.repeat(shares[members], [len(lessons[i].actions) for i in members])
        gradient += network.gradient(theta, lens(observations), actions, factors)
    return gradient


def advantage(labels: Floats, kind: Advantages) -> Floats:
    """How much better each label is than those of the batch, shape (m,)."""
    if kind == "raw":
        return labels
    centred: Floats = labels - labels.mean()
    return centred if kind == "centred" else centred / (centred.std() + _SMALL)


def _by_player(lessons: Sequence[Lesson]) -> list[tuple[Floats, list[int]]]:
    """The lessons of each policy, so that each needs one pass through its network."""
    groups: dict[int, tuple[Floats, list[int]]] = {}
    for index, lesson in enumerate(lessons):
        groups.setdefault(id(lesson.theta), (lesson.theta, []))[1].append(index)
    return list(groups.values())
