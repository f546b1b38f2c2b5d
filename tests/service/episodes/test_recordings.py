"""Recordings in the service: streamed to files, replaced by few, swept, gone with their agent."""

import asyncio
import tracemalloc

import pytest

from app.errors import Forbidden, InvalidValue, NotFound, StorageUnavailable
from app.service.access.keys import Caller, Role
from app.storage.blobs.folder import FolderBlobs
from app.storage.queries import recordings
from tests.support.service import new_agent, new_episode, run_service

PNG = b"\x89PNG\r\n\x1a\n"
ROBOT = Caller("key_robot", "arm", Role.actor)
OTHER = Caller("key_other", "leg", Role.actor)
OPERATOR = Caller("key_operator", "Ada", Role.operator)


async def body(*chunks):
    for chunk in chunks:
        yield chunk


def files(folder):
    found = (folder / "plaudit.db.recordings").rglob("*")
    return {path.name for path in found if path.is_file()}


async def content_of(container, episode):
    recording = await container.recordings.find(episode)
    chunks = await container.recordings.stream(episode, recording, 0, recording.size)
    return b"".join([chunk async for chunk in chunks])


async def robots_episode(container):
    return await new_episode(container, await new_agent(container), started_by=ROBOT.key)


def test_the_robot_and_operators_replace_a_recording_and_others_do_not(tmp_path):
    async def use(container):
        episode = (await robots_episode(container)).id
        put, drop = container.recordings.put, container.recordings.drop
        await put(episode, body(PNG, b"first"), OTHER)  # the episode has none yet
        await put(episode, body(PNG, b"robot"), ROBOT)
        for refused in (put(episode, body(PNG, b"other"), OTHER), drop(episode, OTHER)):
            with pytest.raises(Forbidden, match="started the episode"):
                await refused
        assert await content_of(container, episode) == PNG + b"robot"
        await put(episode, body(PNG, b"operator"), OPERATOR)
        assert await content_of(container, episode) == PNG + b"operator"
        assert len(files(tmp_path)) == 1  # replaced files are deleted
        await drop(episode, ROBOT)
        assert files(tmp_path) == set()

    run_service(tmp_path, use)


def test_an_upload_is_not_held_in_memory(tmp_path):
    size = 40

    async def large():
        yield PNG
        for _ in range(size):
            yield bytes(1_000_000)

    async def use(container):
        episode = (await robots_episode(container)).id
        tracemalloc.start()
        stored = await container.recordings.put(episode, large(), ROBOT)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert stored.size == size * 1_000_000 + len(PNG)
        assert peak < 10_000_000

    run_service(tmp_path, use)


def test_an_upload_that_fails_leaves_nothing(tmp_path):
    async def broken():
        yield PNG + bytes(2_000_000)
        raise ConnectionError

    async def use(container):
        episode = (await robots_episode(container)).id
        with pytest.raises(ConnectionError):
            await container.recordings.put(episode, broken(), ROBOT)
        with pytest.raises(InvalidValue):
            await container.recordings.put(episode, body(b"<html>"), ROBOT)
        with pytest.raises(NotFound):
            await container.recordings.find(episode)
        assert files(tmp_path) == set()

    run_service(tmp_path, use)


def test_an_upload_to_an_agent_that_is_deleted_meanwhile_leaves_nothing(tmp_path):
    async def use(container):
        episode = await robots_episode(container)

        async def slow():
            yield PNG + bytes(2_000_000)
            await container.registry.delete(episode.agent.id)
            yield b"rest"

        with pytest.raises(NotFound):
            await container.recordings.put(episode.id, slow(), ROBOT)
        while container.registry._purging:
            await asyncio.sleep(0.01)
        row = await container.database.read(
            recordings.recording_row, episode.agent.number, episode.number
        )
        assert row is None
        assert files(tmp_path) == set()

    run_service(tmp_path, use)


def test_a_recording_deleted_while_it_is_streamed_is_streamed_to_its_end(tmp_path):
    async def use(container):
        episode = (await robots_episode(container)).id
        await container.recordings.put(episode, body(PNG, bytes(3_000_000)), ROBOT)
        recording = await container.recordings.find(episode)
        chunks = await container.recordings.stream(episode, recording, 0, recording.size)
        first = await anext(chunks)
        await container.recordings.drop(episode, ROBOT)
        rest = [chunk async for chunk in chunks]
        assert first + b"".join(rest) == PNG + bytes(3_000_000)

    run_service(tmp_path, use)


def test_a_recording_whose_file_is_lost_is_not_found(tmp_path, caplog):
    async def use(container):
        episode = (await robots_episode(container)).id
        await container.recordings.put(episode, body(PNG), ROBOT)
        for path in (tmp_path / "plaudit.db.recordings").rglob("*-*"):
            path.unlink()
        with pytest.raises(NotFound):
            await content_of(container, episode)
        assert "a recording has no file" in caplog.messages

    run_service(tmp_path, use)


def test_orphans_are_swept_at_start_and_by_age_later(tmp_path):
    blobs = FolderBlobs(tmp_path / "plaudit.db.recordings")

    def orphan(agent, name):
        writer = blobs.create(f"{agent}/{name}")
        writer.write(b"orphan")
        writer.commit()

    async def before(container):
        episode = await robots_episode(container)
        await container.recordings.put(episode.id, body(PNG), ROBOT)
        kept = files(tmp_path)
        orphan(episode.agent.number, "0-orphan")
        orphan(1, "0-unknown")  # the agent of another database
        await container.recordings.sweep()
        assert files(tmp_path) == kept | {"0-orphan", "0-unknown"}  # an upload may be under way
        return kept

    async def after(container):
        return files(tmp_path)

    kept = run_service(tmp_path, before)
    assert run_service(tmp_path, after) == kept | {"0-unknown"}


def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    async def use(container):
        episode = (await robots_episode(container)).id
        monkeypatch.setattr("app.storage.blobs.folder.os.fdatasync", full)
        with pytest.raises(StorageUnavailable, match="No space left"):
            await container.recordings.put(episode, body(PNG), ROBOT)
        assert files(tmp_path) == set()

    run_service(tmp_path, use)
