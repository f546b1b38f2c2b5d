"""Every operation of the server, called by both clients."""

from datetime import UTC, datetime

import numpy as np
import pytest

import plaudit
from tests.support.running import LAKE, STATES

GIF = b"GIF89a\1\0\1\0\200\0\0\0\0\0\377\377\377,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"


def play(api, agent, label=None, states=STATES, **options):
    """An episode to the horizon; its id."""
    episode = api.start_episode(agent, **options).id
    for step, state in enumerate(states):
        api.take_step(episode, state, step)
    if label is not None:
        api.give_label(episode, label)
    return episode


class TestAgents:
    def test_create_read_change_delete(self, api):
        made = api.create_agent(
            "rooms", ["kitchen", "hall"], 2, 3, algorithm="uniform", metadata={"a": [1]}, seed=5
        )
        assert made.states == plaudit.Space("labels", values=["kitchen", "hall"])
        assert made.actions.n == 2
        assert made.algorithm == {"kind": "uniform"}
        assert abs((datetime.now(UTC) - made.created_at).total_seconds()) < 60
        assert api.read_agent(made.id).metadata == {"a": [1]}
        changed = api.change_agent(made.id, name="other", paused=True)
        assert (changed.name, changed.paused, changed.metadata) == ("other", True, {"a": [1]})
        with pytest.raises(plaudit.AgentPaused, match=r"agent\.change\(paused=False\)"):
            api.start_episode(made.id)
        api.delete_agent(made.id)
        with pytest.raises(plaudit.NotFound):
            api.read_agent(made.id)

    def test_what_is_drawn_can_be_taken_back(self, api, lake):
        grid = {"kind": "grid", "rows": 2, "cols": 2}
        assert api.change_agent(lake.id, display=grid).display == grid
        assert api.change_agent(lake.id, paused=False).display == grid
        assert api.change_agent(lake.id, display=None).display is None

    def test_the_question_and_its_versions(self, api, lake):
        changed = api.change_agent(lake.id, question="Is it there?", guidelines="Look.")
        assert (changed.question, changed.guidelines, changed.guidelines_version) == (
            "Is it there?",
            "Look.",
            1,
        )
        assert api.change_agent(lake.id, question=None).guidelines_version == 2
        asked = [(one.version, one.question) for one in api.list_guidelines(lake.id)]
        assert asked == [(1, "Is it there?"), (2, None)]
        assert api.change_agent(lake.id, guidelines=None).examples == plaudit.Examples()

    def test_listing_reads_every_page(self, api):
        made = [api.create_agent(**LAKE | {"algorithm": "uniform"}).id for _ in range(5)]
        listed = [agent.id for agent in api.list_agents(page_size=2)]
        assert [agent for agent in listed if agent in made] == made
        for agent in made:
            api.delete_agent(agent)

    def test_a_bad_specification_points_at_its_fields(self, api):
        with pytest.raises(plaudit.InvalidValue) as caught:
            api.create_agent("bad", 0, 2, 0)
        error = caught.value
        assert set(error.pointers) == {"/states/n", "/horizon"}
        assert error.status == 422
        assert error.request_id
        assert "/horizon" in str(error)


class TestEpisodes:
    def test_a_life(self, api, lake):
        started = api.start_episode(lake.id, external_id="run-17", metadata={"arm": 3})
        assert (started.status, started.horizon, started.metadata) == ("running", 5, {"arm": 3})
        answer = api.take_step(started.id, 0, 0, explain=True)
        assert (answer.step, answer.last) == (0, False)
        assert 0 <= answer.explanation.success_probability <= 1
        assert api.take_step(started.id, 0, 0).action == answer.action
        with pytest.raises(plaudit.StepConflict):
            api.take_step(started.id, 1, 0)
        with pytest.raises(plaudit.StepOutOfOrder):
            api.take_step(started.id, 1, 3)
        assert api.finish_episode(started.id, 3).status == "awaiting_label"
        with pytest.raises(plaudit.EpisodeOver):
            api.take_step(started.id, 1, 1)
        view = api.read_episode(started.id)
        assert [(step.state, step.action) for step in view.steps] == [(0, answer.action)]
        assert (view.final, view.terminated, view.label) == (3, True, None)

    def test_abandon(self, api, lake):
        episode = api.start_episode(lake.id, wait=False).id
        assert api.abandon_episode(episode).status == "abandoned"
        with pytest.raises(plaudit.EpisodeOver):
            api.abandon_episode(episode)
        with pytest.raises(plaudit.EpisodeAbandoned):
            api.give_label(episode, 1)

    def test_a_cut_is_not_an_end(self, api, lake):
        episode = api.start_episode(lake.id).id
        api.take_step(episode, 0, 0)
        api.finish_episode(episode, 1, terminated=False)
        assert not api.read_episode(episode).terminated

    def test_lists(self, api, lake):
        made = [play(api, lake.id, external_id=f"run-{i}") for i in range(3)]
        waiting = api.list_episodes(lake.id, status="awaiting_label", page_size=2)
        assert [episode.id for episode in waiting] == made
        (named,) = api.list_episodes(lake.id, external_id="run-1")
        assert named.id == made[1]
        newest = next(iter(api.list_episodes(lake.id, order="newest")))
        assert newest.id == made[2]
        queue = list(api.list_episodes(lake.id, order="informative"))
        assert all(episode.information >= 0 for episode in queue)


class TestLabels:
    def test_give_replace_withdraw(self, api, lake):
        episode = play(api, lake.id)
        given = api.give_label(episode, True, comment="tidy", labeller="Ada")
        assert (given.label, given.status) == (1, "labelled")
        assert api.give_label(episode, 1).label == 1
        with pytest.raises(plaudit.AlreadyLabelled, match="replace_label"):
            api.give_label(episode, 0)
        assert api.replace_label(episode, 0).label == 0
        withdrawn = api.withdraw_label(episode)
        assert (withdrawn.label, withdrawn.status) == (None, "awaiting_label")
        with pytest.raises(plaudit.NotLabelled):
            api.withdraw_label(episode)
        changes = api.read_episode(episode).labels
        assert (changes[0].label, changes[0].labeller) == (1, "Ada")

    def test_a_running_episode_is_not_labelled(self, api, lake):
        with pytest.raises(plaudit.EpisodeRunning, match="Finish the episode"):
            api.give_label(api.start_episode(lake.id).id, 1)

    def test_of_several_labellers_one_withdraws(self, api, lake):
        episode = play(api, lake.id, labels_wanted=2)
        api.give_label(episode, 1, labeller="Ada")
        assert api.give_label(episode, 0, labeller="Bob").label == 0
        assert api.withdraw_label(episode, labeller="Bob").verdicts == 1


class TestManyAtOnce:
    def test_start_finish_label(self, api, lake):
        starts = [{"agent": lake.id, "state": state, "wait": False} for state in (0, 1, 99)]
        first, second, bad = api.start_many(starts)
        assert second.result.number == first.result.number + 1
        assert (first.result.first_step.step, first.result.length) == (0, 1)
        assert (bad.result, bad.problem.code) == (None, "invalid_value")
        ids = [first.result.id, second.result.id]
        ended, unknown = api.finish_many(
            [{"episode": ids[0], "state": 3, "label": 1}, {"episode": "eps_x"}]
        )
        assert (ended.result.status, ended.result.label) == ("labelled", 1)
        assert unknown.problem.status == 404
        same, running = api.label_many([{"episode": id_, "label": 1} for id_ in ids])
        assert same.result.verdicts == 1
        assert running.problem.code == "episode_running"

    def test_one_call_starts_and_steps_and_one_ends_and_labels(self, api, lake):
        started = api.start_episode(lake.id, state=0)
        assert api.take_step(started.id, 0, 0).action == started.first_step.action
        ended = api.finish_episode(started.id, 1, label=0, labeller="Ada")
        assert (ended.status, ended.label) == ("labelled", 0)


class TestRecordings:
    def test_put_read_remove(self, api, lake, tmp_path):
        episode = play(api, lake.id)
        stored = api.put_recording(episode, GIF)
        assert (stored.media_type, stored.size) == ("image/gif", len(GIF))
        assert api.read_recording(episode) == GIF
        api.remove_recording(episode)
        with pytest.raises(plaudit.NotFound):
            api.remove_recording(episode)
        path = tmp_path / "clip.gif"
        path.write_bytes(GIF)
        assert api.put_recording(episode, path).size == len(GIF)


class TestFleets:
    def test_many_steps_in_one_call(self, api, lake):
        first, second = (api.start_episode(lake.id, wait=False).id for _ in range(2))
        steps = [plaudit.Step(first, np.int64(0), 0), plaudit.Step(second, 9, 0)]
        good, bad = api.step_many(steps)
        assert (good.episode, good.step, good.problem) == (first, 0, None)
        assert good.action in (0, 1)
        assert (bad.action, bad.problem.code) == (None, "invalid_value")

    def test_import_and_export(self, api, lake):
        logged = [
            plaudit.Trajectory([0, 1, 2], [1, 1], label=True, external_id="a"),
            {"states": np.array([0, 1]), "actions": np.array([1, 0]), "label": np.bool_(False)},
        ]
        answer = lake.import_trajectories(logged)
        assert answer.imported == 2
        lines = list(lake.export())
        assert [line.label for line in lines] == [1, 0]
        assert (lines[0].states, lines[0].actions) == ([0, 1, 2], [1, 1])
        other = api.create_agent(**LAKE)
        assert api.import_trajectories(other.id, lines).imported == 2
        again = list(api.export_episodes(other.id))
        assert [(line.states, line.verdicts) for line in again] == [
            (line.states, line.verdicts) for line in lines
        ]
        api.delete_agent(other.id)

    def test_nothing_to_import(self, lake):
        with pytest.raises(plaudit.InvalidArgument, match="at least one"):
            lake.import_trajectories([])

    def test_all_or_none(self, lake):
        with pytest.raises(plaudit.InvalidValue) as caught:
            lake.import_trajectories([plaudit.Trajectory([0], [1]), plaudit.Trajectory([7], [1])])
        assert caught.value.pointers == ("/trajectories/1/states/0",)
        assert list(lake.export()) == []


class TestInsights:
    def test_model_policy_curve(self, api, lake):
        for label in (1, 0, 1):
            play(api, lake.id, label)
        view = lake.wait_until_learned(60)
        assert (view.learning, view.episodes.labelled, view.episodes.total) == ("idle", 3, 3)
        assert view.plan.gap >= 0
        model = api.read_model(lake.id)
        assert sum(map(sum, model.visits)) == 15
        assert model.transitions[0].followers[0].probability > 0
        curve = api.read_curve(lake.id)
        assert curve.policies[-1].version == view.policy_version
        assert curve.observed[-1].labels == 3
        policy = api.read_policy(lake.id)
        assert policy.policy["kind"] == "grid"
        assert (policy.states.n, policy.seed) == (4, "7")
        assert api.read_policy(lake.id, known=policy) is policy
        assert api.read_policy(lake.id, mode="exploit").episode_number == policy.episode_number
        episode = api.start_episode(lake.id)
        assert api.read_policy(lake.id, known=policy) is not policy
        pinned = api.read_policy(lake.id, episode=episode.id)
        assert pinned.episode_number == episode.number


class TestOperations:
    def test_health_readiness_metrics(self, api):
        assert api.read_health().ok
        assert api.read_readiness().status in ("ok", "starting")
        assert "plaudit_steps_total" in api.read_metrics()


def test_keys(connect, start_server):
    """Wrong, missing and weak keys each say what to do."""
    server = start_server(PLAUDIT_ADMIN_KEY="0123456789abcdef", learning=False)
    admin = connect(server.url, key="0123456789abcdef")
    made = admin.create_key("arm-3", "viewer")
    assert made.role == "viewer"
    assert made.secret
    assert made.secret not in repr(made)
    viewer = connect(server.url, key=made.secret)
    assert list(viewer.list_agents()) == []
    with pytest.raises(plaudit.Forbidden, match="role"):
        viewer.create_agent(**LAKE)
    with pytest.raises(plaudit.Unauthenticated, match="PLAUDIT_KEY"):
        list(connect(server.url).list_agents())
    admin.revoke_key(made.id)
    with pytest.raises(plaudit.Unauthenticated, match="PLAUDIT_KEY"):
        list(viewer.list_agents())
    (key,) = admin.list_keys()
    assert (key.id, key.revoked_at is None) == (made.id, False)
