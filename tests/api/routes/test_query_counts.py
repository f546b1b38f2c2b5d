"""Lists and views of episodes take a fixed number of queries, however much they show."""

import asyncio

import httpx
import pytest
from sqlalchemy import text

from app.main import create_app
from app.service.runtime.ids import episode_id
from app.settings import Settings
from app.storage.database import prepare_database
from tests.support.crowded import BIG, crowd
from tests.support.databases import database_url, writing_engine
from tests.support.queries import recorded_queries
from tests.support.running import LAKE

UNIFORM = LAKE | {"algorithm": {"kind": "uniform"}, "features": None}


def serve(url, act):
    """Run a coroutine with a client of a server in this process."""

    async def run():
        app = create_app(Settings(database_url=url, learning_processes=1))
        async with app.router.lifespan_context(app):
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://localhost", timeout=120
            ) as client:
                return await act(client)

    return asyncio.run(run())


async def queries_of(client, path):
    """How many queries a request takes, and its body."""
    with recorded_queries() as queries:
        answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return len(queries), answer.json()


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """100 agents that nobody has loaded, with 20 episodes each, a quarter of them running."""
    url = database_url(tmp_path_factory.mktemp("crowded"))
    crowd(url, 100, most=30)
    with writing_engine(url) as engine, engine.begin() as connection:
        connection.execute(
            text("UPDATE episodes SET status = 'running', length = NULL WHERE number % 4 = 0")
        )
        connection.execute(
            text(
                "INSERT INTO steps (agent, episode, step, state, action) "
                "SELECT agent, number, step, 0, 0 "
                "FROM episodes, (SELECT 0 AS step UNION SELECT 1) AS two "
                "WHERE status = 'running'"
            )
        )
    return url


@pytest.mark.parametrize("order", ["oldest", "newest"])
def test_a_list_of_episodes_of_many_agents_takes_as_many_queries_as_a_short_one(crowded, order):
    async def act(client):
        few, short = await queries_of(client, f"/v1/episodes?order={order}&limit=5")
        many, long = await queries_of(client, f"/v1/episodes?order={order}&limit=500")
        return few, short, many, long

    few, short, many, long = serve(crowded, act)
    assert len(long["items"]) == 500
    assert short["items"] == long["items"][:5]
    assert len({item["agent"] for item in long["items"]}) > 20
    lengths = {item["status"]: item["length"] for item in long["items"]}
    assert lengths == {"running": 2, "labelled": 0}
    assert {item["horizon"] for item in long["items"]} == {LAKE["horizon"]}
    assert few == many <= 3


def test_the_view_of_an_episode_reads_every_row_once(crowded):
    path = f"/v1/episodes/{episode_id(BIG, 7)}"

    async def act(client):
        await client.get(f"/v1/episodes/{episode_id(BIG, 3)}")  # loads the agent and its model
        return await queries_of(client, path)

    count, view = serve(crowded, act)
    assert view["id"] == path.rpartition("/")[2]
    assert count == 3  # the episode, its steps, its labels


def test_the_labelling_queue_takes_as_many_queries_for_a_long_page_as_for_a_short_one(tmp_path):
    url = database_url(tmp_path)
    prepare_database(url)
    lines = [{"states": [0, 1], "actions": [0, 1]} for _ in range(40)]

    async def act(client):
        agent = (await client.post("/v1/agents", json=UNIFORM)).json()["id"]
        answer = await client.post(f"/v1/agents/{agent}/trajectories", json={"trajectories": lines})
        assert answer.status_code == 201, answer.text
        while (await client.get(f"/v1/agents/{agent}")).json()["learning"] != "idle":
            await asyncio.sleep(0.05)
        path = f"/v1/episodes?agent={agent}&order=informative"
        await client.get(path)  # ranks them
        few, short = await queries_of(client, f"{path}&limit=2")
        many, long = await queries_of(client, f"{path}&limit=40")
        return few, short, many, long

    few, short, many, long = serve(url, act)
    assert len(long["items"]) == 40
    assert short["items"] == long["items"][:2]
    assert few == many <= 4
