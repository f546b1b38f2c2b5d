"""Lost requests, lost answers and refusals: every call happens once, or says why it did not."""

import itertools
import logging
import random
import time
from email.utils import formatdate

import httpx
import pytest

import plaudit
from plaudit._core.backoff import Backoff
from plaudit._core.exchange import Rules, Send, Sleep, Unreachable, exchange
from plaudit._core.flow import Reply, Request
from tests.client.faulty import (
    HANG,
    LOSE_ANSWER,
    LOSE_REQUEST,
    PASS,
    CutAfter,
    FaultyProxy,
    Refuse,
    unused_url,
)
from tests.client.test_operations import GIF, play
from tests.support.running import LAKE

WAYS = [[LOSE_REQUEST], [LOSE_ANSWER], [LOSE_ANSWER, LOSE_REQUEST, LOSE_ANSWER]]
OVERLOADED = Refuse(503, {"Retry-After": "0"}, b"{}", "application/problem+json")


@pytest.fixture
def shaky(connect, proxy):
    """A client that talks to the shared server through the faulty proxy."""
    return connect(proxy.url)


@pytest.mark.parametrize("faults", [*WAYS, [OVERLOADED, Refuse(502), Refuse(504)]])
class TestHappensOnce:
    """Whatever is lost on the way."""

    def test_creating_an_agent(self, shaky, proxy, faults):
        proxy.faults = list(faults)
        made = shaky.create_agent(**LAKE | {"name": "once"})
        assert [agent.id for agent in shaky.list_agents() if agent.name == "once"] == [made.id]
        proxy.faults = list(faults)
        shaky.delete_agent(made.id)
        with pytest.raises(plaudit.NotFound):
            shaky.delete_agent(made.id)

    def test_an_episode(self, shaky, proxy, lake, faults):
        actions = []
        proxy.faults = list(faults)
        episode = shaky.start_episode(lake.id)
        for step in range(3):
            proxy.faults = list(faults)
            actions.append(shaky.take_step(episode.id, step, step).action)
        proxy.faults = list(faults)
        assert shaky.finish_episode(episode.id, 3).status == "awaiting_label"
        proxy.faults = list(faults)
        assert shaky.give_label(episode.id, 1).label == 1
        proxy.faults = list(faults)
        assert shaky.withdraw_label(episode.id).label is None
        view = shaky.read_episode(episode.id)
        assert [step.action for step in view.steps] == actions
        assert (view.length, view.final) == (3, 3)
        assert [change.label for change in view.labels] == [1, None]
        assert shaky.read_agent(lake.id).episodes.total == 1

    def test_abandoning(self, shaky, proxy, lake, faults):
        episode = shaky.start_episode(lake.id)
        proxy.faults = list(faults)
        assert shaky.abandon_episode(episode.id).status == "abandoned"

    def test_an_import(self, shaky, proxy, lake, faults):
        proxy.faults = list(faults)
        shaky.import_trajectories(lake.id, [plaudit.Trajectory([0, 1], [1], label=1)])
        assert shaky.read_agent(lake.id).episodes.labelled == 1

    def test_a_recording(self, shaky, proxy, lake, faults):
        episode = play(shaky, lake.id)
        proxy.faults = list(faults)
        assert shaky.put_recording(episode, GIF).size == len(GIF)
        proxy.faults = list(faults)
        shaky.remove_recording(episode)


def test_a_key_whose_secret_was_lost_is_replaced(connect, start_server):
    server = start_server(PLAUDIT_ADMIN_KEY="0123456789abcdef", learning=False)
    with FaultyProxy(server.url) as proxy:
        admin = connect(proxy.url, key="0123456789abcdef")
        proxy.faults = [LOSE_ANSWER]
        key = admin.create_key("arm", "viewer")
        assert list(connect(server.url, key=key.secret).list_agents()) == []
        lost, kept = admin.list_keys()
        assert (lost.revoked_at is None, kept.revoked_at) == (False, None)
        assert kept.id == key.id


def test_a_step_without_a_number_is_not_repeated(shaky, proxy, lake):
    """The server could not tell a retry from the next step."""
    episode = shaky.start_episode(lake.id)
    proxy.faults = [LOSE_ANSWER]
    with pytest.raises(plaudit.ConnectionFailed, match="tried once"):
        shaky.take_step(episode.id, 0)
    assert shaky.read_episode(episode.id).length == 1
    proxy.faults = [OVERLOADED]  # which says that nothing was done
    assert shaky.take_step(episode.id, 1).step == 1


def test_an_end_by_somebody_else_is_still_a_conflict(shaky, proxy, lake):
    """A lost request must not hide that the episode was over for another reason."""
    episode = shaky.start_episode(lake.id)
    shaky.finish_episode(episode.id, 3)
    proxy.faults = [LOSE_REQUEST]
    with pytest.raises(plaudit.EpisodeOver):
        shaky.take_step(episode.id, 1, 0)
    shaky.abandon_episode(episode.id)
    proxy.faults = [LOSE_REQUEST]
    with pytest.raises(plaudit.EpisodeOver):
        shaky.finish_episode(episode.id, 3)


def test_tries_share_an_id_and_a_key(shaky, proxy, lake):
    proxy.faults = [LOSE_ANSWER, LOSE_ANSWER]
    shaky.start_episode(lake.id)
    sent = [headers for method, _, headers, _ in proxy.requests if method == "POST"][-3:]
    for header in ("x-request-id", "idempotency-key"):
        assert len({{k.lower(): v for k, v in one.items()}[header] for one in sent}) == 1


def test_what_the_server_refuses_is_not_repeated(shaky, proxy):
    with pytest.raises(plaudit.InvalidValue):
        shaky.create_agent("bad", 4, 2, 0)
    assert len(proxy.requests) == 1


def test_a_broken_export_is_read_to_its_end(shaky, proxy, lake):
    logged = [plaudit.Trajectory([i % 4, 1], [1], label=1) for i in range(5)]
    shaky.import_trajectories(lake.id, logged)
    proxy.faults = [CutAfter(2), LOSE_REQUEST, CutAfter(4)]
    assert [line.number for line in shaky.export_episodes(lake.id)] == [0, 1, 2, 3, 4]


class TestAServerThatIsAway:
    def test_it_says_what_to_do(self, connect, caplog):
        url = unused_url()
        with pytest.raises(plaudit.ConnectionFailed) as caught:
            connect(url, patience=1.0).read_health()
        error = caught.value
        assert url in str(error)
        assert "plaudit serve" in str(error)
        assert "PLAUDIT_URL" in str(error)
        assert error.tries > 2
        assert error.request_id
        assert not isinstance(error, plaudit.TimedOut)

    def test_patience_is_kept(self, connect):
        impatient = connect(unused_url()).with_options(patience=0.0)
        began = time.monotonic()
        with pytest.raises(plaudit.ConnectionFailed):
            impatient.read_health()
        assert time.monotonic() - began < 5

    def test_a_warning_comes_first(self, connect, caplog):
        with caplog.at_level(logging.WARNING, "plaudit"), pytest.raises(plaudit.PlauditError):
            connect(unused_url(), patience=2.0).read_health()
        (record,) = caplog.records
        assert "does not answer" in record.message

    def test_one_that_hangs(self, shaky, proxy, lake):
        quick = shaky.with_options(timeout=0.3, patience=0.0)
        proxy.faults = [HANG]
        with pytest.raises(plaudit.TimedOut, match=r"timeout="):
            quick.read_agent(lake.id)
        proxy.faults = [HANG]
        assert shaky.with_options(timeout=0.5).read_agent(lake.id).id == lake.id

    def test_one_that_comes_back(self, connect, start_server, tmp_path):
        server = start_server(learning=False)
        port = server.url.rpartition(":")[2]
        client = connect(server.url)
        agent = client.agent("back", states=4, actions=2, horizon=5, algorithm="uniform")
        episode = agent.episode(wait=False)
        episode.act(0)
        server.kill()
        start_server(tmp_path, learning=False, PLAUDIT_PORT=port)
        episode.act(1)
        assert episode.refresh().length == 2


class TestNotPlaudit:
    """Another server, or a proxy with a page of its own."""

    def test_a_page(self, shaky, proxy):
        proxy.faults = [Refuse(200, body=b"<h1>Router</h1>")]
        with pytest.raises(plaudit.UnexpectedAnswer, match=r"text/html.*PLAUDIT_URL.*Router"):
            shaky.read_health()

    def test_an_error_page(self, shaky, proxy):
        proxy.faults = [Refuse(418, body=b"teapot")]
        with pytest.raises(plaudit.UnexpectedAnswer, match="418"):
            shaky.read_health()

    def test_a_redirect(self, shaky, proxy):
        proxy.faults = [Refuse(301, {"Location": "https://elsewhere.example/"})]
        with pytest.raises(plaudit.UnexpectedAnswer, match=r"elsewhere\.example"):
            shaky.read_health()

    @pytest.mark.parametrize("body", [b"[]", b'{"version": "1"}', b'"ok"'])
    def test_other_json(self, shaky, proxy, body):
        proxy.faults = [Refuse(200, body=body, kind="application/json")]
        with pytest.raises(plaudit.UnexpectedAnswer, match="Is it a Plaudit server"):
            shaky.read_health()

    def test_a_problem_of_later_servers(self, shaky, proxy):
        """Unknown fields are left out, and unknown codes fall back to their status."""
        body = b'{"status": 409, "code": "unheard_of", "detail": "no", "colour": "red"}'
        proxy.faults = [Refuse(409, body=body, kind="application/problem+json")]
        with pytest.raises(plaudit.Conflict) as caught:
            shaky.read_health()
        assert type(caught.value) is plaudit.Conflict
        assert caught.value.code == "unheard_of"
        body = b'{"status": "ok", "version": "9", "mood": "good"}'
        proxy.faults = [Refuse(200, body=body, kind="application/json")]
        assert shaky.read_health() == plaudit.Health("ok", "9")


class Script:
    """Runs `exchange` on a clock of its own against scripted outcomes; no network, no waiting."""

    def __init__(self, outcomes, patience=30.0):
        self.now, self.slept, self.tries = 0.0, [], 0
        self.rules = Rules("http://x", patience, clock=lambda: self.now)
        self.outcomes = itertools.chain(outcomes, itertools.repeat(outcomes[-1]))

    def run(self, request=Request("GET", "/")):  # noqa: B008
        work = exchange(request, self.rules)
        effect = next(work)
        try:
            while True:
                effect = self.answer(work, effect)
        except StopIteration as done:
            return done.value

    def answer(self, work, effect):
        if isinstance(effect, Sleep):
            self.now += effect.seconds
            self.slept.append(effect.seconds)
            return work.send(None)
        assert isinstance(effect, Send)
        self.tries += 1
        outcome = next(self.outcomes)
        return work.throw(outcome) if isinstance(outcome, Exception) else work.send(outcome)


DOWN = Unreachable("refused", sent=False, timed_out=False)


class TestHowLong:
    """The times themselves, on a clock of the test's own."""

    def test_delays_grow_and_are_drawn_from_zero_on(self, monkeypatch):
        monkeypatch.setattr(random, "random", lambda: 1.0)
        backoff = Backoff()
        assert [backoff.delay(n) for n in (1, 2, 3, 20)] == [0.1, 0.2, 0.4, 8.0]
        monkeypatch.setattr(random, "random", lambda: 0.0)
        assert backoff.delay(9) == 0.0
        assert backoff.delay(9, at_least=2.0) == 2.0

    def test_patience_bounds_everything(self):
        for _ in range(20):
            script = Script([DOWN], patience=5.0)
            with pytest.raises(plaudit.ConnectionFailed):
                script.run()
            assert 0 < script.now <= 5.0

    def test_retry_after_is_kept(self):
        busy = Reply(503, httpx.Headers({"Retry-After": "3"}), b"")
        script = Script([busy, Reply(200, {}, b"")])
        assert script.run().tries == 2
        assert 3.0 <= script.slept[0] <= 3.1

    def test_a_wait_beyond_patience_is_not_begun(self):
        busy = Reply(429, httpx.Headers({"Retry-After": "3600"}), b"")
        script = Script([busy])
        assert script.run().status == 429
        assert script.now == 0.0

    def test_a_certificate_is_refused_once(self):
        script = Script([Unreachable("bad", sent=False, timed_out=False, hopeless=True)])
        with pytest.raises(plaudit.ConnectionFailed):
            script.run()
        assert script.tries == 1


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("7", 7.0), ("0.5", 0.5), ("-3", 0.0), ("soon", None), (None, None)],
)
def test_reading_retry_after(value, seconds):
    assert plaudit.problems.read_retry_after(value) == seconds


def test_retry_after_may_be_a_date():
    assert 8 < plaudit.problems.read_retry_after(formatdate(time.time() + 10, usegmt=True)) <= 10
    assert plaudit.problems.read_retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


def test_the_proxy_itself_passes_what_it_is_not_told_to_harm(shaky, proxy):
    proxy.faults = [PASS]
    assert shaky.read_health().ok
