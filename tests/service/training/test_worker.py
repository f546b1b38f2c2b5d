"""Learning jobs by themselves: a job plans for what is new since the version in force."""

import pytest
from sqlalchemy import update

from app.planning.policies.uniform import UniformPolicy
from app.planning.problem import PlanBudget
from app.service.agents.hosted_agent import EXPLOIT, HostedAgent, HostedPlan
from app.service.agents.specification import read_specification
from app.service.training.jobs import LearningJob
from app.service.training.worker import Worker
from app.storage.backend import backend_in_use, backend_of
from app.storage.commands.agents import CreateAgent
from app.storage.commands.episodes import EndEpisode, NewEpisode, StartEpisode, step_tuple
from app.storage.commands.labels import SetLabels
from app.storage.commands.learning import NoteLearned, PublishPolicy
from app.storage.commands.log import CounterChange, NewEvent
from app.storage.database import prepare_database
from app.storage.queries import agents
from app.storage.reader import Reader
from app.storage.rows import EpisodeMode, EpisodeStatus, EventKind, VersionRow
from app.storage.schema import knowledge
from tests.support.databases import database_url

AGENT, OTHERS = 1, (2, 3)
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
        self.writing, self.reader = backend_of(url).writing_engine(url), Reader(url)
        self.version = 0  # of the policy in force
        self.changes = {}  # of each episode
        for number in (AGENT, *OTHERS):
            self.apply(CreateAgent(number, "one", SPECIFICATION, {}, None, 0, {}))

    def apply(self, command):
        with self.writing.begin() as connection:
            return command.apply(connection)

    def add_episode(self, label):
        """An episode that was finished and labelled."""
        new = NewEpisode(None, EpisodeMode.learn, True, 0, None, 1, {}, 0)
        number = self.apply(StartEpisode(AGENT, lambda _: new)).number
        with self.writing.begin() as connection:
            rows = [step_tuple(AGENT, number, i, i, 1, i) for i in range(2)]
            backend_in_use(connection).insert_steps(connection, rows)
        waiting, event = EpisodeStatus.awaiting_label, NewEvent(EventKind.finished, 0, number)
        self.apply(EndEpisode(AGENT, number, 0, waiting, 2, False, None, None, None, 0, event))
        self.changes[number] = 1
        self.label(number, label)

    def label(self, number, label, slot=0):
        """A label of an episode."""
        version, self.changes[number] = self.changes[number], self.changes[number] + 1
        event = NewEvent(EventKind.labelled, 0, number, slot, label)
        status, change = EpisodeStatus.labelled, CounterChange()
        self.apply(SetLabels(AGENT, number, version, status, 1, 0, label, 0, None, change, [event]))

    def publish(self, result):
        """Put what was learned in force."""
        note = NoteLearned(AGENT, self.version, result.learned, result.version, {})
        version = VersionRow(AGENT, result.version, 0, 0, "fast", 0.5, 0.0, None, 0.0, 0)
        self.apply(PublishPolicy(note, version, [], None, result.snapshot, result.learned))
        self.version = result.version

    def worker(self, warm_bytes=1e9):
        """The worker of a learning process."""
        return Worker(self.reader, PlanBudget(), warm_bytes)


@pytest.fixture
def log(tmp_path):
    url = database_url(tmp_path)
    prepare_database(url)
    log = Log(url)
    yield log
    log.writing.dispose()
    log.reader.close()


def job(first, version):
    return LearningJob(AGENT, first, 1, version)


def test_a_plan_that_was_never_stored_is_made_again(log):
    worker = log.worker()
    log.add_episode(1)
    lost = worker.run(job(1, -1))
    again = worker.run(job(1, -1))
    assert [plan.policy for plan in again.plans] == [plan.policy for plan in lost.plans]
    assert again.snapshot == lost.snapshot is not None


def test_a_job_with_nothing_new_plans_nothing(log):
    worker = log.worker()
    log.add_episode(1)
    log.publish(worker.run(job(1, -1)))
    assert worker.run(job(1, log.version)).plans == ()


def test_slots_are_told_apart(log):
    """A second slot is one more label, which can wait; a slot set again is a correction."""
    worker = log.worker()
    for _ in range(62):
        log.add_episode(1)
    lesson = worker.run(job(62, -1))
    log.publish(lesson)
    log.label(0, 0, slot=1)
    assert worker.run(job(62, lesson.version)).plans == ()
    log.label(0, 1, slot=1)
    lesson = worker.run(job(62, lesson.version))
    assert lesson.labels == 63
    assert len(lesson.plans) == 2


def test_a_process_that_was_not_asked_for_a_while_plans_as_one_that_was(log):
    """Jobs of an agent go to whichever process is free; that must not change its plans."""
    one, other = log.worker(), log.worker()
    log.publish(other.run(job(0, -1)))
    version = 0
    for number in range(4):
        log.add_episode(number % 2)
        lesson = one.run(job(number + 1, version))
        assert lesson.plans
        log.publish(lesson)
        version = lesson.version
    assert other.run(job(5, version)).plans == ()  # all of it is planned for already
    log.add_episode(1)
    lessons = [worker.run(job(5, version)) for worker in (one, other, log.worker())]
    policies = [[plan.policy for plan in lesson.plans] for lesson in lessons]
    assert policies[0] == policies[1] == policies[2] != []


def test_plans_are_shared_in_the_same_order_however_they_came(log):
    with log.reader.session() as session:
        row = session.read(agents.agent_row, AGENT)
    plans = {n: HostedPlan(0, n, UniformPolicy(2)) for n in (EXPLOIT, 3, 4, 5)}
    shared = []
    for order in ((EXPLOIT, 3, 4, 5), (5, 4, EXPLOIT, 3)):
        agent = HostedAgent(row, read_specification(SPECIFICATION))
        agent.restore_plans({number: plans[number] for number in order})
        shared.append(
            [agent.plan_for(number, EpisodeMode.learn).episode for number in range(6, 12)]
        )
    assert shared[0] == shared[1]
    assert set(shared[0]) == {3, 4, 5}


def garbage(packed):
    return b"garbage"


def cut(packed):
    return packed[:-40]


def overwritten(packed):
    at = len(packed) // 4
    return packed[:at] + bytes(64) + packed[at + 64 :]


@pytest.mark.parametrize("spoil", [garbage, cut, overwritten])
def test_a_damaged_snapshot_is_rebuilt_from_the_log(log, spoil):
    for label in (1, 0, 1):
        log.add_episode(label)
    first = log.worker().learn(LearningJob(AGENT, 3, 1, -1))
    log.publish(first)
    with log.writing.begin() as connection:
        connection.execute(update(knowledge), {"snapshot": spoil(first.snapshot)})
    rebuilt = log.worker().learn(LearningJob(AGENT, 3, 1, log.version))
    assert (rebuilt.learned, rebuilt.labels) == (first.learned, 3)
    assert [plan.policy for plan in rebuilt.plans] == [plan.policy for plan in first.plans]
    log.publish(rebuilt)
    log.add_episode(0)
    assert log.worker().learn(LearningJob(AGENT, 4, 1, log.version)).labels == 4


def test_the_least_recently_used_agents_leave_when_memory_is_short(log):
    worker = log.worker()
    for number in (AGENT, *OTHERS, AGENT):
        worker.run(LearningJob(number, 0, 1, -1))
    assert worker.warm == [2, 3, AGENT]
    sizes = [warm.size for warm in worker._warm.values()]
    assert min(sizes) > 1000
    short = log.worker(warm_bytes=0.9 * sum(sizes))
    for number in (AGENT, *OTHERS):
        short.run(LearningJob(number, 0, 1, -1))
    assert short.warm == [2, 3]


def test_an_agent_larger_than_the_bound_is_not_kept_and_learns_the_same(log):
    log.add_episode(1)
    small, large = log.worker(warm_bytes=0), log.worker()
    first = [worker.run(job(1, -1)).plans[0].policy for worker in (small, large)]
    assert first[0] == first[1]
    assert small.warm == []


def test_a_long_job_makes_one_plan_for_many_episodes(log, monkeypatch):
    many = LearningJob(AGENT, 0, 8, -1)
    assert len(log.worker().run(many).plans) == 8 + 1  # and the exploit plan
    monkeypatch.setattr("app.service.training.worker.PLANNING_SECONDS", 0.0)
    assert [plan.episode for plan in log.worker().run(many).plans] == [0, EXPLOIT]
