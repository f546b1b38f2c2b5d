"""An agent in a sentence that needs no manual, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass

from app.service.views.overview import AgentOverview
from app.web.render.wording import percent

_GULF = 0.25  # between what a policy predicts and what was observed, that needs a word


@dataclass(frozen=True)
class Next:
    """What to do next: a sentence, and where a button leads."""

    words: str
    action: str = ""  # label, act, or nothing


def summary(overview: AgentOverview) -> list[str]:
    """How the agent does, in sentences."""
    agent, recent = overview.agent, overview.recent
    if not recent:
        if agent.episodes.awaiting_label:
            return [
                f"It has played, and {_many(agent.episodes.awaiting_label, 'episode')} of it "
                "wait for a first verdict."
            ]
        return ["It has learned nothing yet: no episode of it has a verdict."]
    good = sum(recent)
    if len(recent) == 1:
        first = f"Its only judged episode was {'good' if good else 'bad'}"
    else:
        last = "last " if agent.episodes.labelled > len(recent) else ""
        first = f"Of its {last}{len(recent)} judged episodes {good} {_were(good)} good"
    if overview.baseline is not None:
        first += f"; random actions would get about {percent(overview.baseline)}"
    sentences = [first + "."]
    if agent.evaluation is not None:
        bound = percent(agent.evaluation.recent.at_least)
        sentences.append(
            f"With 95\N{NO-BREAK SPACE}% confidence it succeeds at least {bound} of the time."
        )
    sentences += _outlook(overview)
    return sentences


def _outlook(overview: AgentOverview) -> list[str]:
    """How many labels are left."""
    forecast = overview.forecast
    target = "" if forecast.target is None else percent(forecast.target)
    if forecast.kind == "reached":
        return [f"It has reached {target}, most of what it can expect."]
    if forecast.kind != "expected":
        return []
    if forecast.middle == 0:
        return ["More labels may not be needed."]
    if forecast.high is None:
        return [f"At least {_many(forecast.low or 0, 'more label')} until {target}."]
    return [f"About {_many(forecast.middle or 0, 'more label')} until {target}."]


def gulf(overview: AgentOverview) -> str | None:
    """A word on a policy that promises much more, or less, than was observed lately."""
    promised, recent = overview.promised, overview.recent
    if promised is None or len(recent) < 5:
        return None
    observed = sum(recent) / len(recent)
    if abs(promised - observed) < _GULF:
        return None
    if promised > observed:
        return (
            f"Its policy is predicted to reach {percent(promised)} without exploring, but only "
            f"{percent(observed)} of the last {len(recent)} judged episodes were good. Episodes "
            "that explore do worse, and older ones were played by older policies. If the gap "
            "stays, the model misses something: play some episodes in the mode evaluate to know."
        )
    return (
        f"Its policy is predicted to reach only {percent(promised)}, while {percent(observed)} of "
        f"the last {len(recent)} judged episodes were good: the model knows too little yet."
    )


def next_step(overview: AgentOverview) -> Next:
    """What to do next."""
    agent = overview.agent
    if agent.learning_error:
        return Next("Learning failed. The next label tries again; the reason is below.")
    if agent.episodes.awaiting_label:
        return Next(f"{_many(agent.episodes.awaiting_label, 'episode')} wait for a label.", "label")
    if agent.paused:
        return Next("It is paused: it starts no episodes.")
    if agent.episodes.running:
        return Next(f"{_many(agent.episodes.running, 'episode')} are being played now.")
    if not (agent.episodes.labelled or agent.episodes.completed):
        return Next("Play its first episode with one of the programs below.", "act")
    if overview.forecast.kind == "reached" and agent.evaluation is None:
        return Next('Measure it: play episodes in the mode "evaluate".', "act")
    return Next("Play more episodes: each one that is judged teaches it.", "act")


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
