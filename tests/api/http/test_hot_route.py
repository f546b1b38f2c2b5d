"""The route of the hot path refuses, at start-up, every endpoint that it would call wrongly."""

from typing import Annotated

import pytest
from fastapi import BackgroundTasks, Depends, FastAPI, Header, Query, Request, Response
from pydantic import BaseModel

from app.api.http.hot_route import HotRoute


class Body(BaseModel):
    state: int


async def plain(request: Request) -> str:
    return request.url.path


async def nested(request: Request, path: Annotated[str, Depends(plain)]) -> str:
    return path


def in_a_thread(request: Request) -> str:
    return ""


async def without_request() -> str:
    return ""


async def with_header(request: Request, x_name: Annotated[str, Header()] = "") -> str:
    return x_name


async def with_query(request: Request, limit: int = 1) -> str:
    return str(limit)


async def with_path(request: Request, name: str) -> str:
    return name


async def with_body(request: Request, other: Body) -> str:
    return ""


async def with_response(request: Request, response: Response) -> str:
    return ""


async def with_tasks(request: Request, tasks: BackgroundTasks) -> str:
    return ""


def declare(endpoint, path="/{name}", **options):
    """Declare an endpoint with the route of the hot path."""
    app = FastAPI()
    app.router.route_class = HotRoute
    app.post(path, **options)(endpoint)
    return app


def taking(dependency):
    async def endpoint(name: str, body: Body, found: Annotated[str, Depends(dependency)]) -> str:
        return found

    return endpoint


def test_a_dependency_that_takes_the_request_alone_is_served():
    assert declare(taking(plain)).routes


@pytest.mark.parametrize(
    ("dependency", "reason"),
    [
        (nested, "has dependencies of its own"),
        (in_a_thread, "is not `async def`"),
        (without_request, "does not take the request"),
        (with_header, "has header parameters"),
        (with_query, "has query parameters"),
        (with_path, "has path parameters"),
        (with_body, "body parameters"),
        (with_response, "has a Response parameter"),
        (with_tasks, "has a BackgroundTasks parameter"),
    ],
)
def test_any_other_dependency_is_refused_by_name(dependency, reason):
    with pytest.raises(TypeError, match=f"the dependency 'found' of endpoint .*{reason}"):
        declare(taking(dependency))


async def no_body(name: str) -> str:
    return name


async def other_name(name: str, step: Body) -> str:
    return name


async def with_number(name: int, body: Body) -> str:
    return str(name)


async def queried(name: str, body: Body, limit: Annotated[int, Query()] = 1) -> str:
    return name


def synchronous(name: str, body: Body) -> str:
    return name


@pytest.mark.parametrize(
    ("endpoint", "reason"),
    [
        (no_body, r"has the body parameters \[\]"),
        (other_name, r"has the body parameters \['step'\]"),
        (with_number, "path parameter 'name', which is not a str"),
        (queried, "has query parameters"),
        (synchronous, "is not `async def`"),
    ],
)
def test_any_other_endpoint_is_refused(endpoint, reason):
    with pytest.raises(TypeError, match=reason):
        declare(endpoint)


def test_a_dependency_of_the_route_that_the_endpoint_does_not_take_is_refused():
    with pytest.raises(TypeError, match="is not a parameter of the endpoint"):
        declare(taking(plain), dependencies=[Depends(plain)])


def test_another_status_is_refused():
    with pytest.raises(TypeError, match="status code 201"):
        declare(taking(plain), status_code=201)
