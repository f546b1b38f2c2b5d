"""Filing: steps move from the journal to their places."""

import asyncio

from sqlalchemy import func, select

from app.service.runtime.filing import Filing
from app.storage import commands
from app.storage.database import Database, prepare_database
from app.storage.schema import journal, steps
from app.storage.sqlite.journal import PARTS
from app.storage.sqlite.writer import Write


def count(connection):
    """Steps in the journal, and at their places."""
    return [
        connection.execute(select(func.count()).select_from(table)).scalar()
        for table in (journal, steps)
    ]


async def file_all(url):
    database = Database(url)
    rows = [commands.journal_row(1, episode, 0, 0, 0, 0) for episode in range(3 * PARTS)]
    await database.write([Write(commands.ADD_STEP, rows)])
    before = await database.read(count), database.writer.commits
    await Filing(database).file_rest()
    after = await database.read(count), database.writer.commits
    await database.close()
    return before, after


def test_what_is_left_is_filed_with_one_commit(tmp_path):
    url = f"sqlite:///{tmp_path / 'plaudit.db'}"
    prepare_database(url)
    (before, commits), (after, more) = asyncio.run(file_all(url))
    assert (before, after) == ([3 * PARTS, 0], [0, 3 * PARTS])
    assert more == commits + 1
