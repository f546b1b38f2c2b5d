"""A route for the hot path: declared like any other, without FastAPI's dependency resolution.

FastAPI walks a tree of dependencies, parses the body twice and validates the return value. For a
step this takes most of the request's time. This route serves endpoints of one shape: optionally the
request, string path parameters, one JSON body named ``body``, and dependencies that take the
request alone. It returns a model or plain values. Any other endpoint is refused at start-up.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_json
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from app.api.http.json_body import LARGE_BODY, check_json, check_query, json_invalid

_JSON = (b"content-type", b"application/json")
_UNSUPPORTED = {
    "query_params": "query parameters",
    "header_params": "header parameters",
    "cookie_params": "cookie parameters",
    "websocket_param_name": "a WebSocket parameter",
    "http_connection_param_name": "an HTTPConnection parameter",
    "response_param_name": "a Response parameter",
    "background_tasks_param_name": "a BackgroundTasks parameter",
    "security_scopes_param_name": "a SecurityScopes parameter",
}


class HotRoute(APIRoute):
    """Serves ``async def endpoint([request], *path, body, *dependencies) -> model or values``.

    A dependency is ``async def dependency(request)``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _check_endpoint(self)
        assert self.body_field is not None  # checked
        schema: Any = self.body_field.field_info.annotation
        self._read = TypeAdapter(schema).validate_json
        self._takes_request = self.dependant.request_param_name is not None
        self._dependencies: list[tuple[str, Any]] = [
            (str(dependency.name), dependency.call) for dependency in self.dependant.dependencies
        ]

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] not in (self.methods or ()):
            await super().handle(scope, receive, send)
            return
        request = Request(scope, receive, send)
        values: dict[str, Any] = dict(scope["path_params"])
        for name, dependency in self._dependencies:
            values[name] = await dependency(request)
        if scope["query_string"]:
            check_query(request, ())
        if self._takes_request:
            values["request"] = request
        content = await request.body()
        if content:
            check_json(request)
        if len(content) <= LARGE_BODY:
            body = self._parse(content)
        else:
            async with request.app.state.large_bodies:
                body = await asyncio.to_thread(self._parse, content)
        answer = await self.endpoint(body=body, **values)
        if isinstance(answer, BaseModel):
            content = answer.__pydantic_serializer__.to_json(answer, exclude_unset=True)
        else:
            content = to_json(answer)
        headers = [_JSON, (b"content-length", b"%d" % len(content))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    def _parse(self, content: bytes) -> Any:
        """The validated body. Errors are the same as those of every other route."""
        try:
            return self._read(content)
        except ValidationError as error:
            problems = error.errors(include_url=False, include_context=True)
            if problems[0]["type"] == "json_invalid":
                raise json_invalid(problems[0]["ctx"]["error"]) from error
            found = [{**problem, "loc": ("body", *problem["loc"])} for problem in problems]
            plain = TypeAdapter(Any).validate_json(content)
            raise RequestValidationError(found, body=plain) from error


def _check_endpoint(route: HotRoute) -> None:
    """Refuse an endpoint that this route would call with missing or wrong arguments."""
    name, dependant = route.name, route.dependant
    _check(inspect.iscoroutinefunction(route.endpoint), name, "is not `async def`")
    _check(route.status_code in (None, 200), name, f"has the status code {route.status_code}")
    _check_parameters(name, dependant)
    _check(dependant.request_param_name in (None, "request"), name, "renames the request")
    for path in dependant.path_params:
        is_text = path.field_info.annotation is str
        _check(is_text, name, f"has the path parameter {path.name!r}, which is not a str")
    bodies = [body.name for body in dependant.body_params]
    _check(bodies == ["body"], name, f"has the body parameters {bodies}, not ['body']")
    for dependency in dependant.dependencies:
        _check_dependency(f"the dependency {dependency.name!r} of {name}", dependency)


def _check_dependency(name: str, dependency: Dependant) -> None:
    _check(dependency.name is not None, name, "is not a parameter of the endpoint")
    _check(inspect.iscoroutinefunction(dependency.call), name, "is not `async def`")
    _check(not dependency.dependencies, name, "has dependencies of its own")
    _check(not dependency.path_params, name, "has path parameters")
    _check(not dependency.body_params, name, "has body parameters")
    _check(dependency.request_param_name is not None, name, "does not take the request")
    _check_parameters(name, dependency)


def _check_parameters(name: str, dependant: Dependant) -> None:
    for field, words in _UNSUPPORTED.items():
        _check(not getattr(dependant, field), name, f"has {words}")


def _check(condition: bool, name: str, fault: str) -> None:
    if not condition:
        raise TypeError(
            f"HotRoute cannot serve this endpoint: {name} {fault}. Use APIRoute for it."
        )
