"""Fixtures for all tests: real servers on real databases, and a real browser."""

import pytest
from playwright.sync_api import sync_playwright

from tests.support import databases
from tests.support.browser import CHROMIUM, need_chromium
from tests.support.running import RunningServer, create_agent, wait_learned


def pytest_addoption(parser):
    """The database that the tests use."""
    parser.addoption("--database", choices=["sqlite", "postgres"], default="sqlite")


def pytest_configure(config):
    """Start PostgreSQL once for all processes of pytest."""
    if config.getoption("database") == "postgres" and not databases.on_postgres():
        config.add_cleanup(databases.start_postgres())


def pytest_collection_modifyitems(config, items):
    """Mark every test that needs a browser as slow; leave out tests of the other database."""
    for item in items:
        if "chromium" in item.fixturenames:
            item.add_marker(pytest.mark.slow)
    other = "sqlite" if databases.on_postgres() else "postgres"
    left_out = [item for item in items if item.get_closest_marker(other)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker(other)]


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory):
    """One server for all tests that leave it as they found it; keys are off."""
    with RunningServer(tmp_path_factory.mktemp("shared")) as server:
        yield server


@pytest.fixture
def client(shared_server):
    """An HTTP client of the shared server."""
    with shared_server.client() as client:
        yield client


@pytest.fixture(scope="module")
def agent(shared_server):
    """An agent of the shared server that any test of a file may play with."""
    with shared_server.client() as client:
        agent = create_agent(client)
        wait_learned(client, agent)
        return agent


@pytest.fixture
def start_server(tmp_path):
    """Start servers of one's own: `start_server(PLAUDIT_…=…)`; all are stopped afterwards."""
    started = []

    def start(folder=None, **options):
        server = RunningServer(folder or tmp_path, **options)
        started.append(server)
        return server.start()

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="module")
def chromium():
    """A real browser."""
    need_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()
