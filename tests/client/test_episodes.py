"""Episodes and agents as handles: what a robot's own loop uses."""

import numpy as np
import pytest

import plaudit
from tests.client.faulty import LOSE_ANSWER, LOSE_REQUEST
from tests.client.test_operations import GIF
from tests.support.running import STATES


def test_the_loop_of_a_robot(lake):
    states = iter(np.array(STATES))
    done = []
    with lake.episode() as episode:
        while not episode.over:
            done.append(episode.act(next(states)))
        assert episode.status == "awaiting_label"
        episode.label(np.bool_(True))
    assert len(done) == 5
    assert set(done) <= {0, 1}
    view = episode.refresh()
    assert [step.action for step in view.steps] == done
    assert (view.status, view.label, episode.given_label) == ("labelled", 1, 1)


def test_leaving_early_abandons(lake):
    with lake.episode() as episode:
        episode.act(0)
    assert episode.refresh().status == "abandoned"


def test_an_error_abandons_and_is_not_hidden(lake):
    with pytest.raises(ZeroDivisionError), lake.episode() as episode:  # noqa: PT012
        episode.act(0)
        raise ZeroDivisionError
    assert episode.refresh().status == "abandoned"


def test_over_and_unlabelled_stays_for_the_desk(lake):
    with lake.episode() as episode:
        episode.act(0)
        episode.finish(3)
    assert episode.refresh().status == "awaiting_label"


def test_over_takes_no_states(lake):
    with lake.episode() as episode:
        episode.finish(3)
        with pytest.raises(plaudit.InvalidArgument, match="start another"):
            episode.act(0)


def test_without_a_with_block(lake):
    episode = lake.episode()
    with pytest.raises(plaudit.InvalidArgument, match="has not started"):
        episode.id  # noqa: B018
    episode.act(0)
    assert episode.id == episode.summary.id
    episode.abandon()
    assert episode.over


def test_continued_in_another_process(api, lake):
    """A robot that restarted continues behind its last step."""
    first = lake.episode()
    first.act(0)
    again = api.episode(first.id)
    with again:
        assert (again.length, again.over) == (1, False)
        for state in STATES[1:]:
            again.act(state)
        assert again.over
    assert again.refresh().length == 5


def test_labelled_later_by_id_from_anywhere(api, lake):
    episode = lake.episode()
    episode.finish(3)
    anywhere = api.episode(episode.id)
    assert anywhere.label(0).label == 0
    assert anywhere.replace_label(1).label == 1
    assert anywhere.withdraw_label().label is None
    assert anywhere.wait_for_label(seconds=0.0) is None
    api.give_label(episode.id, 1)
    assert anywhere.wait_for_label(seconds=30) == 1


def test_a_picture(lake):
    episode = lake.episode()
    episode.finish(3)
    assert episode.record(GIF).media_type == "image/gif"


def test_why(lake):
    episode = lake.episode()
    episode.act(0, explain=True)
    assert episode.answer.explanation.visits == 0
    episode.abandon()


def test_an_agent_that_is_deleted_meanwhile(api, lake):
    """The error says so, and leaving the block does not hide it."""
    with pytest.raises(plaudit.NotFound, match="deletes its episodes"), lake.episode() as episode:  # noqa: PT012
        episode.act(0)
        api.delete_agent(lake.id)
        episode.act(1)


def test_a_start_that_failed_can_be_repeated(connect, proxy, lake):
    """And is still one episode, though its answer was lost."""
    impatient = connect(proxy.url, patience=0.0)
    episode = impatient.agent(lake.id).episode()
    proxy.faults = [LOSE_ANSWER]
    with pytest.raises(plaudit.ConnectionFailed):
        episode.start()
    episode.start()
    episode.abandon()
    assert lake.refresh().episodes.total == 1


def test_without_a_server_the_episode_is_kept(connect, proxy, lake):
    """An error of the network abandons nothing: the episode continues when the server is back."""
    impatient = connect(proxy.url, patience=0.0)
    agent = impatient.agent(lake.id)
    with pytest.raises(plaudit.ConnectionFailed), agent.episode() as episode:  # noqa: PT012
        episode.act(0)
        proxy.faults = [LOSE_REQUEST]
        episode.act(1)
    assert impatient.episode(episode.id).refresh().status == "running"


def test_nan_is_refused_before_it_is_sent(api, proxy, connect):
    client = connect(proxy.url)
    with pytest.raises(plaudit.InvalidArgument, match=r"state\.1 is nan.*nothing was sent"):
        client.take_step("eps_x", np.array([0.5, np.nan]), 0)
    assert proxy.requests == []


def test_numbers_of_numpy_in_a_box(api):
    box = {"kind": "box", "low": np.zeros(2), "high": np.ones(2), "bins": np.array([4, 4])}
    agent = api.agent("numpy box", states=box, actions=np.int64(2), horizon=np.int32(3))
    with agent.episode() as episode:
        episode.act(np.array([0.1, 0.9], dtype=np.float32))
        episode.act([np.float64(0.5), np.int64(1)])
    states = [step.state for step in episode.refresh().steps]
    assert states[1] == [0.5, 1.0]
    agent.delete()


class TestFinding:
    def test_by_name_or_made(self, api):
        spec = {"states": 4, "actions": ["left", "right"], "horizon": 5, "algorithm": "uniform"}
        made = api.agent("found", **spec)
        again = api.agent("found", **spec)
        assert again.id == made.id == api.agent("found").id == api.agent(made.id).id
        with pytest.raises(plaudit.InvalidArgument, match=r"has states .*4.*not .*5"):
            api.agent("found", **spec | {"states": 5})
        with pytest.raises(plaudit.InvalidArgument, match="horizon 5, not 6"):
            api.agent("found", horizon=6)
        made.delete()
        anew = api.agent("found", **spec)  # although the key of its creation is remembered
        assert anew.id != made.id
        anew.delete()

    def test_nobody_has_the_name(self, api):
        with pytest.raises(plaudit.UnknownAgent, match="Give states, actions and horizon"):
            api.agent("nobody")

    def test_two_have_the_name(self, api):
        ids = [api.create_agent("twins", 2, 2, 2, algorithm="uniform").id for _ in range(2)]
        with pytest.raises(plaudit.InvalidArgument, match=f"{ids[0]}, {ids[1]}"):
            api.agent("twins")
        for agent in ids:
            api.delete_agent(agent)

    def test_programs_that_start_together_get_one(self, shared_server):
        from concurrent.futures import ThreadPoolExecutor

        def find(_):
            with plaudit.Client(shared_server.url) as client:
                return client.agent("race", states=2, actions=2, horizon=2, algorithm="uniform").id

        with ThreadPoolExecutor(4) as pool:
            found = set(pool.map(find, range(8)))
        assert len(found) == 1
        with plaudit.Client(shared_server.url) as client:
            client.delete_agent(found.pop())


class TestAgents:
    def test_a_handle(self, lake):
        assert lake.change(metadata={"a": 1}).metadata == {"a": 1}
        assert lake.view.metadata == {"a": 1}
        assert lake.model().agent == lake.id
        lake.wait_until_learned(60)
        policy = lake.policy("exploit")
        assert lake.policy("exploit", known=policy) is policy
        assert lake.curve().agent == lake.id
        with lake.episode(mode="exploit", external_id="x") as episode:
            assert episode.summary.mode == "exploit"
        (listed,) = lake.episodes(external_id="x")
        assert listed.id == episode.id
