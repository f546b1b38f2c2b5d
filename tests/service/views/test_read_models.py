"""The read models on a real database: what the API and the pages are given to show."""

from contextlib import aclosing
from datetime import UTC

import pytest

from app.errors import InvalidValue, NotFound
from app.service.access.visibility import EVERY_AGENT
from app.service.agents.specification import read_specification
from app.service.labelling.labels import GivenLabel
from app.wire.steps import Step
from tests.support.service import (
    SPECIFICATION,
    finished_episode,
    learned,
    new_episode,
    run_service,
)

GRID = {"kind": "grid", "rows": 2, "cols": 2}
LABELS = [("Ada", 1), ("Ada", 0), ("Bob", 1)]
UNKNOWN_AGENT, UNKNOWN_EPISODE = "agt_0000000000", "eps_0000000000_0"


class Scene:
    """What was read of one agent: three labelled episodes, one that waits, one that runs."""


async def _play(container):
    scene = Scene()
    specification = read_specification(
        SPECIFICATION | {"algorithm": {"kind": "thompson"}, "labels_wanted": 1}
    )
    agent = await container.registry.create("lake", specification, {"of": "a test"}, GRID)
    await learned(container, agent)
    scene.agent = agent.id
    scene.judged = []
    for labeller, label in LABELS:
        episode = await finished_episode(container, agent, external_id=f"run {label}")
        await container.labels.give(episode.id, GivenLabel(label, labeller, "why"))
        scene.judged.append(episode.id)
    scene.waiting = (await finished_episode(container, agent, labels_wanted=2)).id
    await container.labels.give(scene.waiting, GivenLabel(1, "Ada"))
    await learned(container, agent)
    running = await new_episode(container, agent)
    await container.stepping.step(running.id, Step(step=0, state=2))
    await learned(container, agent)
    scene.running = running.id
    await _read(container, agent, running, scene)
    return scene


async def _read(container, agent, running, scene):
    views = container.views
    scene.readiness = await container.readiness.state()
    scene.agent_view = await views.agents.read(agent.id)
    scene.agent_page = await views.agents.page(EVERY_AGENT, 0, 10)
    scene.name = await views.agents.name(agent.id)
    scene.cards, scene.total = await views.agents.cards(EVERY_AGENT, 0, 10, "LAK")
    scene.no_cards = await views.agents.cards(EVERY_AGENT, 0, 10, "pond")
    scene.overview = await views.overviews.read(agent.id, None, None, None)
    scene.chosen = await views.overviews.read(agent.id, 2, 1, 1)
    scene.view = await views.episodes.read(scene.judged[0], sees_everything=True)
    scene.running_view = await views.episodes.read(running.id, sees_everything=True)
    scene.summary = await views.episodes.summary(running)
    scene.page = await views.episodes.page(EVERY_AGENT, agent.id, None, None, False, None, 2)
    scene.newest = await views.episodes.page(EVERY_AGENT, None, "labelled", None, True, None, 10)
    scene.queue = await views.episodes.most_informative(EVERY_AGENT, agent.id, 0, 10)
    scene.details = await views.episode_details.read(scene.waiting, sees_everything=True)
    scene.hidden = await views.episode_details.read(scene.waiting, sees_everything=False)
    waiting = await container.cache.episode(scene.waiting)
    scene.desk = await views.desk.read(waiting)
    scene.report = await views.labellers.report(EVERY_AGENT)
    scene.curve = await views.curves.read(agent.id)
    scene.model = await views.documents.model(agent.id)
    scene.policy = await views.documents.policy(agent.id, "learn", None)
    scene.pinned = await views.documents.policy(agent.id, "learn", running.id)
    scene.document = scene.pinned.content()
    scene.explanation = await views.explanations.explain(running)
    scene.events = await _first_events(views.events, agent.id, 5)
    scene.missing = [
        await _error(views.agents.read(UNKNOWN_AGENT)),
        await _error(views.agents.name(UNKNOWN_AGENT)),
        await _error(views.overviews.read(UNKNOWN_AGENT, None, None, None)),
        await _error(views.curves.read(UNKNOWN_AGENT)),
        await _error(views.documents.model(UNKNOWN_AGENT)),
        await _error(views.events.open(UNKNOWN_AGENT, None, 1.0)),
        await _error(views.episodes.page(EVERY_AGENT, UNKNOWN_AGENT, None, None, False, None, 2)),
        await _error(views.episodes.read(UNKNOWN_EPISODE, sees_everything=True)),
        await _error(views.episodes.read(f"eps_{agent.id[4:]}_99", sees_everything=True)),
        await _error(views.episode_details.read(UNKNOWN_EPISODE, sees_everything=True)),
    ]
    scene.wrong = [
        await _error(views.overviews.read(agent.id, None, 4, None)),
        await _error(views.overviews.read(agent.id, None, None, 2)),
        await _error(views.documents.policy(agent.id, "learn", scene.judged[0])),
    ]


async def _first_events(feed, agent, count):
    """The first stored events, and a heartbeat when nothing more happens."""
    found = []
    async with aclosing(await feed.open(agent, 0, 0.05)) as events:
        async for event in events:
            found.append(event)
            if event is None:
                break
    return found[:count] + found[-1:]


async def _error(coroutine):
    try:
        await coroutine
    except (NotFound, InvalidValue) as error:
        return error
    return None


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    return run_service(tmp_path_factory.mktemp("views"), _play)


def test_a_container_that_learned_is_ready(scene):
    assert scene.readiness.status == "ok"


def test_an_agent_is_shown_with_its_counts_its_rate_and_its_plan(scene):
    view = scene.agent_view
    assert (view.id, view.name, view.metadata) == (scene.agent, "lake", {"of": "a test"})
    assert view.episodes.model_dump() == {
        "running": 1,
        "awaiting_label": 1,
        "labelled": 3,
        "completed": 0,
        "abandoned": 0,
    }
    assert view.success_rate == pytest.approx(2 / 3)
    assert view.plan is not None
    assert view.learning == "idle"
    assert view.created_at.tzinfo is UTC
    assert scene.agent_page.items == [view]
    assert scene.agent_page.next is None
    assert scene.name == "lake"


def test_a_card_of_the_start_page_agrees_with_the_view(scene):
    [card] = scene.cards
    assert scene.total == 1
    assert scene.no_cards == ([], 0)
    assert (card.id, card.kind, card.waiting, card.running) == (scene.agent, "thompson", 1, 1)
    assert sum(labels for _, labels, _ in card.curve) == card.labelled == 3
    assert sum(good for _, _, good in card.curve) == 2


def test_an_overview_has_every_label_and_the_newest_episodes_first(scene):
    overview = scene.overview
    assert sorted(overview.labels) == [0, 1, 1, 1]  # also the first of two that one wants
    assert [episode.number for episode in overview.episodes] == [4, 3, 2, 1, 0]
    assert overview.older is None
    assert [episode.number for episode in scene.chosen.episodes] == [1, 0]
    low, high = overview.interval
    assert 0 < low < 2 / 3 < high < 1
    assert overview.versions[0].version == overview.agent.policy_version
    assert overview.version_count >= len(overview.versions) > 0


def test_beliefs_are_of_every_state_of_the_grid_and_of_the_chosen_pair(scene):
    beliefs = scene.overview.beliefs
    assert [belief.state for belief in beliefs.grid] == [0, 1, 2, 3]
    visits = [sum(row) for row in scene.model["visits"]]
    assert [belief.visits for belief in beliefs.grid] == visits
    assert (scene.chosen.beliefs.state, scene.chosen.beliefs.action) == (1, 1)
    assert scene.chosen.beliefs.tried == scene.model["visits"][1][1]


def test_the_shares_of_an_episode_and_its_prediction_belong_together(scene):
    view = scene.view
    assert [step.state for step in view.steps] == [1]
    assert (view.final, view.terminated, view.status, view.label) == (3, True, "labelled", 1)
    assert 0 < view.predicted < 1
    assert [change.comment for change in view.labels] == ["why"]
    assert [verdict.labeller for verdict in view.verdicts] == ["Ada"]
    assert all(step.share is not None for step in view.steps)


def test_a_running_episode_has_no_prediction(scene):
    view = scene.running_view
    assert (view.status, view.length, view.predicted) == ("running", 1, None)
    assert [step.share for step in view.steps] == [None]
    assert scene.summary.model_dump() == {
        name: value
        for name, value in view.model_dump().items()
        if name in type(scene.summary).model_fields
    }


def test_lists_have_a_cursor_while_there_is_more(scene):
    assert [item.number for item in scene.page.items] == [0, 1]
    assert scene.page.next.endswith("-1")
    assert [item.number for item in scene.newest.items] == [2, 1, 0]
    assert scene.newest.next is None
    assert [item.id for item in scene.queue.items] == [scene.waiting]
    assert scene.queue.items[0].information >= 0


def test_labellers_see_neither_the_prediction_nor_the_labels_of_others_before_the_end(scene):
    assert scene.details.prediction is not None
    assert [label.labeller for label in scene.details.labels] == ["Ada"]
    assert scene.hidden.prediction is None
    assert scene.hidden.prediction_is_hidden
    assert scene.hidden.labels_are_hidden
    assert (scene.hidden.labels, scene.hidden.verdicts) == ([], [])
    assert scene.hidden.episode.labels_given == 1
    assert "predicted" not in scene.desk.model_dump()
    assert (scene.desk.verdicts, scene.desk.labels_wanted) == (1, 2)
    assert [step.place for step in scene.desk.steps] == [1]
    assert scene.desk.final.place == 3
    assert scene.desk.display == GRID


def test_the_report_of_labellers_counts_every_label(scene):
    report = scene.report
    assert {found.name: (found.verdicts, found.good) for found in report.labellers} == {
        "Ada": (3, 2),
        "Bob": (1, 1),
    }
    assert (report.changes, report.checked) == (4, 4)
    assert report.pairs == []  # no episode has a label of both


def test_a_learning_curve_has_a_point_for_each_label_and_each_policy(scene):
    assert [point.labels for point in scene.curve.observed] == [1, 2, 3, 4]
    assert [point.version for point in scene.curve.policies][::-1][:10] == [
        version.version for version in scene.overview.versions
    ]


def test_a_policy_document_is_of_the_next_episode_or_of_a_pinned_one(scene):
    assert scene.policy.episode == 5
    assert scene.pinned.episode == 4
    assert scene.pinned.tag != scene.policy.tag
    assert scene.document["episode_number"] == 4
    assert scene.document["agent"] == scene.agent
    assert scene.document["policy"]["kind"]


def test_an_action_is_explained_with_the_model(scene):
    assert scene.explanation.visits >= 0
    assert 0 < scene.explanation.success_probability < 1
    assert 0 <= scene.explanation.bonus_share <= 1


def test_events_are_replayed_in_order_until_nothing_more_happens(scene):
    *stored, heartbeat = scene.events
    assert heartbeat is None
    assert [event.number for event in stored] == [1, 2, 3, 4, 5]
    assert {"episode.finished", "label.given"} <= {event.name for event in stored}
    given = next(event for event in stored if event.name == "label.given")
    assert given.data["label"] == 1
    assert given.data["episode"] == scene.judged[0]
    assert given.data["at"].endswith("Z")


def test_what_does_not_exist_is_not_found(scene):
    assert [type(error) for error in scene.missing] == [NotFound] * 10
    assert [error.what for error in scene.missing] == ["agent"] * 7 + ["episode"] * 3


def test_what_does_not_fit_is_refused_by_name(scene):
    assert [error.field for error in scene.wrong] == ["?state", "?action", "?episode"]
