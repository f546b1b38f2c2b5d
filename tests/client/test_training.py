"""Training and evaluating on Gymnasium environments, with a real server."""

import io
import threading
from contextlib import suppress
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import plaudit
from plaudit.gym import OutOfBounds, RecordFrames
from plaudit.gym.evaluate import wilson
from plaudit.gym.progress import Progress
from tests.client.faulty import LOSE_ANSWER, LOSE_REQUEST, FaultyProxy
from tests.support.running import RunningServer

PLAIN = {"algorithm": "uniform"}  # where it does not matter what is learned


class Corridor(gym.Env):
    """Cells 0 to 4 in a row, from the middle; the right end is good. It may be cut off."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(self, limit=6, start=0, broken_after=None, render_mode=None):
        self.render_mode = render_mode
        self.observation_space = spaces.Discrete(5, start=start)
        self.action_space = spaces.Discrete(2)
        self.start, self.limit, self.broken_after = start, limit, broken_after
        self.seeds = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seeds.append(seed)
        self.cell, self.steps = 2, 0
        return self.cell + self.start, {"began": True}

    def step(self, action):
        self.steps += 1
        if self.broken_after is not None and self.steps > self.broken_after:
            raise RuntimeError("motor")
        self.cell += 1 if action == 1 else -1
        over = self.cell in (0, 4)
        return self.cell + self.start, float(self.cell == 4), over, self.steps >= self.limit, {}

    def render(self):
        picture = np.zeros((8, 40, 3), dtype=np.uint8)
        picture[:, 8 * self.cell : 8 * self.cell + 8] = (250, 120, 0)
        return picture


def good(episode):
    return episode.total_reward > 0


@pytest.fixture
def client(shared_server):
    with plaudit.Client(shared_server.url) as client:
        yield client


@pytest.fixture
def corridor(client, request):
    """An agent for the corridor, which learns nothing."""
    agent = client.agent(request.node.name[:80], Corridor(), horizon=6, **PLAIN)
    yield agent
    agent.delete()


class TestTraining:
    def test_it_learns(self, client):
        env = Corridor(start=7)
        agent = client.agent("corridor", env, horizon=6, seed=1)
        done = agent.train(env, 25, good, progress=False)
        assert (done.episodes, done.labelled, done.before) == (25, 25, 0)
        assert agent.refresh().episodes.labelled == 25
        found = agent.evaluate(env, episodes=50)
        assert found.success == 1.0
        assert found.mean_reward == 1.0
        assert "success 1.00 (95 %: 0.93 to 1.00)" in str(found)
        agent.delete()

    def test_where_episodes_end(self, corridor):
        """Ended by the environment, cut before the horizon, or at the horizon."""
        corridor.train(Corridor(limit=3), 12, good, progress=False)
        corridor.train(Corridor(limit=99), 12, good, progress=False, run="long")
        for line in corridor.export():
            ended = line.states[-1] in (0, 4)
            assert line.terminated is ended
            assert line.label == (line.states[-1] == 4)
            assert len(line.states) == len(line.actions) + 1
            if not ended:
                assert len(line.actions) == (3 if line.external_id.startswith("train") else 6)
        lengths = {(line.external_id[:4], len(line.actions)) for line in corridor.export()}
        assert ("trai", 3) in lengths
        assert ("long", 6) in lengths

    def test_it_continues_where_it_stopped(self, corridor):
        env = Corridor()
        env.broken_after = None
        assert corridor.train(env, 4, good, seed=100, progress=False).episodes == 4
        again = corridor.train(env, 6, good, seed=100, progress=False)
        assert (again.episodes, again.before) == (2, 4)
        assert env.seeds == [100, 101, 102, 103, 104, 105]
        assert corridor.train(env, 6, good, progress=False).episodes == 0
        other = corridor.train(env, 2, good, run="other", progress=False)
        assert (other.episodes, other.before) == (2, 0)

    def test_an_environment_that_breaks_loses_nothing(self, corridor):
        env = Corridor(broken_after=1)
        with pytest.raises(RuntimeError, match="motor"):
            corridor.train(env, 3, good, progress=False)
        assert corridor.refresh().episodes.abandoned == 1
        env.broken_after = None
        assert corridor.train(env, 3, good, progress=False).episodes == 3

    def test_one_that_breaks_in_the_last_step_asks_nobody_to_judge(self, corridor):
        """The horizon is reached on the server, but nobody knows where the step led."""
        env = Corridor(limit=99, broken_after=5)
        for name in map(str, range(20)):
            with suppress(RuntimeError):
                corridor.train(env, 1, good, run=name, progress=False)
        counts = corridor.refresh().episodes
        assert counts.abandoned > 0
        assert (counts.awaiting_label, counts.running) == (0, 0)

    def test_a_label_function_that_raises_loses_nothing(self, corridor):
        with pytest.raises(
            plaudit.LabelFailed, match=r"KeyError: 'score'.*client\.give_label"
        ) as caught:
            corridor.train(Corridor(), 3, lambda e: e.infos[-1]["score"] > 1, progress=False)
        assert isinstance(caught.value.__cause__, KeyError)
        (waiting,) = corridor.episodes(status="awaiting_label")
        assert waiting.id == caught.value.episode
        assert corridor.train(Corridor(), 3, good, progress=False).before == 1

    @pytest.mark.parametrize("value", [0.7, 2, "good", [1]])
    def test_a_label_that_is_none_is_refused(self, corridor, value):
        with pytest.raises(plaudit.LabelFailed, match="instead of True, False or None"):
            corridor.train(Corridor(), 1, lambda _: value, progress=False)

    @pytest.mark.parametrize("value", [np.bool_(True), 1, np.int64(1), 1.0])
    def test_what_a_label_may_be(self, corridor, value):
        corridor.train(Corridor(), 1, lambda _: value, progress=False)
        assert corridor.refresh().success_rate == 1.0

    def test_labels_that_come_later(self, corridor):
        assert corridor.train(Corridor(), 3, progress=False).labelled == 0
        mixed = corridor.train(
            Corridor(), 5, lambda e: True if e.terminated else None, run="m", progress=False
        )
        waiting = corridor.refresh().episodes.awaiting_label
        assert waiting == 3 + mixed.episodes - mixed.labelled

    def test_labels_of_people(self, corridor, client, capsys):
        """It says where to label, and waits for it."""
        seen = []

        def person():
            for event in corridor.events(after=0):
                if event.kind == "episode.finished":
                    seen.append(event.episode)
                    client.give_label(event.episode, len(seen) % 2)
                if len(seen) == 3:
                    return

        thread = threading.Thread(target=person)
        thread.start()
        done = corridor.train(Corridor(), 3, "human")
        thread.join()
        assert (done.labelled, done.good) == (3, 2)
        assert f"label at {client.url}/label?agent={corridor.id}" in capsys.readouterr().err

    def test_what_cannot_label_is_refused_before_anything_is_played(self, corridor):
        with pytest.raises(plaudit.InvalidArgument, match='"human"'):
            corridor.train(Corridor(), 3, "robot", progress=False)
        with pytest.raises(plaudit.InvalidArgument, match="without a slash"):
            corridor.train(Corridor(), 3, run="a/b", progress=False)
        assert corridor.refresh().episodes.total == 0

    def test_a_wrong_environment_is_refused(self, corridor):
        with pytest.raises(plaudit.InvalidArgument, match="does not fit agent"):
            corridor.train(gym.make("Taxi-v4"), 3, progress=False)

    def test_an_observation_outside_its_space_abandons_the_episode(self, corridor):
        env = Corridor()
        step = env.step
        env.step = lambda action: (99, *step(action)[1:])
        with pytest.raises(plaudit.InvalidArgument, match="not in its space"):
            corridor.train(env, 3, good, progress=False)
        assert corridor.refresh().episodes.running == 0

    def test_a_shaky_network(self, shared_server):
        """Lost requests and answers change nothing: every episode once, with one label."""
        with FaultyProxy(shared_server.url) as proxy, plaudit.Client(proxy.url) as client:
            agent = client.agent("shaky", Corridor(), horizon=6, **PLAIN)
            proxy.faults = [LOSE_ANSWER, "pass", LOSE_REQUEST] * 12
            agent.train(Corridor(), 5, good, progress=False)
            proxy.faults = []
            assert agent.refresh().episodes.labelled == agent.view.episodes.total == 5
            agent.delete()

    def test_an_agent_that_is_deleted_meanwhile(self, client):
        agent = client.agent("doomed", Corridor(), horizon=6, **PLAIN)

        def last_words(episode):
            client.delete_agent(agent.id)
            return True

        with pytest.raises(plaudit.NotFound, match="deletes its episodes"):
            agent.train(Corridor(), 3, last_words, progress=False)


class TestNumbers:
    def test_a_box_by_bins(self, client):
        env = gym.make("MountainCar-v0", max_episode_steps=5)
        agent = client.agent("car", env, bins=[6, 4], **PLAIN)
        assert agent.view.states.bins == [6, 4]
        agent.train(env, 2, lambda e: e.terminated, progress=False)
        line = next(iter(agent.export()))
        assert len(line.states[0]) == 2
        agent.delete()

    def test_a_box_without_bounds_as_numbers(self, client):
        env = gym.make("CartPole-v1", max_episode_steps=5)
        agent = client.agent("cart", env)
        assert agent.view.algorithm["kind"] == "smooth"
        assert agent.view.states.high[1] is None
        agent.train(env, 3, lambda e: not e.terminated, progress=False)
        assert client.agent("cart", env).id == agent.id  # the same spaces fit again
        assert agent.refresh().episodes.labelled == 3
        agent.delete()

    def test_continuous_actions_in_levels_by_a_network(self, client):
        env = gym.make("Pendulum-v1", max_episode_steps=5)
        agent = client.agent("pendulum", env, algorithm="reinforce", action_bins=3)
        assert (agent.view.states.bins, agent.view.actions.n) == (None, 3)
        taken = []
        agent.train(env, 2, lambda e: taken.extend(e.actions) or True, progress=False)
        assert {a.item() for a in taken} <= {-2.0, 0.0, 2.0}
        assert client.agent("pendulum").evaluate(env, 3).success is None  # nobody judged
        agent.delete()

    def test_leaving_the_bounds(self, client):
        env = gym.make("MountainCar-v0", max_episode_steps=5)
        agent = client.agent("narrow", env, bins=3, low=[5.0, -0.1], high=[6.0, 0.1], **PLAIN)
        with pytest.warns(OutOfBounds, match="counts to the edge"):
            agent.train(env, 1, lambda e: False, progress=False)
        assert agent.refresh().episodes.labelled == 1
        agent.delete()


class TestVectors:
    @pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
    @pytest.mark.parametrize("limit", [3, 99])
    def test_all_act_in_one_call(self, shared_server, mode, limit):
        """However environments are reset, and whichever limit comes first."""
        envs = SyncVectorEnv([lambda: Corridor(limit)] * 3, autoreset_mode=mode)
        with FaultyProxy(shared_server.url) as proxy, plaudit.Client(proxy.url) as client:
            agent = client.agent(f"vector {mode.value} {limit}", envs, horizon=6, **PLAIN)
            proxy.requests.clear()
            done = agent.train(envs, 10, good, wait=False, progress=False)
            assert (done.episodes, done.labelled) == (10, 10)
            steps = [path for _, path, _, _ in proxy.requests if path.endswith("/steps")]
            assert set(steps) == {"/v1/steps"}
            lines = list(agent.export())
            assert len(steps) < sum(len(line.actions) for line in lines)
            for line in lines:
                check_corridor(line, limit)
            assert {line.external_id for line in lines} == {f"train/{i}" for i in range(10)}
            assert agent.train(envs, 10, good, progress=False).episodes == 0
            agent.delete()
        envs.close()

    def test_what_breaks_is_abandoned_and_played_again(self, client):
        made = [Corridor(), Corridor(broken_after=2), Corridor()]
        envs = SyncVectorEnv([lambda env=env: env for env in made])
        agent = client.agent("broken vector", envs, horizon=6, **PLAIN)
        with pytest.raises(RuntimeError, match="motor"):
            agent.train(envs, 30, good, wait=False, progress=False)
        counts = agent.refresh().episodes
        assert (counts.running, counts.awaiting_label) == (0, 0)
        assert counts.abandoned > 0
        made[1].broken_after = None
        done = agent.train(envs, 30, good, wait=False, progress=False)
        assert done.before == counts.labelled
        assert agent.refresh().episodes.labelled == 30
        agent.delete()

    def test_spaces_with_parts(self, client):
        class Parts(gym.Env):
            observation_space = spaces.Dict({"a": spaces.Discrete(2), "b": spaces.MultiBinary(2)})
            action_space = spaces.Tuple([spaces.Discrete(2), spaces.MultiDiscrete([2, 3])])

            def reset(self, *, seed=None, options=None):
                super().reset(seed=seed)
                return {"a": np.int64(1), "b": np.array([0, 1], dtype=np.int8)}, {}

            def step(self, action):
                assert action in self.action_space
                return self.reset()[0], 0.0, True, False, {}

        envs = SyncVectorEnv([Parts, Parts])
        agent = client.agent("parts", envs, horizon=2, **PLAIN)
        assert (agent.view.states.n, agent.view.actions.n) == (8, 12)
        agent.train(envs, 4, lambda e: True, progress=False)
        assert {tuple(line.states) for line in agent.export()} == {(5, 5)}
        agent.delete()


def check_corridor(line, limit):
    """That a logged episode is what the corridor allows."""
    cell = 2
    assert line.states[0] == cell
    for action, state in zip(line.actions, line.states[1:], strict=True):
        cell += 1 if action == 1 else -1
        assert state == cell
    assert line.terminated is (cell in (0, 4))
    assert line.label == (cell == 4)
    assert line.terminated or len(line.actions) == min(limit, 6)


class TestEvaluation:
    def test_it_teaches_nothing(self, corridor):
        corridor.train(Corridor(), 2, good, progress=False)
        before = corridor.wait_until_learned(60)
        found = corridor.evaluate(Corridor(), 20, seed=3)
        assert 0 < found.success < 1
        assert found.episodes == 20
        after = corridor.refresh()
        assert after.episodes == replace(before.episodes, completed=20)
        assert after.policy_version == before.policy_version == found.policy_version
        assert after.success_rate == before.success_rate
        (version,) = after.evaluation.versions
        assert (version.policy_version, version.episodes) == (found.policy_version, 20)
        assert version.success == found.success
        assert found.at_least == version.at_least < found.success

    def test_of_a_policy_that_knows_every_label(self, client):
        """It waits for learning that is under way."""
        env = Corridor()
        agent = client.agent("late", env, horizon=6)
        agent.train(env, 5, good, progress=False)
        found = agent.evaluate(env, 5)
        assert found.policy_version == agent.refresh().policy_version
        assert agent.view.learning == "idle"
        agent.delete()

    def test_intervals(self):
        share, low, high = wilson(8, 10)
        assert (share, round(low, 4), round(high, 4)) == (0.8, 0.4902, 0.9433)
        assert wilson(0, 0) == (None, None, None)
        assert wilson(0, 5)[1] == 0.0
        assert wilson(5, 5)[2] == 1.0


class TestPictures:
    def test_they_reach_the_people_who_judge(self, client):
        env = RecordFrames(Corridor(render_mode="rgb_array"))
        agent = client.agent("pictures", env, horizon=6, **PLAIN)
        agent.train(env, 1, good, progress=False)
        (episode,) = agent.episodes()
        picture = client.read_recording(episode.id)
        frames = decoded(picture)
        assert len(frames) == episode.length + 1
        assert [frame[4, 8 * 2 + 4, 0] for frame in frames][:2] == [250, 0]  # it left the middle
        assert np.array_equal(frames[-1], env.render())
        agent.delete()

    def test_long_episodes_are_thinned(self):
        env = RecordFrames(Corridor(render_mode="rgb_array"), most_frames=5)
        env.reset(seed=0)
        for i in range(20):
            env.step(i % 2)
        assert len(decoded(env.picture())) == 5
        env = RecordFrames(env.env, most_bytes=1)
        env.reset()
        env.step(1)
        (frame,) = decoded(env.picture())
        assert np.array_equal(frame, env.render())

    def test_an_environment_that_renders_nothing(self):
        with pytest.raises(plaudit.InvalidArgument, match='render_mode="rgb_array"'):
            RecordFrames(Corridor())

    def test_a_picture_that_is_refused_stops_nothing(self, tmp_path):
        with (
            RunningServer(tmp_path, learning=False, PLAUDIT_RECORDING_BYTES=1000) as server,
            plaudit.Client(server.url) as client,
        ):
            env = RecordFrames(Corridor(render_mode="rgb_array"))
            env._keep = lambda: env._frames.append(np.random.default_rng(0).bytes(3000))
            env._encoded = lambda frames: b"\x89PNG\r\n\x1a\n" + frames[0]
            agent = client.agent("small", env, horizon=6, **PLAIN)
            with pytest.warns(UserWarning, match="recording of .* was refused"):
                agent.train(env, 1, good, wait=False, progress=False)
            assert agent.refresh().episodes.labelled == 1


def decoded(picture):
    """The frames of an animated PNG, read by another library."""
    from PIL import Image, ImageSequence

    with Image.open(io.BytesIO(picture)) as image:
        return [np.array(frame.convert("RGB")) for frame in ImageSequence.Iterator(image)]


class Terminal(io.StringIO):
    def isatty(self):
        return True


class TestProgress:
    def test_a_terminal_gets_one_line(self):
        stream = Terminal()
        bar = Progress("lake", 4, stream=stream)
        for label in (True, False, None, True):
            bar.episode(label)
        bar.close()
        shown = stream.getvalue()
        assert shown.count("\n") == 1
        assert "4/4" in shown
        assert "success 0.67 (last 3: 0.67)" in shown

    def test_a_file_gets_a_line_for_every_tenth(self):
        stream = io.StringIO()
        bar = Progress("lake", 100, done=50, stream=stream)
        for _ in range(50):
            bar.episode(None)
        bar.close()
        assert len(stream.getvalue().splitlines()) == 5

    def test_it_can_be_quiet(self):
        stream = Terminal()
        bar = Progress("lake", 1, stream=stream, on=False)
        bar.note("label at …")
        bar.episode(True)
        bar.close()
        assert stream.getvalue() == ""
