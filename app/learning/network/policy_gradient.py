"""REINFORCE (Williams 1992) with one label per trajectory, as in the paper's experiment.

grad V = E[ y_tau sum_h grad log pi_theta(a_h | s_h) ], estimated on a batch of labelled episodes.
A baseline is added: y minus its mean over the batch. It removes most of the noise, and dividing by
the deviation gives batches with rare successes the same weight as others.

The gradient of an episode is taken at the parameters that played it, where it is an unbiased
estimate of grad V. For an episode that was labelled late these are older than the parameters that
the step starts from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.learning.arrays import Booleans, Floats, Integers
from app.learning.network.network import Network

Advantages = Literal["normalised", "centred", "raw"]

_SMALL = 1e-8  # avoids a division by zero when all labels of a batch are equal


@dataclass(frozen=True, eq=False)
class LabelledEpisode:
    """A labelled episode and the parameters of the policy that played it."""

    observations: Floats  # (n, k)
    actions: Integers  # (n,)
    label: int
    theta: Floats  # (p,): the parameters of the policy that played it
    allowed: Booleans | None = None  # (n, A): what was possible; None: everything


def batch_gradient(
    network: Network,
    episodes: Sequence[LabelledEpisode],
    advantages: Advantages,
    scaling: Callable[[Floats], Floats] = np.asarray,
) -> Floats:
    """The mean over the batch of advantage times grad log pi(tau), shape (p,)."""
    labels = np.array([episode.label for episode in episodes], dtype=np.float64)
    shares = advantage(labels, advantages) / len(episodes)
    gradient = np.zeros(network.parameters)
    for theta, members in _by_policy(episodes):
        observations = np.concatenate([episodes[i].observations for i in members])
        actions = np.concatenate([episodes[i].actions for i in members])
        factors = np.repeat(shares[members], [len(episodes[i].actions) for i in members])
        allowed = _allowed(network, [episodes[i] for i in members])
        gradient += network.gradient(theta, scaling(observations), actions, factors, allowed)
    return gradient


def _allowed(network: Network, episodes: Sequence[LabelledEpisode]) -> Booleans | None:
    """What was possible in all steps of some episodes; None where everything was."""
    if all(episode.allowed is None for episode in episodes):
        return None
    parts = [
        np.ones((len(episode.actions), network.sizes[-1]), dtype=np.bool_)
        if episode.allowed is None
        else episode.allowed
        for episode in episodes
    ]
    return np.concatenate(parts)


def advantage(labels: Floats, kind: Advantages) -> Floats:
    """The advantage of each label over the mean of the batch, shape (m,)."""
    if kind == "raw":
        return labels
    centred: Floats = labels - labels.mean()
    return centred if kind == "centred" else centred / (centred.std() + _SMALL)


def _by_policy(episodes: Sequence[LabelledEpisode]) -> list[tuple[Floats, list[int]]]:
    """Group the episodes by policy, so that each policy needs one pass through its network."""
    groups: dict[int, tuple[Floats, list[int]]] = {}
    for index, episode in enumerate(episodes):
        groups.setdefault(id(episode.theta), (episode.theta, []))[1].append(index)
    return list(groups.values())
