"""A database with very many agents and episodes, written straight into its tables."""

from sqlalchemy import insert

from app.storage.database import prepare_database
from app.storage.schema import agents, episodes, labels, versions
from tests.support.databases import writing_engine
from tests.support.running import LAKE

BIG = 12345  # the number of the agent that has most episodes
_NONE = dict.fromkeys(("running", "awaiting_label", "completed", "abandoned"), 0)


def crowd(url, count, each=20, most=0):
    """``count`` agents with ``each`` labelled episodes, and one more with ``most``."""
    prepare_database(url)
    sizes = {1_000_000 + i: each for i in range(count)} | ({BIG: most} if most else {})
    with writing_engine(url) as engine, engine.begin() as connection:
        connection.execute(
            insert(agents),
            [_agent(number, place, size) for place, (number, size) in enumerate(sizes.items(), 1)],
        )
        for number, size in sizes.items():
            connection.execute(insert(episodes), [_episode(number, i) for i in range(size)])
            connection.execute(insert(labels), [_label(number, i) for i in range(size)])
            connection.execute(insert(versions), [_version(number, i) for i in range(size)])


def _agent(number, place, size):
    specification = {key: value for key, value in LAKE.items() if key != "name"}
    return _NONE | {
        "id": number,
        "position": place,
        "name": f"agent {place}",
        "specification": specification,
        "metadata": {},
        "paused": False,
        "created_at": 1_700_000_000_000,
        "episodes": size,
        "labelled": size,
        "good": size // 2,
        "last_event": 2 * size,
        "last_lesson": 2 * size,
        "learned": 2 * size,
        "policy_version": max(0, 2 * size - 1),
        "notes": {"progress": {}, "warnings": []},
    }


def _episode(agent, number):
    return {
        "agent": agent,
        "number": number,
        "mode": "learn",
        "status": "labelled",
        "label_required": True,
        "policy_version": 2 * number,
        "length": 0,
        "ended": False,
        "labels_wanted": 1,
        "labels_given": 1,
        "label": number % 2,
        "metadata": {},
        "created_at": 1_700_000_000_000 + number,
        "finished_at": 1_700_000_000_000 + number,
        "labelled_at": 1_700_000_000_000 + number,
    }


def _label(agent, number):
    return {
        "agent": agent,
        "episode": number,
        "slot": 0,
        "label": number % 2,
        "labeller": f"labeller {number % 3}",
        "at": 1_700_000_000_000 + 5000 * number,
    }


def _version(agent, number):
    return {
        "agent": agent,
        "version": 2 * number + 1,
        "episodes": number,
        "labels": number,
        "planner": "fast",
        "value": 0.6,
        "gap": 0.01,
        "predicted": 0.5,
        "seconds": 0.01,
        "at": 1_700_000_000_000 + number,
    }
