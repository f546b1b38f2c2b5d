"""Guessing keys at the sign-in page."""

import httpx
import pytest

from app.api.http import attempts
from app.api.http.attempts import WINDOW_SECONDS, Attempts
from app.errors import TooManyAttempts
from tests.support.running import RunningServer

MOST = 3
ADMIN_KEY = "an-admin-key-of-this-test"


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def limit(clock):
    return Attempts(MOST, clock)


def fail(limit, address, key):
    limit.check(address, key)
    limit.failed(address, key)


def test_guesses_from_one_address_are_limited_and_right_ones_too(limit, clock):
    for number in range(MOST):
        fail(limit, "10.0.0.1", f"{number} guess")
    clock.now = 10.0
    with pytest.raises(TooManyAttempts) as refused:
        limit.check("10.0.0.1", ADMIN_KEY)
    assert refused.value.seconds == WINDOW_SECONDS - 10
    limit.check("10.0.0.2", ADMIN_KEY)


def test_guesses_at_one_key_are_limited_from_wherever_they_come(limit):
    for number in range(MOST):
        fail(limit, f"10.0.0.{number}", f"plk_abcd{number}")
    with pytest.raises(TooManyAttempts):
        limit.check("10.0.1.1", "plk_abcdef")
    limit.check("10.0.1.1", "plk_other")


def test_after_a_minute_guesses_are_counted_from_zero(limit, clock):
    for _ in range(MOST):
        fail(limit, "10.0.0.1", "guess")
    clock.now = WINDOW_SECONDS
    for _ in range(MOST):
        fail(limit, "10.0.0.1", "guess")
    with pytest.raises(TooManyAttempts):
        limit.check("10.0.0.1", "guess")


def test_memory_is_bounded_and_holds_no_key(limit, monkeypatch):
    monkeypatch.setattr(attempts, "_REMEMBERED", 100)
    for number in range(1000):
        fail(limit, f"10.0.{number // 250}.{number % 250}", f"{number:08}-secret")
    assert len(limit._failures) == 100
    assert "secret" not in repr(limit._failures)
    assert "00000999" not in repr(limit._failures)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attempts")
    limits = {"PLAUDIT_ADMIN_KEY": ADMIN_KEY, "PLAUDIT_SIGN_IN_ATTEMPTS": MOST}
    with RunningServer(folder, learning=False, **limits) as server:
        yield server


def sign_in(server, key, address):
    """From an address that a proxy on this machine names."""
    headers = {"X-Forwarded-For": address}
    return httpx.post(f"{server.url}/signin", data={"key": key}, headers=headers)


def test_the_page_says_so(server):
    for number in range(MOST):
        assert sign_in(server, f"{number} is a guess", "10.0.0.1").status_code == 401
    refused = sign_in(server, ADMIN_KEY, "10.0.0.1")
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert "Try again in" in refused.text
    assert "set-cookie" not in refused.headers
    assert sign_in(server, ADMIN_KEY, "10.0.0.2").status_code == 303


def test_signing_in_is_not_a_failure(server):
    for _ in range(2 * MOST):
        assert sign_in(server, ADMIN_KEY, "10.0.0.3").status_code == 303
