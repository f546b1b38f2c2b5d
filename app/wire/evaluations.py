"""Success in evaluation, as clients see it."""

from __future__ import annotations

from pydantic import Field

from app.wire.base import Answer


class SuccessView(Answer):
    """How often evaluations were good, with 95 % bounds that are valid at all times."""

    episodes: int = Field(description="evaluations with a result")
    good: int = Field(description="those whose result is good")
    success: float = Field(description="their share")
    low: float = Field(description="of the 95 % interval of the mean success")
    high: float = Field(description="of the 95 % interval of the mean success")
    at_least: float = Field(
        description="with 95 % confidence the mean success is at least this: a one-sided bound"
    )


class VersionSuccessView(SuccessView):
    """The evaluations of one policy version."""

    policy_version: int = Field(description="the version that played them")


class EvaluationView(SuccessView):
    """The evaluations of an agent: all of them, the recent ones, and by policy version.

    An interval is valid at all times, no matter how often it is read. That of `recent` holds for
    all its windows together; the interval of each version holds separately.
    """

    recent: SuccessView = Field(description="the last 100 to 199 of them, or all while fewer")
    versions: list[VersionSuccessView] = Field(description="at most 20, the newest first")
