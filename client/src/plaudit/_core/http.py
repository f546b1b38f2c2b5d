"""Performing effects with httpx: one class that blocks and one that is async."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Iterator

import httpx

from plaudit._core.exchange import Answered, Effect, Emit, Open, ReadLine, Send, Sleep, Unreachable
from plaudit._core.flow import Reply, Request

_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_CONNECT_SECONDS = 5.0
_QUIET_SECONDS = 50.0  # the event stream sends a comment every 15 seconds


def unreachable(error: httpx.RequestError) -> Unreachable:
    """What a failed try says about the next one."""
    kind, reason = type(error).__name__, str(error)
    sent = not isinstance(error, _NEVER_SENT)
    return Unreachable(
        f"{kind}: {reason}" if reason else kind,
        sent=sent,
        timed_out=sent and isinstance(error, httpx.TimeoutException),
        hopeless=_is_certificate_refused(error),
    )


def _is_certificate_refused(error: BaseException | None) -> bool:
    """Whether the server's certificate was refused, which no later try changes."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _build(
    http: httpx.Client | httpx.AsyncClient, request: Request, read_seconds: float
) -> httpx.Request:
    return http.build_request(
        request.method,
        request.path,
        params=dict(request.query) or None,
        headers=dict(request.headers),
        content=request.content,
        timeout=httpx.Timeout(read_seconds, connect=min(read_seconds, _CONNECT_SECONDS)),
    )


def _reply(response: httpx.Response, content: bytes) -> Reply:
    return Reply(response.status_code, response.headers, content)


class BlockingPerformer:
    """Performs effects on an `httpx.Client`. It holds at most one open stream."""

    def __init__(self, http: httpx.Client, timeout: float) -> None:
        self._http = http
        self._timeout = timeout
        self._stream: httpx.Response | None = None
        self._lines: Iterator[str] = iter(())

    def perform(self, effect: Effect | Emit[object]) -> Answered:
        """Do what an effect says; what it is answered with."""
        try:
            if isinstance(effect, Send):
                response = self._http.send(_build(self._http, effect.request, self._timeout))
                return _reply(response, response.content)
            if isinstance(effect, Open):
                return self._open(effect.request)
            if isinstance(effect, ReadLine):
                return next(self._lines, None)
            if isinstance(effect, Sleep):
                time.sleep(effect.seconds)
        except httpx.RequestError as error:
            raise unreachable(error) from error
        return None

    def close(self) -> None:
        """Close the open stream, if there is one."""
        if self._stream is not None:
            self._stream.close()

    def _open(self, request: Request) -> Reply:
        self.close()
        response = self._http.send(_build(self._http, request, _QUIET_SECONDS), stream=True)
        self._stream, self._lines = response, response.iter_lines()
        return _reply(response, b"" if response.is_success else response.read())


class AsyncPerformer:
    """Performs effects on an `httpx.AsyncClient`. It holds at most one open stream."""

    def __init__(self, http: httpx.AsyncClient, timeout: float) -> None:
        self._http = http
        self._timeout = timeout
        self._stream: httpx.Response | None = None
        self._lines: AsyncIterator[str] | None = None

    async def perform(self, effect: Effect | Emit[object]) -> Answered:
        """Do what an effect says; what it is answered with."""
        try:
            if isinstance(effect, Send):
                response = await self._http.send(_build(self._http, effect.request, self._timeout))
                return _reply(response, response.content)
            if isinstance(effect, Open):
                return await self._open(effect.request)
            if isinstance(effect, ReadLine) and self._lines is not None:
                return await anext(self._lines, None)
            if isinstance(effect, Sleep):
                await asyncio.sleep(effect.seconds)
        except httpx.RequestError as error:
            raise unreachable(error) from error
        return None

    async def close(self) -> None:
        """Close the open stream, if there is one."""
        if self._stream is not None:
            await self._stream.aclose()

    async def _open(self, request: Request) -> Reply:
        await self.close()
        response = await self._http.send(_build(self._http, request, _QUIET_SECONDS), stream=True)
        self._stream, self._lines = response, response.aiter_lines()
        return _reply(response, b"" if response.is_success else await response.aread())
