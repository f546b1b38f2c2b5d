"""Learning jobs by themselves: a job plans for what is new since the version in force."""

import pytest

from app.planning.policies.uniform import UniformPolicy
from app.planning.problem import PlanBudget
from app.service.agents.hosted_agent import HostedAgent, HostedPlan
from app.service.agents.specification import read_specification
from app.service.training.worker import EXPLOIT, Learner, LearningJob
from app.storage import commands
from app.storage.database import prepare_database
from app.storage.queries import reading
from app.storage.sqlite.engine import make_reading_engine, make_writing_engine
from app.storage.sqlite.writer import Write, execute

AGENT = 1
SPECIFICATION = {
    "states": {"kind": "discrete", "n": 3},
    "actions": {"kind": "discrete", "n": 2},
    "horizon": 2,
    "features": {"kind": "one_hot", "over": ["state"]},
    "seed": 3,
}


class Log:
    """The database of one agent, written to by hand."""

    def __init__(self, url):
        self.url = url
        self.writing, self.reading = make_writing_engine(url), make_reading_engine(url)
        self.events = 0
        counters = ("episodes", *commands.COUNTERS, "last_event", "last_lesson", "learned")
        row = {
            "id": AGENT,
            "position": 1,
            "name": "one",
            "specification": SPECIFICATION,
            "metadata": {},
            "display": None,
            "paused": False,
            "created_at": 0,
            "notes": {},
            "policy_version": 0,
            **dict.fromkeys(counters, 0),
        }
        self.write(Write(commands.ADD_AGENT, row))

    def write(self, *stored):
        with self.writing.begin() as connection:
            execute(connection, stored)

    def add_episode(self, number, label):
        """An episode that was finished and labelled."""
        row = {
            "agent": AGENT,
            "number": number,
            "mode": "learn",
            "status": "labelled",
            "label_required": True,
            "policy_version": 0,
            "ended": False,
            "labels_wanted": 1,
            "verdicts": 1,
            "metadata": {},
            "created_at": 0,
        }
        steps = [
            {"agent": AGENT, "episode": number, "step": i, "state": i, "action": 1}
            for i in range(2)
        ]
        self.write(
            Write(commands.ADD_EPISODE, row),
            *(Write(commands.ADD_STEP, step | {"observation": None}) for step in steps),
            self._event("finished", number, 0),
        )
        self.label(number, label)

    def label(self, number, label, voice=0):
        """A verdict on an episode."""
        self.write(self._event("labelled", number, label, voice))

    def _event(self, kind, episode, value, voice=None):
        self.events += 1
        row = {"number": self.events, "kind": kind, "episode": episode, "value": value}
        return Write(commands.ADD_EVENT, {"agent": AGENT, "at": 0, "voice": voice, **row})

    def publish(self, lesson):
        """Put what was learned in force."""
        known = {"snapshot": lesson.snapshot, "snapshot_event": lesson.learned, "insight": None}
        learned = {
            "the_agent": AGENT,
            "new_learned": lesson.learned,
            "new_policy_version": lesson.version,
            "new_last_event": self.events,
        }
        self.write(
            Write(commands.KNOW, {"agent": AGENT, **known}), Write(commands.LEARNED, learned)
        )

    def learner(self):
        """A learning process."""
        return Learner(self.reading, PlanBudget())


@pytest.fixture
def log(tmp_path):
    url = f"sqlite:///{tmp_path / 'plaudit.db'}"
    prepare_database(url)
    log = Log(url)
    yield log
    log.writing.dispose()
    log.reading.dispose()


def job(first, version):
    return LearningJob(AGENT, first, 1, version)


def test_a_plan_that_was_never_stored_is_made_again(log):
    learner = log.learner()
    log.add_episode(0, 1)
    lost = learner.run(job(1, -1))
    again = learner.run(job(1, -1))
    assert [plan.policy for plan in again.plans] == [plan.policy for plan in lost.plans]
    assert again.snapshot == lost.snapshot is not None


def test_a_job_with_nothing_new_plans_nothing(log):
    learner = log.learner()
    log.add_episode(0, 1)
    log.publish(learner.run(job(1, -1)))
    assert learner.run(job(1, 2)).plans == []


def test_voices_are_told_apart(log):
    """A second voice is one more label, which can wait; what a voice says anew is a correction."""
    learner = log.learner()
    for number in range(62):
        log.add_episode(number, 1)
    lesson = learner.run(job(62, -1))
    log.publish(lesson)
    log.label(0, 0, voice=1)
    assert learner.run(job(62, lesson.version)).plans == []
    log.label(0, 1, voice=1)
    lesson = learner.run(job(62, lesson.version))
    assert lesson.labels == 63
    assert len(lesson.plans) == 2


def test_a_process_that_was_not_asked_for_a_while_plans_as_one_that_was(log):
    """Jobs of an agent go to whichever process is free; that must not change its plans."""
    one, other = log.learner(), log.learner()
    log.publish(other.run(job(0, -1)))
    version = 0
    for number in range(4):
        log.add_episode(number, number % 2)
        lesson = one.run(job(number + 1, version))
        assert lesson.plans
        log.publish(lesson)
        version = lesson.version
    assert other.run(job(5, version)).plans == []  # all of it is planned for already
    log.add_episode(4, 1)
    lessons = [learner.run(job(5, version)) for learner in (one, other, log.learner())]
    policies = [[plan.policy for plan in lesson.plans] for lesson in lessons]
    assert policies[0] == policies[1] == policies[2] != []


def test_plans_are_shared_in_the_same_order_however_they_came(log):
    with log.reading.connect() as connection:
        row = reading.agent_row(connection, AGENT)
    plans = {n: HostedPlan(0, n, UniformPolicy(2)) for n in (EXPLOIT, 3, 4, 5)}
    shared = []
    for order in ((EXPLOIT, 3, 4, 5), (5, 4, EXPLOIT, 3)):
        agent = HostedAgent(row, read_specification(SPECIFICATION))
        agent.plans = {number: plans[number] for number in order}
        shared.append([agent.plan_for(number, "learn").episode for number in range(6, 12)])
    assert shared[0] == shared[1]
    assert set(shared[0]) == {3, 4, 5}
