"""Which addresses webhooks are sent to."""

import asyncio

import pytest

from app.service.webhooks.addresses import AddressRefused, is_public, resolve

PRIVATE = [
    "127.0.0.1",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.169.254",
    "224.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "fe80::1%eth0",
    "fc00::1",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_is_refused(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8"])
def test_a_public_address_is_taken(address):
    assert is_public(address)


def resolved(monkeypatch, found, allow_private=False):
    """What a name resolves to, where the resolver finds some addresses."""

    async def run():
        loop = asyncio.get_running_loop()

        async def getaddrinfo(*_, **__):
            return [(2, 1, 6, "", (address, 80)) for address in found]

        monkeypatch.setattr(loop, "getaddrinfo", getaddrinfo, raising=False)
        return await resolve("hook.example", 80, allow_private)

    return asyncio.run(run())


def test_a_name_is_held_to_the_address_that_was_checked(monkeypatch):
    assert resolved(monkeypatch, ["10.0.0.1", "8.8.8.8"]) == "8.8.8.8"
    assert resolved(monkeypatch, ["10.0.0.1"], allow_private=True) == "10.0.0.1"
    with pytest.raises(AddressRefused, match="private"):
        resolved(monkeypatch, ["10.0.0.1", "::1"])
