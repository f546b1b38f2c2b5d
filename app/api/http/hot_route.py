"""The hot path's route: declared like any other, served without the cost of solving dependencies.

FastAPI walks a tree of dependencies, reads a body twice and validates what an endpoint returns. For
a step that is most of the time there is. This route does the same for an endpoint of one shape: it
takes the request, the path's parameters, one body and guards, and returns a model or plain values.
"""

from __future__ import annotations

from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_json
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

_JSON = (b"content-type", b"application/json")


class HotRoute(APIRoute):
    """Serves `async def endpoint(request, *path, body, *guards) -> model or values`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.body_field is not None:  # an endpoint of another shape is served as usual
            kind: Any = self.body_field.field_info.annotation
            self._read = TypeAdapter(kind).validate_json
            self._guards: list[tuple[str, Any]] = [
                (str(guard.name), guard.call) for guard in self.dependant.dependencies
            ]

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if self.body_field is None or scope["method"] not in (self.methods or ()):
            await super().handle(scope, receive, send)
            return
        request = Request(scope, receive, send)
        values: dict[str, Any] = dict(scope["path_params"])
        for name, guard in self._guards:
            values[name] = await guard(request)
        body = self._body(request, await request.body())
        answer = await self.endpoint(request=request, body=body, **values)
        if isinstance(answer, BaseModel):
            content = answer.__pydantic_serializer__.to_json(answer, exclude_unset=True)
        else:
            content = to_json(answer)
        headers = [_JSON, (b"content-length", b"%d" % len(content))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    def _body(self, request: Request, content: bytes) -> Any:
        """The body, checked; what is wrong with it is told as for every other route."""
        kind = request.headers.get("content-type", "")
        if not kind.startswith("application/") or "json" not in kind:
            # Also what keeps another site's form from posting here.
            raise RequestValidationError([_error("missing", (), "a body of application/json")])
        try:
            return self._read(content)
        except ValidationError as error:
            problems = error.errors(include_url=False, include_context=True)
            if problems[0]["type"] == "json_invalid":
                reason = problems[0]["ctx"]["error"]
                raise RequestValidationError([_error("json_invalid", (), "", reason)]) from error
            found = [{**one, "loc": ("body", *one["loc"])} for one in problems]
            raise RequestValidationError(found, body=_plain(content)) from error


def _plain(content: bytes) -> Any:
    """The body as plain values, to point at what is wrong with it."""
    return TypeAdapter(Any).validate_json(content)


def _error(kind: str, loc: tuple[str, ...], message: str, reason: str = "") -> dict[str, Any]:
    return {"type": kind, "loc": ("body", *loc), "msg": message, "ctx": {"error": reason}}
