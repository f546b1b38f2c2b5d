"""The OpenAPI document: FastAPI's own, with exact problems, examples and security added."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from app.api.openapi import examples
from app.api.openapi.responses import declared
from app.wire.agents import DEFAULT_KIND
from app.wire.problems import Problem

ABOUT = """
Agents that learn from **one good/bad verdict at the end of an episode**.

1. `POST /v1/agents`: describe the states and actions.
2. `POST /v1/agents/{agent}/episodes`: start an episode.
3. `POST /v1/episodes/{episode}/steps`: send a state, get an action; again until `last`,
   or `finish` when the environment ends it.
4. `POST /v1/episodes/{episode}/label`: one verdict, now or much later. The agent learns from it and
   makes a new plan before the next episode.

Errors are `application/problem+json`. Every POST that creates something takes an `Idempotency-Key`.
Every response has an `X-Request-ID`: that of the request, if it has one.
"""

TAGS = [
    {"name": "agents", "description": "Create, list, change and delete agents."},
    {"name": "episodes", "description": "Start, send states and get actions, finish, read."},
    {"name": "labels", "description": "One verdict for an episode, now or later; corrections."},
    {
        "name": "recordings",
        "description": "A picture or a video of an episode, for the people who judge it.",
    },
    {"name": "fleets", "description": "Many steps in one call; logged episodes in and out."},
    {"name": "insight", "description": "What an agent has learned and what it would do."},
    {"name": "demos", "description": "Built-in tasks that the server plays itself."},
    {"name": "keys", "description": "Who may do what."},
    {"name": "webhooks", "description": "URLs that are told of what happens."},
    {"name": "operations", "description": "Liveness, readiness and metrics."},
]

_BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": "A key: `Authorization: Bearer …`. A server whose keys are off needs none.",
}
_UNUSED = ("HTTPValidationError", "ValidationError")


def operation_name(route: APIRoute) -> str:
    """The operation id, for generated clients: the name of the function."""
    return route.name


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document; it is built once."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
            tags=TAGS,
            servers=[{"url": app.root_path}] if app.root_path else None,
        )
        components = document.setdefault("components", {})
        schemas = components.setdefault("schemas", {})
        problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= problem.pop("$defs", {}) | {"Problem": problem}
        for unused in _UNUSED:
            schemas.pop(unused, None)
        components["securitySchemes"] = {"Bearer": _BEARER}
        _require_kinds(schemas)
        for name, example in examples.SCHEMAS.items():
            schemas[name]["examples"] = [example]
        for operation in _operations(document):
            _complete(operation)
        app.openapi_schema = document
    return app.openapi_schema


def _operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in document["paths"].values():
        yield from path.values()


def _require_kinds(schemas: dict[str, Any]) -> None:
    """Require `kind` in the members of unions; only the algorithm has a default."""
    for choice in _choices(schemas):
        for kind, reference in choice["discriminator"]["mapping"].items():
            if kind != DEFAULT_KIND:
                chosen = schemas[reference.rpartition("/")[2]]
                chosen["required"] = sorted({*chosen.get("required", []), "kind"})
                chosen["properties"]["kind"].pop("default", None)


def _choices(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        if "discriminator" in part:
            yield part
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from _choices(inner)


def _complete(operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    found = responses.get("422", {}).get("content", {})
    if "application/json" in found:  # FastAPI's default, for routes that cannot answer 422
        del responses["422"]
    if "requestBody" in operation:
        responses |= {str(k): v for k, v in declared(400).items()}
    if "401" in responses:
        operation["security"] = [{"Bearer": []}]
    operation["responses"] = dict(sorted(responses.items()))
    _show_example(operation.get("requestBody", {}))
    for response in responses.values():
        _show_example(response, examples.ANSWERS.get(operation["operationId"]))


def _show_example(body: dict[str, Any], better: dict[str, Any] | None = None) -> None:
    """Copy the example of a body's schema to the body, where every tool finds it."""
    content = body.get("content", {}).get("application/json")
    if content is None:
        return
    choices = [content["schema"], *content["schema"].get("anyOf", [])]
    names = [choice["$ref"].rpartition("/")[2] for choice in choices if "$ref" in choice]
    if names:
        content["example"] = better or examples.SCHEMAS[names[0]]
