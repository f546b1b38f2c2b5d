"""Recordings: a picture or a video of an episode, for the people who judge it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from starlette.exceptions import HTTPException

from app.api.http.auth import Actor, EpisodeReader, RecordingRemover
from app.api.http.dependencies import RecordingBytes, Recordings
from app.api.http.parameters import EpisodeId
from app.api.openapi.responses import declared
from app.service.episodes.media_types import MEDIA_TYPES
from app.service.episodes.recordings import Recording
from app.service.runtime.times import moment
from app.wire.episodes import RecordingView

router = APIRouter(prefix="/v1/episodes/{episode}/recording", tags=["recordings"])

_RANGE = re.compile(r"bytes=([0-9]{0,15})-([0-9]{0,15})")
_BYTES = {"schema": {"type": "string", "format": "binary"}, "example": "the bytes of the file"}
_CONTENT = dict.fromkeys(MEDIA_TYPES, _BYTES)
# Even if a file with HTML passed the type check, the browser would not run its scripts.
_SAFE = {
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
            "description": f"One of {', '.join(MEDIA_TYPES)}, detected from the content.",
            "required": True,
            "content": {"application/octet-stream": _BYTES},
        }
    },
)
async def put_recording(
    request: Request,
    episode: EpisodeId,
    recordings: Recordings,
    largest: RecordingBytes,
    caller: Actor,
) -> RecordingView:
    """Attach a picture or a video. The file type is detected from its content.

    Only the key that started the episode, an operator or an admin can replace a recording.
    """
    content = _bounded(request.stream(), largest)
    return _view(episode, await recordings.put(episode, content, caller))


@router.get(
    "",
    summary="Watch a recording",
    response_class=Response,
    responses={
        200: {"description": "The whole recording", "content": _CONTENT},
        206: {"description": "The part that `Range` asked for", "content": _CONTENT},
        304: {"description": "The recording has not changed since `If-None-Match`"},
        **declared(404, 416, 503),
    },
)
async def read_recording(
    request: Request, episode: EpisodeId, recordings: Recordings, _: EpisodeReader
) -> Response:
    """The recording, or the part of it that `Range` asks for."""
    recording = await recordings.find(episode)
    tag = f'"{recording.blob.rpartition("/")[2]}"'
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
    chunks = await recordings.stream(episode, recording, first, length)
    return StreamingResponse(chunks, status, headers)


@router.delete("", status_code=204, summary="Remove a recording", responses=declared(404, 503))
async def remove_recording(
    episode: EpisodeId, recordings: Recordings, caller: RecordingRemover
) -> None:
    """Delete the recording; the episode stays."""
    await recordings.drop(episode, caller)


def _view(episode: str, recording: Recording) -> RecordingView:
    return RecordingView.model_validate(
        {
            "episode": episode,
            "media_type": recording.media_type,
            "size": recording.size,
            "at": moment(recording.at),
        }
    )


def _part(wanted: str, size: int) -> range | None:
    """The bytes of a Range header; None, for the whole file, if the header is of another form."""
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
        detail = f"The recording has {size} bytes."
        raise HTTPException(416, detail, {"Content-Range": f"bytes */{size}"})
    return range(first, min(last, size - 1) + 1)


async def _bounded(content: AsyncIterator[bytes], largest: int) -> AsyncIterator[bytes]:
    """The body; 413 once it exceeds the largest recording."""
    size = 0
    async for chunk in content:
        size += len(chunk)
        if size > largest:
            detail = f"A recording may have at most {largest} bytes (PLAUDIT_RECORDING_BYTES)."
            raise HTTPException(413, detail)
        yield chunk
