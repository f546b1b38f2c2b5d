"""Addresses that webhooks may be sent to.

A name is resolved once for each attempt, and the connection goes to the address that was checked.
So a name that resolves to another address a moment later (DNS rebinding) reaches nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket

_TRANSLATED = tuple(  # addresses of these networks have an IPv4 address inside
    ipaddress.ip_network(network) for network in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16")
)


class AddressRefused(ValueError):
    """An address that this server does not send to."""


class HostNotFound(AddressRefused):
    """A host that has no address, for now."""


def is_public(address: str) -> bool:
    """Whether an address is on the public internet: not private, link-local or special."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return is_public(str(found.ipv4_mapped))
        if any(found in network for network in _TRANSLATED):
            return False
    return found.is_global and not found.is_multicast


async def resolve(host: str, port: int, allow_private: bool) -> str:
    """The address to connect to for a host."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise HostNotFound(f"The host {host!r} cannot be found.") from error
    addresses = [str(sockaddr[0]) for *_, sockaddr in found]
    for address in addresses:
        if allow_private or is_public(address):
            return address
    raise AddressRefused(
        f"{host!r} is at a private or link-local address. The operator can allow these with "
        "PLAUDIT_WEBHOOK_PRIVATE_ADDRESSES."
    )
