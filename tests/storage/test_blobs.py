"""Blobs in a folder: whole or absent, bounded to their folder, listed, deleted."""

import time

import pytest

from app.errors import NotFound, StorageUnavailable
from app.storage.blobs.folder import FolderBlobs
from app.storage.blobs.recordings import agent_of, new_recording_name, recordings_folder


@pytest.fixture
def blobs(tmp_path):
    return FolderBlobs(tmp_path / "blobs")


def put(blobs, name, *chunks):
    writer = blobs.create(name)
    for chunk in chunks:
        writer.write(chunk)
    writer.commit()


def names(blobs, prefix=""):
    return {blob.name for blob in blobs.list(prefix)}


def files(blobs):
    return [path for path in blobs.folder.rglob("*") if path.is_file()]


def test_a_blob_is_read_in_parts(blobs):
    put(blobs, "7/1-a", b"hello ", b"world")
    with blobs.open("7/1-a") as reader:
        assert reader.read(0, 100) == b"hello world"
        assert reader.read(6, 2) == b"wo"
        assert reader.read(11, 5) == b""
    (blob,) = blobs.list()
    assert (blob.name, blob.size) == ("7/1-a", 11)
    assert abs(blob.modified_at - time.time()) < 60


def test_nobody_sees_a_blob_before_its_commit(blobs):
    writer = blobs.create("7/1-a")
    writer.write(b"half")
    assert names(blobs) == set()
    with pytest.raises(NotFound):
        blobs.open("7/1-a").__enter__()
    writer.abort()
    assert files(blobs) == []


def test_abort_after_commit_changes_nothing(blobs):
    writer = blobs.create("7/1-a")
    writer.commit()
    writer.abort()
    assert names(blobs) == {"7/1-a"}


def test_a_crash_leaves_what_can_be_discarded_by_age(blobs):
    writer = blobs.create("7/1-a")
    writer.write(b"half")
    blobs.discard_unfinished(before=time.time() - 60)
    assert len(files(blobs)) == 1
    blobs.discard_unfinished(before=time.time() + 60)
    assert files(blobs) == []
    writer.abort()


def test_a_deleted_blob_stays_readable_where_it_is_open(blobs):
    put(blobs, "7/1-a", b"content")
    with blobs.open("7/1-a") as reader:
        blobs.delete("7/1-a")
        assert reader.read(0, 7) == b"content"
    assert names(blobs) == set()
    assert not (blobs.folder / "7").exists()
    blobs.delete("7/1-a")  # again: nothing to do


def test_blobs_are_listed_by_prefix(blobs):
    for name in ("7/1-a", "7/2-b", "77/1-c", "8/1-d"):
        put(blobs, name, b"x")
    (blobs.folder / "7" / "notes.txt").write_text("not a blob")
    assert names(blobs, "7/") == {"7/1-a", "7/2-b"}
    assert names(blobs) == {"7/1-a", "7/2-b", "77/1-c", "8/1-d"}
    assert names(FolderBlobs(blobs.folder / "missing")) == set()


@pytest.mark.parametrize("name", ["", "/etc/x", "../x", "a/../b", "a//b", ".unfinished/x", "a.b"])
def test_a_name_cannot_leave_the_folder(blobs, name):
    for use in (blobs.create, blobs.delete, lambda name: blobs.open(name).__enter__()):
        with pytest.raises(ValueError, match="not the name of a blob"):
            use(name)


def test_a_folder_that_cannot_be_written_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageUnavailable, match="cannot be written"):
        FolderBlobs(tmp_path / "file").create("7/1-a")


def test_recordings_are_beside_the_database_unless_a_folder_is_chosen(tmp_path):
    url = f"sqlite:///{tmp_path / 'plaudit.db'}"
    assert recordings_folder(url, None) == tmp_path / "plaudit.db.recordings"
    assert recordings_folder(url, str(tmp_path / "films")) == tmp_path / "films"
    (tmp_path / "link.db").symlink_to(tmp_path / "plaudit.db")
    linked = f"sqlite:///{tmp_path / 'link.db'}"
    assert recordings_folder(linked, None) == tmp_path / "plaudit.db.recordings"


def test_the_name_of_a_recording_has_its_agent():
    assert agent_of(new_recording_name(12, 3)) == 12
    assert new_recording_name(12, 3) != new_recording_name(12, 3)
    assert agent_of("x/1") is None
    assert agent_of("12") is None
