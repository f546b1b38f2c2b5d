"""Keys: create, list, revoke."""

from __future__ import annotations

from collections.abc import Iterable

from plaudit._core.flow import Flow, Reply, Request, json_request
from plaudit._core.parsing import parse
from plaudit._core.session import Page, Pager
from plaudit.answers.operations import CreatedKey, KeyView
from plaudit.answers.values import Role
from plaudit.endpoints.body import given, idempotent, path
from plaudit.endpoints.paging import read_page


def create_key(name: str, role: Role, *, agents: Iterable[str] | None = None) -> Flow[CreatedKey]:
    """Create a key; its secret is shown this once. With ``agents`` it sees no others.

    A secret whose answer was lost cannot be read again: that key is revoked, and a new one made.
    """
    bound = None if agents is None else list(agents)
    while True:
        body = given(name=name, role=role, agents=bound)
        reply: Reply = yield json_request("POST", path("keys"), body, idempotent(None))
        key = parse(CreatedKey, reply.json())
        if key.secret is not None or not reply.retried:
            return key
        yield from revoke_key(key.id)


def list_keys() -> Pager[KeyView]:
    """Iterate over every key without its secret, revoked ones too."""

    def page(_: str | None) -> Flow[Page[KeyView]]:
        reply = yield Request("GET", path("keys"))
        return read_page(KeyView, reply.json())

    return Pager(page)


def revoke_key(key: str) -> Flow[None]:
    """Revoke a key: it opens nothing any more."""
    reply = yield Request("DELETE", path("keys", key))
    reply.check()
