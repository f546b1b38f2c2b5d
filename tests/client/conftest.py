"""Plaudit's own client, of real servers, and a proxy before one that loses answers."""

import asyncio
import inspect
from contextlib import suppress

import pytest

import plaudit
from tests.client.faulty import FaultyProxy
from tests.support.running import LAKE


class Awaited:
    """An async client, or a handle of it, whose calls are awaited here: it looks blocking."""

    def __init__(self, loop, wrapped):
        self._loop, self._wrapped = loop, wrapped

    def __getattr__(self, name):
        value = getattr(self._wrapped, name)
        return self._called(value) if callable(value) else value

    def __setattr__(self, name, value):
        if name.startswith("_"):
            super().__setattr__(name, value)
        else:
            setattr(self._wrapped, name, value)

    def _called(self, function):
        return lambda *args, **kwargs: self._result(function(*args, **kwargs))

    def _result(self, value):
        if inspect.iscoroutine(value):
            value = self._loop.run_until_complete(value)
        if inspect.isasyncgen(value):
            return self._items(value)
        if isinstance(value, plaudit.AsyncAgent | plaudit.AsyncEpisode | plaudit.AsyncClient):
            return Awaited(self._loop, value)
        return value

    def _items(self, items):
        try:
            while True:
                yield self._loop.run_until_complete(anext(items))
        except StopAsyncIteration:
            pass
        finally:
            self._loop.run_until_complete(items.aclose())

    def __enter__(self):
        return self._result(self._wrapped.__aenter__())

    def __exit__(self, *error):
        return self._loop.run_until_complete(self._wrapped.__aexit__(*error))


@pytest.fixture(params=["blocking", "async"])
def connect(request):
    """Make clients of either kind: `connect(url, **options)`; both look blocking."""
    opened = []
    loop = asyncio.new_event_loop()

    def connect(url, **options):
        kind = plaudit.Client if request.param == "blocking" else plaudit.AsyncClient
        client = kind(url, **options)
        opened.append(client if request.param == "blocking" else Awaited(loop, client))
        return opened[-1]

    yield connect
    for client in opened:
        client.close()
    loop.close()


@pytest.fixture
def api(connect, shared_server):
    """A client of the shared server, blocking and async in turn."""
    return connect(shared_server.url)


@pytest.fixture
def lake(api):
    """A small agent of the shared server, as a handle."""
    view = api.create_agent(**LAKE)
    yield api.agent(view.id)
    with suppress(plaudit.NotFound):
        api.delete_agent(view.id)


@pytest.fixture
def proxy(shared_server):
    """A proxy before the shared server that does to requests what its `faults` say."""
    with FaultyProxy(shared_server.url) as proxy:
        yield proxy
