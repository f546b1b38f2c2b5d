"""Gymnasium environments: spaces as states and actions, training, evaluation, recording.

`Agent.train` and `Agent.evaluate` import this package when they are called.
"""

try:
    import gymnasium as _gymnasium  # noqa: F401
except ImportError as error:
    raise ImportError(
        "Gymnasium is not installed. Install it with: pip install 'plaudit-client[gymnasium]'"
    ) from error

from plaudit.gym.adapter import OutOfBounds
from plaudit.gym.evaluate import Evaluation
from plaudit.gym.record import RecordFrames
from plaudit.gym.rollout import Rollout
from plaudit.gym.train import Training

__all__ = ["Evaluation", "OutOfBounds", "RecordFrames", "Rollout", "Training"]
