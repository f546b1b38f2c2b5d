"""Pages take a fixed number of queries, however many agents and episodes there are."""

import asyncio

import httpx
import pytest

from app.main import create_app
from app.service.runtime.ids import agent_id, episode_id
from app.settings import Settings
from tests.support.crowded import BIG, crowd
from tests.support.databases import database_url
from tests.support.queries import recorded_queries

MOST = 14  # queries of a page
PAGES = {
    "agents": "/",
    "agents, second page": "/?page=2",
    "agent": f"/agents/{agent_id(BIG)}",
    "episode": f"/episodes/{episode_id(BIG, 7)}",
    "labellers": "/labellers",
}


async def _count(url):
    """How many queries each page takes, and how many bytes it has."""
    app = create_app(Settings(database_url=url, learning_processes=1))
    asked = {}
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            for name, path in PAGES.items():
                with recorded_queries() as queries:
                    answer = await client.get(path)
                assert answer.status_code == 200, answer.text
                asked[name] = len(queries), len(answer.content)
    return asked


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """Queries and bytes of each page: of a small database, and of a large one."""
    found = {}
    for size, (count, most) in {"small": (60, 30), "large": (1000, 5000)}.items():
        url = database_url(tmp_path_factory.mktemp(size))
        crowd(url, count, most=most)
        found[size] = asyncio.run(_count(url))
    print("(queries, bytes) of each page:", found)
    return found


@pytest.mark.parametrize("name", PAGES)
def test_a_page_takes_as_many_queries_of_a_large_database_as_of_a_small_one(counted, name):
    small, large = counted["small"][name], counted["large"][name]
    assert large[0] == small[0] <= MOST
    assert large[1] < 200_000
