"""The requests of the labelling desk, without a browser: several people, one after the other."""

import pytest

from tests.api.routes.test_fleets import take_in
from tests.api.routes.test_keys import create_key
from tests.api.routes.test_labels import label, log, read
from tests.api.routes.test_several_labellers import over, verdicts
from tests.support.running import assert_problem, create_agent, wait_until
from tests.web.test_dashboard import ADMIN_KEY


class Person:
    """Somebody at a desk of their own."""

    def __init__(self, client, name, agent):
        self.client = client
        made_up = f"{name}12345678"
        self.body = {"tab": made_up, "visit": made_up, "agent": agent, "labeller": name}

    def ask(self, what, **more):
        return self.client.post(f"/label/{what}", json=self.body | more)

    def shown(self, what="next", **more):
        """The id of the episode that an answer shows, and how many are left."""
        answer = self.ask(what, **more)
        assert answer.status_code == 200, answer.text
        episode = answer.json()["episode"]
        return None if episode is None else episode["id"], answer.json()["left"]

    def change(self, episode):
        query = {"episode": episode, "labeller": self.body["labeller"]}
        return self.client.get("/label/change", params=query)


@pytest.fixture
def both(client):
    """Two people, and the one episode that both are to judge."""
    agent = create_agent(client, labels_wanted=2)
    (episode,) = log(client, agent, ([0] * 5, 0, None))
    return Person(client, "Ann", agent), Person(client, "Ben", agent), episode


def test_undo_withdraws_ones_own_verdict_while_somebody_else_looks(client, both):
    ann, ben, episode = both
    assert ann.shown() == (episode, 1)
    assert ann.shown("verdict", episode=episode, label=1) == (None, 0)
    assert ben.shown() == (episode, 1)
    assert ann.shown("undo", episode=episode) == (None, 1)  # it is Ben's now
    assert verdicts(client, episode) == []
    assert ben.ask("renew", episode=episode).json()["held"]
    assert ben.shown("verdict", episode=episode, label=0) == (None, 0)
    assert ann.shown() == (episode, 1)
    assert ben.shown("undo", episode=episode) == (None, 1)
    ann.ask("leave")
    ben.shown()
    assert ben.shown("verdict", episode=episode, label=0) == (None, 0)
    assert ben.shown("undo", episode=episode) == (episode, 1)  # nobody else has it


def test_undo_of_an_only_label_needs_the_episode(client):
    agent = create_agent(client)
    (episode,) = log(client, agent, ([0] * 5, 0, None))
    ann, ben = (Person(client, name, agent) for name in ("Ann", "Ben"))
    assert ann.shown() == (episode, 1)
    ann.ask("verdict", episode=episode, label=1)
    client.delete(f"/v1/episodes/{episode}/label")
    assert ben.shown() == (episode, 1)
    assert_problem(ann.ask("undo", episode=episode), 409, "leased")


def test_a_refused_verdict_keeps_nobody_away(client, both):
    ann, ben, episode = both
    ann.shown()
    ann.ask("verdict", episode=episode, label=1)
    refused = ann.ask("verdict", episode=episode, label=0)
    assert "You have already judged" in assert_problem(refused, 409, "already_labelled")["detail"]
    assert ben.shown() == (episode, 1)


def test_what_one_has_judged_does_not_hide_what_one_has_not(client):
    """However many of the newest episodes one has judged, the older ones come."""
    agent = create_agent(client, labels_wanted=2)
    old, older = log(client, agent, ([0] * 5, 0, None), ([1] * 5, 0, None))
    judged = {"states": [2], "actions": [0], "verdicts": [{"label": 1, "labeller": "Ann"}]}
    assert take_in(client, agent, *[judged] * 2000).status_code == 201
    ann = Person(client, "Ann", agent)
    assert ann.shown() == (old, 2)
    assert ann.shown("skip", episode=old) == (older, 2)
    assert ann.shown("verdict", episode=older, label=1) == (None, 1)
    assert ann.shown("over") == (old, 1)
    assert Person(client, "Ben", agent).shown()[1] == 2002
    client.delete(f"/v1/agents/{agent}").raise_for_status()  # other tests go through what waits


def test_left_is_of_the_agent_that_was_asked_for(client, both):
    ann, _, episode = both
    other = create_agent(client, labels_wanted=2)
    (theirs,) = log(client, other, ([0] * 5, 0, None))
    label(client, theirs, label=1, labeller="Ann")
    assert ann.shown() == (episode, 1)
    assert Person(client, "Ann", other).shown() == (None, 0)


def test_what_was_settled_on_the_screen_can_still_be_judged(client):
    agent = create_agent(client, labels_wanted=3, label_timeout="PT2S")
    episode = over(client, agent)
    label(client, episode, label=1, labeller="Ann")
    ann, ben = (Person(client, name, agent) for name in ("Ann", "Ben"))
    assert ben.shown()[0] == episode
    wait_until(lambda: read(client, episode)["status"] == "labelled")
    assert not ann.ask("renew", episode=episode).json()["held"]
    assert ben.ask("renew", episode=episode).json()["held"]
    assert ben.shown("verdict", episode=episode, label=0) == (None, 0)
    assert verdicts(client, episode) == [("Ann", 1), ("Ben", 0)]
    assert not ben.ask("renew", episode=episode).json()["held"]
    label(client, episode, label=0, labeller="Cy")
    again = ben.ask("verdict", episode=episode, label=1)
    assert "You have already judged" in assert_problem(again, 409, "already_labelled")["detail"]
    full = Person(client, "Di", agent).ask("verdict", episode=episode, label=0)
    assert "Somebody else" in assert_problem(full, 409, "already_labelled")["detail"]


def test_what_a_verdict_changed_is_for_who_gave_it(client, both):
    ann, ben, episode = both
    ann.shown()
    ann.ask("verdict", episode=episode, label=1)
    assert_problem(ben.change(episode), 404)
    ben.shown()
    ben.ask("verdict", episode=episode, label=0)
    ben.ask("undo", episode=episode)
    assert_problem(ben.change(episode), 404)
    assert ann.change(episode).json()["learned"]  # what Ben takes back is not hers


def test_where_keys_are_on_the_key_says_whose_change_it_is(start_server):
    server = start_server(PLAUDIT_ADMIN_KEY=ADMIN_KEY)
    with server.client(ADMIN_KEY) as admin:
        agent = create_agent(admin, labels_wanted=2)
        (episode,) = log(admin, agent, ([0] * 5, 0, None))
        secrets = [create_key(admin, "labeller", name)["secret"] for name in ("Ann", "Ben")]
    with server.client(secrets[0]) as client:
        ann = Person(client, "Ann", agent)
        assert ann.shown() == (episode, 1)
        ann.ask("verdict", episode=episode, label=1)
        assert ann.change(episode).status_code == 200
    with server.client(secrets[1]) as client:
        assert_problem(Person(client, "Ann", agent).change(episode), 404)  # whatever he says
