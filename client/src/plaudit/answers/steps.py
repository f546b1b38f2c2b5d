"""Steps: the action to take, for one episode or for many."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from plaudit.answers.values import Action
from plaudit.problems import problem_error


@dataclass(frozen=True)
class ExplanationView:
    """Why this action: visits, predicted success, and how much of it is exploration."""

    visits: int
    success_probability: float
    bonus_share: float


@dataclass(frozen=True)
class StepAnswer:
    """The action to take; ``last`` says that the episode is over after it."""

    step: int
    action: Action
    last: bool
    explanation: ExplanationView | None = None


@dataclass(frozen=True)
class FieldProblem:
    """One invalid field of an entry."""

    detail: str
    pointer: str | None = None
    parameter: str | None = None


@dataclass(frozen=True)
class Problem:
    """What went wrong with one entry of many."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str | None = None
    errors: list[FieldProblem] = field(default_factory=list)


@dataclass(frozen=True)
class StepResult:
    """The result of one entry of many steps, or its problem."""

    episode: str
    step: int | None = None
    action: Action | None = None
    last: bool | None = None
    problem: Problem | None = None

    def answer(self) -> StepAnswer:
        """The answer, as that of one step; an entry with a problem raises it."""
        if self.problem is not None or self.action is None or self.step is None:
            raise problem_error({} if self.problem is None else asdict(self.problem))
        return StepAnswer(self.step, self.action, bool(self.last))
