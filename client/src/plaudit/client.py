"""Clients: `Client` waits for the server, the calls of `AsyncClient` are awaited."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, overload

from plaudit._core.calls import Asynchronous, Blocking, Call
from plaudit._core.connection import connection
from plaudit._core.flow import Flow
from plaudit._core.session import AsyncSession, BlockingSession, Options
from plaudit.agent import Agent, AsyncAgent
from plaudit.answers.agents import AgentView
from plaudit.calls import Calls
from plaudit.episode import AsyncEpisode, Episode
from plaudit.lookup import find_or_create_agent

if TYPE_CHECKING:
    from plaudit.offline.agent import OfflineAgent

P = ParamSpec("P")
_TIMEOUT, _PATIENCE = 60.0, 30.0


class _AgentCall(Generic[P]):
    """A method that finds an agent: it gives an `Agent` or, awaited, an `AsyncAgent`."""

    def __init__(self, find: Callable[P, Flow[AgentView]]) -> None:
        def flow(self: Client | AsyncClient, *args: P.args, **kwargs: P.kwargs) -> Flow[Any]:
            return self._agent((yield from find(*args, **kwargs)))

        self._call: Call[P, Any] = Call(flow, find)

    @overload
    def __get__(self, owner: Client, kind: type) -> Callable[P, Agent]: ...

    @overload
    def __get__(
        self, owner: AsyncClient, kind: type
    ) -> Callable[P, Coroutine[Any, Any, AsyncAgent]]: ...

    @overload
    def __get__(self, owner: None, kind: type) -> Callable[..., Any]: ...

    def __get__(self, owner: Any, kind: type) -> Callable[..., Any]:
        bound: Callable[..., Any] = self._call.__get__(owner, kind)
        return bound


class _ClientCalls(Calls):
    """What both clients have in addition to the operations of the server."""

    _session: BlockingSession | AsyncSession

    agent = _AgentCall(find_or_create_agent)

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._session.connection.url

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.url}>"


class Client(_ClientCalls, Blocking):
    """A client of a Plaudit server; it may be used by several threads.

    ``url`` and ``key`` default to PLAUDIT_URL and PLAUDIT_KEY, and the address to
    http://127.0.0.1:8000. ``timeout`` is how many seconds one try may take; ``patience`` is how
    many seconds a call keeps trying while the server is away. Retries are safe: steps are
    numbered, and what creates something carries an Idempotency-Key.
    """

    _session: BlockingSession

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float = _TIMEOUT,
        patience: float = _PATIENCE,
    ) -> None:
        self._session = BlockingSession.open(connection(url, key), Options(timeout, patience))

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. This also happens when the client is garbage-collected."""
        self._session.close()

    def with_options(
        self, *, timeout: float | None = None, patience: float | None = None
    ) -> Client:
        """A client with other times on the same connections."""
        other = Client.__new__(Client)
        other._session = self._session.with_options(
            self._session.options.changed(timeout, patience)
        )
        return other

    def episode(self, episode: str) -> Episode:
        """The episode with an id: label it, or continue it behind its last step."""
        return Episode(self._session, episode=episode)

    def offline(
        self,
        folder: str | os.PathLike[str],
        *,
        fallback: object = None,
        mode: Literal["learn", "exploit"] = "learn",
        most_bytes: int = 100_000_000,
    ) -> OfflineAgent:
        """The offline agent of a folder that `agent.offline` made, without asking the server."""
        from plaudit.offline.agent import OfflineAgent
        from plaudit.offline.spool import Spool

        return OfflineAgent(self._session, None, Spool(folder, most_bytes), fallback, mode)

    def _agent(self, view: AgentView) -> Agent:
        return Agent(self._session, view)


class AsyncClient(_ClientCalls, Asynchronous):
    """A client of a Plaudit server for programs that use asyncio; see `Client`.

    Close it with `async with` or `await client.close()`.
    """

    _session: AsyncSession

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float = _TIMEOUT,
        patience: float = _PATIENCE,
    ) -> None:
        self._session = AsyncSession.open(connection(url, key), Options(timeout, patience))

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    def with_options(
        self, *, timeout: float | None = None, patience: float | None = None
    ) -> AsyncClient:
        """A client with other times on the same connections."""
        other = AsyncClient.__new__(AsyncClient)
        other._session = self._session.with_options(
            self._session.options.changed(timeout, patience)
        )
        return other

    def episode(self, episode: str) -> AsyncEpisode:
        """The episode with an id: label it, or continue it behind its last step."""
        return AsyncEpisode(self._session, episode=episode)

    def _agent(self, view: AgentView) -> AsyncAgent:
        return AsyncAgent(self._session, view)
