"""What a request created: where it is, and how OpenAPI says so."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from app.api.http.problems import declared


def location(request: Request, path: str) -> str:
    """The address of what was created, under the path that a proxy serves this server at."""
    return f"{request.scope.get('root_path', '')}{path}"


def created(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The answers of a route that creates something, for OpenAPI."""
    where = {"description": "where it is", "schema": {"type": "string"}}
    return {201: {"headers": {"Location": where}}, **declared(*statuses)}
