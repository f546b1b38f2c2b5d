"""Compression of large answers by `Accept-Encoding`: gzip or zstd, in a thread.

It belongs to the routes that read: steps have a route of their own, which does not come here.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterable, AsyncIterator
from typing import Protocol

import zstandard
from fastapi import Request, Response
from starlette.responses import StreamingResponse

SMALLEST = 1000  # bytes that are worth it
_TYPES = ("application/json", "application/x-ndjson", "text/csv", "application/problem+json")
_GZIP = 16 + zlib.MAX_WBITS


class _Compressor(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


async def compressed(request: Request, response: Response) -> Response:
    """The response, compressed as the client accepts it where that is worth its time."""
    encoding = _encoding(request.headers.get("accept-encoding", ""))
    content_type = response.headers.get("content-type", "").partition(";")[0]
    length = int(response.headers.get("content-length", SMALLEST))
    if (
        request.method != "GET"
        or content_type not in _TYPES
        or response.status_code != 200
        or length < SMALLEST
    ):
        return response
    response.headers.append("Vary", "Accept-Encoding")
    if encoding is None:
        return response
    answer: Response
    if isinstance(response, StreamingResponse):
        answer = StreamingResponse(_compress(response.body_iterator, encoding))
    else:
        answer = Response(await asyncio.to_thread(_whole, bytes(response.body), encoding))
    _describe(answer, response, encoding)
    return answer


def _describe(answer: Response, response: Response, encoding: str) -> None:
    """Give the compressed answer the headers of the plain one."""
    answer.raw_headers += [
        (name, value) for name, value in response.raw_headers if name != b"content-length"
    ]
    answer.headers["Content-Encoding"] = encoding
    tag = answer.headers.get("etag")
    if tag is not None and not tag.startswith("W/"):  # the bytes differ from the plain ones
        answer.headers["ETag"] = f"W/{tag}"


def _whole(content: bytes, encoding: str) -> bytes:
    compressor = _compressor(encoding)
    return compressor.compress(content) + compressor.flush()


def _compressor(encoding: str) -> _Compressor:
    if encoding == "zstd":
        return zstandard.ZstdCompressor(level=3).compressobj()
    return zlib.compressobj(6, zlib.DEFLATED, _GZIP)


async def _compress(
    body: AsyncIterable[bytes | memoryview | str], encoding: str
) -> AsyncIterator[bytes]:
    compressor = _compressor(encoding)
    async for chunk in body:
        data = chunk.encode() if isinstance(chunk, str) else bytes(chunk)
        if part := await asyncio.to_thread(compressor.compress, data):
            yield part
    yield await asyncio.to_thread(compressor.flush)


def _encoding(accepted: str) -> str | None:
    """The better of the encodings that a client accepts."""
    weights: dict[str, float] = {}
    for part in accepted.lower().split(","):
        name, _, parameter = part.partition(";")
        weight = parameter.strip().removeprefix("q=")
        try:
            weights[name.strip()] = float(weight) if weight else 1.0
        except ValueError:
            weights[name.strip()] = 0.0
    offered = {name: weights.get(name, weights.get("*", 0.0)) for name in ("zstd", "gzip")}
    best = max(offered, key=lambda name: offered[name])
    return best if offered[best] > 0 else None
