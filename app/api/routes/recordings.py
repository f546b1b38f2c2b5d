"""Recordings: what a camera or a simulator saw of an episode, for the people who judge it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from starlette.exceptions import HTTPException

from app.api.http.auth import ACT, READ_EPISODES, TheContainer, guard
from app.api.http.parameters import EpisodeId
from app.api.http.problems import declared
from app.errors import NotFound
from app.service.access.keys import Caller
from app.service.episodes.recordings import MEDIA_TYPES, Recording
from app.service.runtime.container import Container
from app.service.views.wire_views import moment
from app.wire.episodes import RecordingView

router = APIRouter(prefix="/v1/episodes/{episode}/recording", tags=["recordings"])

_AT_ONCE = 4_000_000  # bytes read at once
_RANGE = re.compile(r"bytes=([0-9]{0,15})-([0-9]{0,15})")
_BYTES = {"schema": {"type": "string", "format": "binary"}, "example": "the bytes of the file"}
_CONTENT = dict.fromkeys(MEDIA_TYPES, _BYTES)
# Even if somebody got a page past the check of the type: it runs nothing and asks for nothing.
_SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Disposition": "inline",
    "Cache-Control": "private, no-cache",
    "Accept-Ranges": "bytes",
}


@router.put(
    "",
    summary="Attach a recording",
    responses=declared(404, 413, 422, 503),
    openapi_extra={
        "requestBody": {
            "description": f"One of {', '.join(MEDIA_TYPES)}, whatever the request calls it.",
            "required": True,
            "content": {"application/octet-stream": _BYTES},
        }
    },
)
async def put_recording(
    request: Request, episode: EpisodeId, host: TheContainer, _: Annotated[Caller, guard(ACT)]
) -> RecordingView:
    """A picture or a video, in place of the one before. What it is is told by its content."""
    content = await request.body()
    largest = host.settings.recording_bytes
    if len(content) > largest:
        detail = f"a recording may have {largest} bytes (PLAUDIT_RECORDING_BYTES)"
        raise HTTPException(413, detail)
    return _view(episode, await host.recordings.put(episode, content))


@router.get(
    "",
    summary="Watch a recording",
    response_class=Response,
    responses={
        200: {"description": "The whole recording", "content": _CONTENT},
        206: {"description": "The part that `Range` asked for", "content": _CONTENT},
        304: {"description": "It is what `If-None-Match` named"},
        **declared(404, 416, 503),
    },
)
async def read_recording(
    request: Request,
    episode: EpisodeId,
    host: TheContainer,
    _: Annotated[Caller, guard(READ_EPISODES)],
) -> Response:
    """The recording, or a part of it: videos can be searched."""
    recording = await _found(host, episode)
    tag = f'"{recording.at:x}-{recording.size:x}"'
    headers = {**_SAFE, "ETag": tag, "Content-Type": recording.media_type}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={**_SAFE, "ETag": tag})
    wanted = request.headers.get("range")
    if request.headers.get("if-range", tag) != tag:
        wanted = None
    part = None if wanted is None else _part(wanted, recording.size)
    if part is None:
        first, length, status = 0, recording.size, 200
    else:
        first, length, status = part.start, len(part), 206
        headers["Content-Range"] = f"bytes {first}-{part.stop - 1}/{recording.size}"
    headers["Content-Length"] = str(length)
    return StreamingResponse(_pieces(host, episode, first, length), status, headers)


@router.delete("", status_code=204, summary="Remove a recording", responses=declared(404, 503))
async def remove_recording(
    episode: EpisodeId, host: TheContainer, _: Annotated[Caller, guard(ACT)]
) -> None:
    """The episode stays."""
    await host.recordings.drop(episode)


def _view(episode: str, recording: Recording) -> RecordingView:
    return RecordingView.model_validate(
        {
            "episode": episode,
            "media_type": recording.media_type,
            "size": recording.size,
            "at": moment(recording.at),
        }
    )


async def _found(host: Container, episode: str) -> Recording:
    recording = await host.recordings.find(episode)
    if recording is None:
        raise NotFound("recording of", episode)
    return recording


def _part(wanted: str, size: int) -> range | None:
    """The bytes that one range names; None, which means everything, for what is no such range."""
    match = _RANGE.fullmatch(wanted.strip())
    if match is None or not (match[1] or match[2]):
        return None
    if match[1]:
        first, last = int(match[1]), int(match[2] or size - 1)
        if match[2] and last < first:
            return None
    else:
        first, last = max(size - int(match[2]), 0), size - 1
        first = size if int(match[2]) == 0 else first
    if first >= size:
        detail = f"the recording has {size} bytes"
        raise HTTPException(416, detail, {"Content-Range": f"bytes */{size}"})
    return range(first, min(last, size - 1) + 1)


async def _pieces(host: Container, episode: str, first: int, length: int) -> AsyncIterator[Any]:
    """The content, a few megabytes at a time."""
    for place in range(first, first + length, _AT_ONCE):
        rest = first + length - place
        yield await host.recordings.read(episode, place, min(rest, _AT_ONCE))
