"""Recordings: what a camera or a simulator saw of an episode."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Union

from plaudit._core.flow import Flow, Request
from plaudit._core.parsing import parse
from plaudit.answers.episodes import RecordingView
from plaudit.endpoints.body import check_removed, path

Content = Union[bytes, bytearray, memoryview, "os.PathLike[str]", str]
"""The bytes of a picture or a video, or the path of a file that holds them."""


def put_recording(episode: str, content: Content) -> Flow[RecordingView]:
    """Attach a picture or a video (PNG, JPEG, GIF, WebP, MP4, WebM), in place of the one before."""
    if isinstance(content, (bytes, bytearray, memoryview)):
        data = bytes(content)
    else:
        data = Path(content).read_bytes()
    headers = {"Content-Type": "application/octet-stream"}
    where = path("episodes", episode, "recording")
    reply = yield Request("PUT", where, headers=headers, content=data)
    return parse(RecordingView, reply.json())


def read_recording(episode: str) -> Flow[bytes]:
    """The bytes of a recording."""
    reply = yield Request("GET", path("episodes", episode, "recording"))
    return reply.check().content


def remove_recording(episode: str) -> Flow[None]:
    """Remove a recording; the episode stays."""
    reply = yield Request("DELETE", path("episodes", episode, "recording"))
    check_removed(reply)
