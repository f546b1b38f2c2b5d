"""The pages for those who decide whether to trust an agent, as the server sends them."""

import html
import json
import re

import pytest

from app.service.views.events import EVENT_NAMES
from tests.api.routes.test_keys import create_key
from tests.support.running import create_agent, play, start_episode, wait_learned

ADMIN_KEY = "an-admin-key-of-this-test"
STATES = [0, 1, 2, 3, 3]
HOSTILE = "<script>alert(1)</script>\"'&{{ 7*7 }}"
GRID = {"kind": "grid", "rows": 2, "cols": 2}


def page(client, path, status=200, **query):
    answer = client.get(path, params=query)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return answer.text


def text_of(page_):
    """What a person reads."""
    shown = re.sub(r"<(script|style|svg).*?</\1>", " ", page_, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", shown)).split()).replace("\xa0", " ")


def number(shown):
    """A number that was written with its sign."""
    return float(shown.replace("\N{MINUS SIGN}", "-"))


def part(page_, id_):
    """What a person reads of the part with an id."""
    tag = re.search(rf'<(\w+)[^>]* id="{id_}"', page_)
    return text_of(page_[tag.start() :].split(f"</{tag[1]}>")[0])


def taught(client, labels=(1, 0, 1), **changes):
    """An agent with some labelled episodes; its id and theirs."""
    agent, episodes = create_agent(client, **changes), []
    for label in labels:
        episodes.append(start_episode(client, agent))
        play(client, episodes[-1], STATES, label=label)
    wait_learned(client, agent)
    return agent, episodes


def logged(client, agent, count, label_of, start=0):
    """Import episodes that end in a state by their number."""
    lines = [
        {"states": [0, 1, i % 4, i % 4, i % 4], "actions": [i % 2] * 5, "label": label_of(i)}
        for i in range(start, start + count)
    ]
    answer = client.post(f"/v1/agents/{agent}/trajectories", json={"trajectories": lines})
    assert answer.is_success, answer.text
    return wait_learned(client, agent)


def test_the_first_page_has_each_agent_with_its_rate_its_curve_and_what_waits(client):
    agent, _ = taught(client, (1, 0, 1, 1), name="the one of this test")
    play(client, start_episode(client, agent), STATES)
    shown = page(client, "/", name="one of THIS")
    assert "1 agent" in text_of(shown)
    for words in ("the one of this test", "75 % good of 4 labelled", "1 waiting"):
        assert words in text_of(shown)
    assert "up to date" in text_of(shown) or "learning" in text_of(shown)
    assert re.search(r'<path class="observed" d="M[\d. L]+"', shown)
    assert f'href="/agents/{agent}"' in shown
    assert "No agent has this in its name" in page(client, "/", name="no such %_ name")


def test_what_people_wrote_is_shown_as_they_wrote_it(client):
    names = {"kind": "names", "values": [HOSTILE] * 4}
    actions = {"kind": "labels", "values": [HOSTILE, "b"]}
    agent = create_agent(client, name=HOSTILE, display=names, actions=actions)
    episode = start_episode(client, agent, external_id=HOSTILE, metadata={HOSTILE: HOSTILE})
    play(client, episode, STATES)
    verdict = {"label": 1, "labeller": HOSTILE, "comment": HOSTILE}
    client.post(f"/v1/episodes/{episode}/label", json=verdict).raise_for_status()
    wait_learned(client, agent)
    pages = [
        page(client, "/", name="<script>"),
        page(client, f"/agents/{agent}"),
        page(client, f"/episodes/{episode}"),
        page(client, "/labellers"),
    ]
    for shown in pages:
        assert "alert(1)" in shown
        assert "<script>" not in shown  # ours have an address
        assert HOSTILE in text_of(shown)
        assert " style=" not in shown
        assert not re.search(r"\son\w+=", shown)


def test_the_page_of_an_agent_has_its_curve_its_policies_and_its_beliefs(client):
    agent, episodes = taught(client, (1, 0, 1), display=GRID, name="lake of beliefs")
    play(client, start_episode(client, agent), STATES)
    view = wait_learned(client, agent)
    model = client.get(f"/v1/agents/{agent}/model").json()
    shown = page(client, f"/agents/{agent}")
    assert "67 %" in part(shown, "success")
    assert part(shown, "waiting").startswith("1")
    assert part(shown, "versions").count(" ms") >= 3 or " s" in part(shown, "versions")
    assert f"{view['policy_version']} 3" in part(shown, "versions")
    assert 'class="mark"' in shown  # three labels are no trend yet
    assert 'class="predicted"' in shown
    assert 'class="baseline"' in shown
    assert "Of its 3 judged episodes 2 were good" in part(shown, "sentence")
    assert "1 episode wait" in part(shown, "next")
    assert f'"{agent}"' in part(shown, "code-python")
    assert json.loads(part(shown, "specification-text"))["display"] == GRID
    cells = re.findall(r'<a id="cell-(\d)"[^>]*>([^<]*)<small>(\d*)\D', shown)
    assert [int(visits or 0) for _, _, visits in cells] == [sum(row) for row in model["visits"]]
    for (_, weight, _), known in zip(cells, model["weights"], strict=True):
        assert number(weight) == pytest.approx(known, abs=0.006)
    for episode in episodes:
        assert f"/episodes/{episode}" in shown


def test_the_page_of_an_agent_listens_to_every_event_there_is(client):
    shown = page(client, f"/agents/{create_agent(client)}")
    names = re.search(r'data-names="([^"]+)"', shown)[1].split()
    assert names == list(EVENT_NAMES)
    assert {"label.settled", "label.given", "policy.replaced"} <= set(names)


def test_the_transitions_of_a_chosen_state_and_action_are_those_of_the_model(client):
    agent, _ = taught(client, (1, 0, 1))
    model = client.get(f"/v1/agents/{agent}/model").json()
    row = next(one for one in model["transitions"] if one["state"] == 0)
    shown = page(client, f"/agents/{agent}", state=0, action=row["action"])
    assert "1 100 %" in part(shown, "followers")
    visits = model["visits"][0][1 - row["action"]]
    other = page(client, f"/agents/{agent}", state=0, action=1 - row["action"])
    assert ("It never tried" in other) == (visits == 0)
    for wrong in ({"state": 4}, {"state": "x"}, {"action": 2}, {"state": "-1"}, {"before": "²"}):
        page(client, f"/agents/{agent}", 422, **wrong)
    page(client, "/agents/agt_0000000000", 404)


def test_the_forecast_says_when_it_does_not_know_and_when_it_does(client):
    agent, _ = taught(client, (1, 0))
    shown = part(page(client, f"/agents/{agent}"), "forecast")
    assert "Not known yet" in shown
    assert "too few labels" in shown
    many = create_agent(client)
    for i in range(24):
        play(client, start_episode(client, many, wait=False), STATES, label=int(i >= 2))
    wait_learned(client, many)
    shown = part(page(client, f"/agents/{many}"), "forecast")
    assert "From 24 labelled episodes" in shown
    assert "too few" not in shown


def test_older_episodes_are_a_page_away(client):
    agent = create_agent(client)
    logged(client, agent, 40, lambda i: i % 2)
    first = page(client, f"/agents/{agent}")
    older = re.search(r"before=(\d+)#episodes", first)[1]
    second = page(client, f"/agents/{agent}", before=older)
    numbers = [
        [int(n) for n in re.findall(r"/episodes/eps_\w+_(\d+)", shown)] for shown in (first, second)
    ]
    assert numbers == [list(range(39, 24, -1)), list(range(24, 9, -1))]
    last = page(client, f"/agents/{agent}", before=10)
    assert "Older episodes" not in last


@pytest.mark.parametrize(
    ("changes", "states", "words"),
    [
        ({"algorithm": {"kind": "uniform"}, "features": None}, STATES, "keeps no model"),
        (
            {
                "algorithm": {"kind": "reinforce"},
                "features": None,
                "states": {"kind": "box", "low": [-1.0], "high": [1.0]},
            },
            [[0.5], [0.25], [0.0], [-0.125], [1.0]],
            "keeps no model",
        ),
        (
            {"states": {"kind": "box", "low": [-1.0], "high": [1.0], "bins": [4]}},
            [[0.5], [0.25], [0.0], [-0.125], [1.0]],
            "What states are worth",
        ),
        (
            {"states": {"kind": "labels", "values": ["hall", "attic", "den", "loft"]}},
            ["hall", "attic", "den", "loft", "loft"],
            "loft",
        ),
        ({"features": {"kind": "auto"}}, STATES, "What states are worth"),
    ],
    ids=["uniform", "reinforce", "box", "labels", "auto"],
)
def test_every_kind_of_agent_and_space_has_its_pages(client, changes, states, words):
    agent = create_agent(client, **changes)
    episode = start_episode(client, agent)
    play(client, episode, states, label=1)
    wait_learned(client, agent)
    assert words in text_of(page(client, f"/agents/{agent}"))
    shown = text_of(page(client, f"/episodes/{episode}"))
    assert "5 of at most 5" in shown
    if isinstance(states[0], list):
        assert "(\N{MINUS SIGN}0.125)" in shown


def test_an_agent_without_anything_has_a_page_too(client):
    agent = create_agent(client)
    shown = text_of(page(client, f"/agents/{agent}"))
    assert "No labels yet" in shown
    assert "Not known yet" in shown
    assert "No episodes yet" in shown


def test_an_episode_has_each_steps_share_as_the_interface_has_it(client):
    agent, _ = taught(client, (1, 0, 1), display=GRID)
    episode = start_episode(client, agent, mode="exploit")
    play(client, episode, STATES, label=1)
    wait_learned(client, agent)
    view = client.get(f"/v1/episodes/{episode}").json()
    shown = page(client, f"/episodes/{episode}")
    rows = re.findall(r'<tr id="step-(\d+)">(.*?)</tr>', shown, flags=re.DOTALL)
    assert [int(step) for step, _ in rows] == [0, 1, 2, 3, 4]
    for (_, row), step in zip(rows, view["steps"], strict=True):
        found = re.search(r"<td>(\W?\d+\.\d\d)</td>", row)[1]
        assert number(found) == pytest.approx(step["share"], abs=0.006)
        side = "plus" if step["share"] > 0 else "minus"
        assert f'class="{side}"' in row
    assert part(shown, "predicted") == f"{view['predicted']:.0%}".replace("%", " %")
    assert "Played to exploit" in text_of(shown)
    assert f"Policy version {view['policy_version']}, from 3 labels" in text_of(shown)
    assert '<polyline class="way"' in shown


def test_an_episode_has_the_history_of_its_label(client):
    _, (episode,) = taught(client, (1,))
    path = f"/v1/episodes/{episode}/label"
    client.put(path, json={"label": 0, "labeller": "bob", "comment": "it fell"})
    client.delete(path)
    shown = part(page(client, f"/episodes/{episode}"), "labels")
    assert re.search(r"good . .* bad bob . . it fell .* withdrawn", shown)


def test_the_steps_of_a_long_episode_come_in_pages(client):
    agent = create_agent(client, horizon=450)
    states = [i % 4 for i in range(450)]
    line = {"states": states, "actions": [0] * 450, "label": 1}
    client.post(f"/v1/agents/{agent}/trajectories", json={"trajectories": [line]})
    wait_learned(client, agent)
    path = f"/episodes/{agent.replace('agt', 'eps')}_0"
    counts = []
    for first in (0, 200, 400, 10**9):
        shown = page(client, path, **{"from": first})
        counts.append(len(re.findall(r'<tr id="step-', shown)))
    assert counts == [200, 200, 50, 1]
    page(client, path, 422, **{"from": "-1"})


def test_labellers_are_counted_compared_and_doubted(client):
    agent = create_agent(client)
    logged(client, agent, 200, lambda i: int(i % 4 == 3))
    odd = f"{agent.replace('agt', 'eps')}_2"  # bad, and rightly so
    path = f"/v1/episodes/{odd}/label"
    client.put(path, json={"label": 1, "labeller": "ann of this test"}).raise_for_status()
    client.put(path, json={"label": 0, "labeller": "bob of this test"}).raise_for_status()
    client.put(path, json={"label": 1, "labeller": "cy of this test"}).raise_for_status()
    wait_learned(client, agent)
    predicted = client.get(f"/v1/episodes/{odd}").json()["predicted"]
    assert predicted < 0.1
    shown = text_of(page(client, "/labellers"))
    assert re.search(r"ann of this test 1 100 % 0", shown)
    assert re.search(r"bob of this test 1 0 % 0", shown)
    assert "ann of this test and bob of this test 1 0 (0 %)" in shown
    assert "ann of this test and cy of this test 1 1 (100 %)" in shown
    assert re.search(rf"number 2 lake good {100 * predicted:.0f} % cy of this test", shown)


def test_who_only_labels_is_told_what_the_model_expects_after_the_verdict(start_server):
    server = start_server(PLAUDIT_ADMIN_KEY=ADMIN_KEY)

    def seen_by(role):
        with server.client(follow_redirects=True) as browser:
            browser.post("/signin", data={"key": secrets[role]})
            assert browser.get(f"/agents/{agent}").status_code == (200 if role == "viewer" else 403)
            return page(browser, f"/episodes/{episode}")

    def read(role):
        with server.client(secrets[role]) as api:
            return api.get(f"/v1/episodes/{episode}").json()

    with server.client(ADMIN_KEY) as admin:
        secrets = {role: create_key(admin, role)["secret"] for role in ("labeller", "viewer")}
        agent, _ = taught(admin, (1, 0))
        episode = start_episode(admin, agent)
        play(admin, episode, STATES)
        assert 'id="predicted"' in seen_by("viewer")
        early = seen_by("labeller")
        assert "Hidden until the episode is labelled" in early
        assert 'id="predicted"' not in early
        assert 'class="plus"' not in early
        assert 'class="minus"' not in early
        assert (read("viewer")["predicted"] is None, read("labeller")["predicted"]) == (False, None)
        assert {step["share"] for step in read("labeller")["steps"]} == {None}
        assert read("labeller")["after_end"] is None
        admin.post(f"/v1/episodes/{episode}/label", json={"label": 1}).raise_for_status()
        assert 'id="predicted"' in seen_by("labeller")
        assert read("labeller") == read("viewer")
        assert read("labeller")["predicted"] is not None
