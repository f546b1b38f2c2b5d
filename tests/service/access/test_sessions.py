"""Browser sessions: what a cookie opens, and for how long."""

import asyncio
import time
from contextlib import asynccontextmanager

import pytest

from app.service.access.keys import ANYONE, Caller, Keys, Role
from app.service.access.sessions import SESSION_SECONDS, Sessions
from app.storage.database import Database, prepare_database
from tests.support.databases import database_url


@asynccontextmanager
async def opened(folder, admin_secret="secret"):
    url = database_url(folder)
    prepare_database(url)
    database = Database(url)
    try:
        keys = Keys(database, admin_secret, may_be_open=True)
        await keys.refresh()
        sessions = Sessions(database, keys)
        await sessions.start()
        yield keys, sessions
    finally:
        await database.close()


def test_a_session_is_known_by_its_cookie_until_its_key_is_revoked(tmp_path):
    async def run():
        async with opened(tmp_path) as (keys, sessions):
            key, _ = await keys.create("Ada", Role.labeller)
            session = await sessions.open(Caller(key.id, key.name, key.role))
            assert await sessions.read(session.text) == session
            assert session.caller.name == "Ada"
            other = await sessions.open(session.caller)
            assert (other.text, other.token) != (session.text, session.token)
            await keys.revoke(key.id)
            assert await sessions.read(session.text) is None

    asyncio.run(run())


def test_a_session_expires(tmp_path, monkeypatch):
    async def run():
        async with opened(tmp_path) as (_, sessions):
            session = await sessions.open(Caller("key_admin", "admin", Role.admin))
            now = time.time()
            monkeypatch.setattr(time, "time", lambda: now + SESSION_SECONDS - 5)
            assert await sessions.read(session.text) == session
            monkeypatch.setattr(time, "time", lambda: now + SESSION_SECONDS + 5)
            assert await sessions.read(session.text) is None

    asyncio.run(run())


def test_a_cookie_of_one_server_is_unknown_to_another(tmp_path):
    async def run():
        texts = []
        for name in ("one", "other"):
            folder = tmp_path / name
            folder.mkdir()
            async with opened(folder) as (_, sessions):
                for text in texts:
                    assert await sessions.read(text) is None
                texts.append((await sessions.open(Caller("key_admin", "admin", Role.admin))).text)

    asyncio.run(run())


def test_a_changed_admin_key_ends_the_sessions_of_the_old_one(tmp_path):
    async def run():
        async with opened(tmp_path, "old") as (_, sessions):
            session = await sessions.open(Caller("key_admin", "admin", Role.admin))
            assert await sessions.read(session.text) is not None
        async with opened(tmp_path, "old") as (_, sessions):
            assert await sessions.read(session.text) == session
        async with opened(tmp_path, "new") as (_, sessions):
            assert await sessions.read(session.text) is None

    asyncio.run(run())


@pytest.mark.parametrize("text", [None, "", "anyone", "anyone.x", "a.b.c.d", "\xff.\xff.\xff"])
def test_where_keys_are_off_everybody_has_a_session_and_forged_cookies_are_none(tmp_path, text):
    async def run():
        async with opened(tmp_path, None) as (_, sessions):
            session = await sessions.open(ANYONE)
            assert (await sessions.read(session.text)).caller is ANYONE
            assert await sessions.read(text) is None

    asyncio.run(run())
