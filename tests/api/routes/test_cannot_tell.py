"""Labellers who cannot tell: the answer teaches nothing, counts, and ends the wait for a label."""

import pytest

from tests.api.routes.test_fleets import export, take_in
from tests.api.routes.test_labels import label, model, queue, read
from tests.support.running import (
    STATES,
    assert_problem,
    create_agent,
    play,
    start_episode,
    wait_learned,
)

WHY = "the camera was covered"


@pytest.fixture
def agent(client):
    """An agent of its own, so that its queue and its model are known."""
    agent = create_agent(client)
    wait_learned(client, agent)
    return agent


def over(client, agent, **body):
    episode = start_episode(client, agent, wait=False, **body)
    play(client, episode, STATES)
    return episode


def cannot_tell(client, episode, method="POST", labeller=None, reason=WHY):
    names = {} if labeller is None else {"labeller": labeller}
    return label(client, episode, method, label="cannot_tell", reason=reason, **names)


def learned(client, agent):
    """What the agent knows, by whatever way it came to it."""
    return {**model(client, agent), "policy_version": None}


def waiting(client, agent):
    return [one["id"] for one in queue(client, agent=agent)["items"]]


def counts(client, agent):
    return client.get(f"/v1/agents/{agent}").json()["episodes"]


def test_the_answer_teaches_nothing_and_the_episode_leaves_the_queue(client, agent):
    episode = over(client, agent)
    wait_learned(client, agent)
    before = client.get(f"/v1/agents/{agent}").json()["policy_version"]
    known = model(client, agent)
    answer = cannot_tell(client, episode).json()
    assert (answer["status"], answer["label"], answer["cannot_tell"]) == ("completed", None, 1)
    assert (answer["labels_given"], answer["verdicts"]) == (0, 0)
    assert episode not in waiting(client, agent)
    assert counts(client, agent)["completed"] == 1
    assert counts(client, agent)["awaiting_label"] == 0
    view = read(client, episode)
    assert [(one["labeller"], one["reason"]) for one in view["undecided"]] == [(None, WHY)]
    assert view["verdicts"] == []
    assert [(one["label"], one["cannot_tell"]) for one in view["labels"]] == [(None, True)]
    wait_learned(client, agent)
    assert client.get(f"/v1/agents/{agent}").json()["policy_version"] == before
    assert model(client, agent) == known


def test_as_many_as_labels_are_wanted_end_the_wait_and_the_labels_that_are_there_decide(
    client, agent
):
    episode = over(client, agent, labels_wanted=2)
    label(client, episode, label=1, labeller="Ada")
    assert cannot_tell(client, episode, labeller="Bob").json()["status"] == "awaiting_label"
    last = cannot_tell(client, episode, labeller="Cy").json()
    assert (last["status"], last["label"]) == ("labelled", 1)
    assert (last["labels_given"], last["cannot_tell"]) == (1, 2)


def test_a_withdrawn_answer_makes_the_episode_wait_again(client, agent):
    episode = over(client, agent)
    cannot_tell(client, episode, labeller="Ada")
    gone = client.delete(f"/v1/episodes/{episode}/label", params={"labeller": "Ada"})
    assert (gone.json()["status"], gone.json()["cannot_tell"]) == ("awaiting_label", 0)
    assert read(client, episode)["undecided"] == []
    assert episode in waiting(client, agent)


def test_a_later_label_replaces_the_answer_of_the_same_labeller(client, agent):
    episode = over(client, agent)
    cannot_tell(client, episode, labeller="Ada")
    later = label(client, episode, label=1, labeller="Ada").json()
    assert (later["status"], later["label"], later["cannot_tell"]) == ("labelled", 1, 0)
    assert counts(client, agent)["labelled"] == 1


def test_put_replaces_a_label_as_if_it_had_never_been_given(client, agent):
    episode = over(client, agent)
    label(client, episode, label=1)
    wait_learned(client, agent)
    client.delete(f"/v1/episodes/{episode}/label")
    wait_learned(client, agent)
    known = learned(client, agent)
    label(client, episode, label=1)
    wait_learned(client, agent)
    assert learned(client, agent) != known
    refused = assert_problem(cannot_tell(client, episode), 409, "already_labelled")
    assert "PUT" in refused["detail"]
    replaced = cannot_tell(client, episode, "PUT").json()
    assert (replaced["status"], replaced["label"]) == ("completed", None)
    wait_learned(client, agent)
    assert learned(client, agent) == known


def test_the_same_answer_again_is_harmless(client, agent):
    episode = over(client, agent, labels_wanted=2)
    for _ in range(2):
        assert cannot_tell(client, episode, labeller="Ada").json()["cannot_tell"] == 1
    assert len(read(client, episode)["labels"]) == 1


def test_many_labels_in_one_call_take_it_too(client, agent):
    episode = over(client, agent)
    entry = {"episode": episode, "label": "cannot_tell", "reason": WHY}
    answer = client.post("/v1/labels", json={"labels": [entry]}).json()
    assert answer["results"][0]["result"]["status"] == "completed"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"label": "cannot_tell"}, "a reason with the label cannot_tell"),
        ({"label": "cannot_tell", "reason": ""}, "at least 1 character"),
        ({"label": 1, "reason": WHY}, "a reason only with the label cannot_tell"),
    ],
)
def test_a_reason_goes_with_the_answer(client, agent, body, words):
    episode = over(client, agent)
    problem = assert_problem(label(client, episode, **body), 422, "invalid_value")
    assert words in problem["detail"]
    assert read(client, episode)["labels"] == []


def test_an_export_keeps_the_answer_and_an_import_takes_it_back(client, agent):
    over(client, agent)
    episode = over(client, agent, labels_wanted=2)
    cannot_tell(client, episode, labeller="Ada")
    lines = export(client, agent)
    other = create_agent(client)
    last = take_in(client, other, *lines).json()["last"]
    view = read(client, last)
    assert [(one["labeller"], one["reason"]) for one in view["undecided"]] == [("Ada", WHY)]
    assert view["status"] == "awaiting_label"
    assert [one["undecided"] for one in export(client, other)] == [
        one["undecided"] for one in lines
    ]


def desk(client, path, **body):
    return client.post(f"/label/{path}", json={"tab": "a" * 8, "visit": "b" * 8, **body})


def test_the_desk_takes_the_answer_and_shows_the_episode_to_nobody_twice(client, agent):
    episode = over(client, agent, labels_wanted=2)
    who = {"agent": agent, "labeller": "Ada"}
    assert desk(client, "next", **who).json()["episode"]["id"] == episode
    given = {"episode": episode, "label": "cannot_tell", "reason": WHY, **who}
    after = desk(client, "verdict", **given).json()
    assert (after["episode"], after["left"]) == (None, 0)
    for_bob = desk(client, "next", agent=agent, labeller="Bob").json()
    assert (for_bob["episode"]["id"], for_bob["left"]) == (episode, 1)
    again = desk(client, "undo", episode=episode, **who).json()
    assert again["left"] == 1
    assert read(client, episode)["undecided"] == []
