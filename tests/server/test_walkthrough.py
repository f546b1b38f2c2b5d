"""The whole way once: create, play, label, learn, look."""

from tests.support.running import create_agent, play, start_episode, wait_learned


def test_an_agent_learns_from_one_label(client):
    agent = create_agent(client)
    episode = start_episode(client, agent)
    actions = play(client, episode, [0, 1, 2, 3, 3], label=1)
    view = wait_learned(client, agent)
    assert view["episodes"]["labelled"] == 1
    assert view["success_rate"] == 1.0
    assert view["policy_version"] > 0
    assert view["plan"]["gap"] <= 0.02
    shown = client.get(f"/v1/episodes/{episode}").json()
    assert [step["action"] for step in shown["steps"]] == actions
    assert [step["state"] for step in shown["steps"]] == [0, 1, 2, 3, 3]
    assert shown["label"] == 1
    assert 0.5 < shown["predicted"] < 1.0
