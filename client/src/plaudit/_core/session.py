"""Sessions: drive flows over HTTP, one that blocks and one that is async."""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from plaudit._core.connection import Connection
from plaudit._core.driver import Driver, drive, drive_async
from plaudit._core.exchange import Emit, Lines, Rules, Stream, exchange, follow
from plaudit._core.flow import Flow, Reply, Request

if TYPE_CHECKING:
    import httpx

    from plaudit._core.http import AsyncPerformer, BlockingPerformer

R = TypeVar("R")
T = TypeVar("T")
_LEAVING_SECONDS = 3.0


@dataclass(frozen=True)
class Options:
    """Seconds that one try may take, and that a call keeps trying."""

    timeout: float = 60.0
    patience: float = 30.0

    def changed(self, timeout: float | None, patience: float | None) -> Options:
        """The same with other times; None changes nothing."""
        return Options(
            self.timeout if timeout is None else timeout,
            self.patience if patience is None else patience,
        )


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some items of a list, and where the next ones begin."""

    items: list[T]
    next: str | None


@dataclass(frozen=True)
class Pager(Generic[T]):
    """A list that is read page by page; ``page`` takes the cursor of the page before."""

    page: Callable[[str | None], Flow[Page[T]]]


class BlockingSession:
    """Drives flows and waits for them."""

    def __init__(
        self,
        connection: Connection,
        options: Options,
        http: httpx.Client,
        parent: BlockingSession | None = None,
    ) -> None:
        self.connection = connection
        self.options = options
        self._http = http
        self._parent = parent  # whose end closes the connections
        self._rules = Rules(connection.url, options.patience)

    @staticmethod
    def open(connection: Connection, options: Options) -> BlockingSession:
        """A session with new connections, which are closed when it is garbage-collected."""
        import httpx  # takes longer than all of this package, so not before it is needed

        http = httpx.Client(base_url=connection.url, headers=connection.headers)
        session = BlockingSession(connection, options, http)
        weakref.finalize(session, http.close)
        return session

    def impatient(self) -> BlockingSession:
        """A session that gives up soon, for cleaning up after an error."""
        return self.with_options(self.options.changed(None, _LEAVING_SECONDS))

    def with_options(self, options: Options) -> BlockingSession:
        """A session with other times on the same connections."""
        return BlockingSession(self.connection, options, self._http, self)

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def run(self, flow: Flow[R]) -> R:
        """What a flow returns."""
        return drive(flow, self._exchange)

    def iterate(self, source: Pager[T] | Lines[T]) -> Iterator[T]:
        """The items of a list or a stream."""
        if isinstance(source, Pager):
            return self._pages(source)
        return self._items(follow(source, self._rules), self._performer())

    def _performer(self) -> BlockingPerformer:
        from plaudit._core.http import BlockingPerformer

        return BlockingPerformer(self._http, self.options.timeout)

    def _exchange(self, request: Request) -> Reply:
        return drive(exchange(request, self._rules), self._performer().perform)

    def _pages(self, pager: Pager[T]) -> Iterator[T]:
        page = self.run(pager.page(None))
        yield from page.items
        while page.next is not None:
            page = self.run(pager.page(page.next))
            yield from page.items

    def _items(self, stream: Stream[T], performer: BlockingPerformer) -> Iterator[T]:
        driver = Driver(stream)
        try:
            while not driver.done:
                if isinstance(driver.effect, Emit):
                    yield driver.effect.item
                driver.step(performer.perform)
        finally:
            performer.close()


class AsyncSession:
    """Drives flows in an event loop."""

    def __init__(self, connection: Connection, options: Options, http: httpx.AsyncClient) -> None:
        self.connection = connection
        self.options = options
        self._http = http
        self._rules = Rules(connection.url, options.patience)

    @staticmethod
    def open(connection: Connection, options: Options) -> AsyncSession:
        """A session with new connections."""
        import httpx  # takes longer than all of this package, so not before it is needed

        http = httpx.AsyncClient(base_url=connection.url, headers=connection.headers)
        return AsyncSession(connection, options, http)

    def impatient(self) -> AsyncSession:
        """A session that gives up soon, for cleaning up after an error."""
        return self.with_options(self.options.changed(None, _LEAVING_SECONDS))

    def with_options(self, options: Options) -> AsyncSession:
        """A session with other times on the same connections."""
        return AsyncSession(self.connection, options, self._http)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def run(self, flow: Flow[R]) -> R:
        """What a flow returns."""
        return await drive_async(flow, self._exchange)

    def iterate(self, source: Pager[T] | Lines[T]) -> AsyncIterator[T]:
        """The items of a list or a stream."""
        if isinstance(source, Pager):
            return self._pages(source)
        return self._items(follow(source, self._rules), self._performer())

    def _performer(self) -> AsyncPerformer:
        from plaudit._core.http import AsyncPerformer

        return AsyncPerformer(self._http, self.options.timeout)

    async def _exchange(self, request: Request) -> Reply:
        return await drive_async(exchange(request, self._rules), self._performer().perform)

    async def _pages(self, pager: Pager[T]) -> AsyncIterator[T]:
        page = await self.run(pager.page(None))
        for item in page.items:
            yield item
        while page.next is not None:
            page = await self.run(pager.page(page.next))
            for item in page.items:
                yield item

    async def _items(self, stream: Stream[T], performer: AsyncPerformer) -> AsyncIterator[T]:
        driver = Driver(stream)
        try:
            while not driver.done:
                if isinstance(driver.effect, Emit):
                    yield driver.effect.item
                await driver.step_async(performer.perform)
        finally:
            await performer.close()
