"""Descriptors that turn one flow into a blocking method and an async one.

`Client` and `AsyncClient` inherit the same attributes. On an owner that is `Blocking` a call
returns its result; on one that is `Asynchronous` it returns a coroutine. Type checkers see the
signature of the flow in both.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from plaudit._core.exchange import Lines
from plaudit._core.flow import Flow
from plaudit._core.session import AsyncSession, BlockingSession, Pager

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Source = Pager[T] | Lines[T]


class Blocking:
    """An owner of calls that waits for them."""

    _session: BlockingSession


class Asynchronous:
    """An owner of calls that are awaited."""

    _session: AsyncSession


class Call(Generic[P, R]):
    """A method that runs a flow; ``flow`` takes its owner first."""

    def __init__(self, flow: Callable[..., Flow[R]], described: Callable[..., object]) -> None:
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            return self._session.run(flow(self, *args, **kwargs))

        self._function = _like(run, described)

    @overload
    def __get__(self, owner: Blocking, kind: type) -> Callable[P, R]: ...

    @overload
    def __get__(self, owner: Asynchronous, kind: type) -> Callable[P, Coroutine[Any, Any, R]]: ...

    @overload
    def __get__(self, owner: None, kind: type) -> Callable[..., Any]: ...

    def __get__(self, owner: object, kind: type) -> Callable[..., Any]:
        return self._function if owner is None else MethodType(self._function, owner)


class Listing(Generic[P, T]):
    """A method that iterates over a list or a stream; ``start`` takes its owner first."""

    def __init__(self, start: Callable[..., Source[T]], described: Callable[..., object]) -> None:
        def iterate(self: Any, *args: Any, **kwargs: Any) -> Any:
            return self._session.iterate(start(self, *args, **kwargs))

        self._function = _like(iterate, described)

    @overload
    def __get__(self, owner: Blocking, kind: type) -> Callable[P, Iterator[T]]: ...

    @overload
    def __get__(self, owner: Asynchronous, kind: type) -> Callable[P, AsyncIterator[T]]: ...

    @overload
    def __get__(self, owner: None, kind: type) -> Callable[..., Any]: ...

    def __get__(self, owner: object, kind: type) -> Callable[..., Any]:
        return self._function if owner is None else MethodType(self._function, owner)


def call(flow: Callable[P, Flow[R]]) -> Call[P, R]:
    """A method of a client that runs the flow of an endpoint."""
    return Call(_without_owner(flow), flow)


def method(flow: Callable[Concatenate[Any, P], Flow[R]]) -> Call[P, R]:
    """Decorator: a method that is written as a flow."""
    return Call(flow, flow)


def listing(start: Callable[P, Source[T]]) -> Listing[P, T]:
    """A method of a client that iterates over what an endpoint lists."""
    return Listing(_without_owner(start), start)


def listing_method(start: Callable[Concatenate[Any, P], Source[T]]) -> Listing[P, T]:
    """Decorator: a method that iterates over what its function lists."""
    return Listing(start, start)


def _without_owner(flow: Callable[..., R]) -> Callable[..., R]:
    return lambda _, *args, **kwargs: flow(*args, **kwargs)


def _like(function: Callable[..., Any], described: Callable[..., object]) -> Callable[..., Any]:
    """The function with the name, docstring and parameters of another, for `help` and editors."""
    update_wrapper(function, described)
    parameters = list(signature(described).parameters.values())
    if not parameters or parameters[0].name != "self":
        parameters.insert(0, Parameter("self", Parameter.POSITIONAL_ONLY))
    function.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return function
