"""JSON bodies: check the caller, then the type and size, then parse."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.exceptions import HTTPException

from app.api.http.compression import compressed
from app.errors import InvalidValue

LARGE_BODY = 50_000  # bytes; takes about a millisecond to parse
_JSON = re.compile(r"\s*application/(json|[\w.+-]+\+json)\s*(;|$)", re.IGNORECASE)


def check_json(request: Request) -> None:
    """Refuse a body that is not JSON with 415.

    This also refuses forms of other sites: browsers send JSON to another site only after a
    preflight request.
    """
    kind = request.headers.get("content-type", "")
    if kind != "application/json" and not _JSON.match(kind):
        given = f"got {kind[:80]!r}" if kind else "the header is missing"
        raise HTTPException(415, f"Content-Type: expected application/json, {given}.")


def query_names(dependant: Dependant) -> set[str]:
    """The query parameters of an endpoint and of its dependencies."""
    names = {field.alias for field in dependant.query_params}
    return names.union(*(query_names(inner) for inner in dependant.dependencies))


def check_query(request: Request, known: Collection[str]) -> None:
    """Refuse query parameters that the route does not have: they would change nothing, silently."""
    if not request.scope["query_string"]:
        return
    for name in request.query_params:
        if name not in known:
            taken = f"one of {', '.join(sorted(known))}" if known else "no query parameters"
            raise InvalidValue(f"?{name[:80]}", f"{taken}; this one is unknown")


class JsonRoute(APIRoute):
    """An API route that checks the caller before it reads the body.

    FastAPI parses a body before it resolves dependencies, so a client without a key could make the
    server parse megabytes. Large bodies are parsed in a thread, one at a time.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, with the checks in front of it."""
        handle = super().get_route_handler()
        known = query_names(self.dependant)

        async def handled(request: Request) -> Response:
            await self.check(request)
            check_query(request, known)
            if self.body_field is not None:
                await self._read_body(request)
            return await compressed(request, await handle(request))

        return handled

    async def check(self, request: Request) -> Any:
        """Check the caller, before all else; returns it."""
        caller = None
        for dependency in self.dependant.dependencies:
            if hasattr(dependency.call, "guards"):
                assert dependency.call is not None
                caller = await dependency.call(request)
        return caller

    async def _read_body(self, request: Request) -> None:
        content = await request.body()
        if content:
            check_json(request)
        if len(content) > LARGE_BODY:
            async with request.app.state.large_bodies:
                # FastAPI takes what `request.json()` returns, and accepts a model as it is.
                request._json = await asyncio.to_thread(self._parse, content)

    def _parse(self, content: bytes) -> Any:
        """Parse and validate a body."""
        assert self.body_field is not None
        try:
            plain = from_json(content)
        except ValueError as error:
            raise json_invalid(str(error)) from error
        value, errors = self.body_field.validate(plain, {}, loc=("body",))
        if errors:
            raise RequestValidationError(errors, body=plain)
        return value


def json_invalid(reason: str) -> RequestValidationError:
    """The error of a body that is not valid JSON."""
    context = {"error": reason}
    return RequestValidationError(
        [{"type": "json_invalid", "loc": ("body",), "msg": "", "ctx": context}]
    )
