"""Keys: create, list, revoke."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import APIRouter

from app.api.http.auth import Administrator
from app.api.http.dependencies import Keys
from app.api.http.idempotency import Once
from app.api.http.json_body import JsonRoute
from app.api.http.parameters import KeyId
from app.api.openapi.responses import declared
from app.errors import NotFound
from app.service.access.idempotency import Remember
from app.service.access.keys import Key
from app.service.runtime.ids import agent_id
from app.service.runtime.times import moment, moment_or_none
from app.wire.keys import CreatedKey, KeyList, KeyView, NewKey

log = logging.getLogger(__name__)

router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=JsonRoute)


@router.post("", status_code=201, summary="Create a key", responses=declared(409, 413, 422, 503))
async def create_key(body: NewKey, keys: Keys, caller: Administrator, once: Once) -> CreatedKey:
    """Create a key. Its secret is shown once. After the first admin key, requests need a key."""

    async def create(remember: Remember | None) -> CreatedKey:
        key, secret = await keys.create(body.name, body.role, body.agents, remember)
        log.info("key created", extra={"key": key.id, "role": key.role.value, "by": caller.key})
        return CreatedKey(**_fields(key), secret=secret)

    async def created_before(id_: str) -> CreatedKey:
        key = next((key for key in await keys.all() if key.id == id_), None)
        if key is None:
            raise NotFound("key", id_)
        return CreatedKey(**_fields(key), secret=None)

    return await once.run(caller, create, created_before)


@router.get("", summary="List keys", responses=declared(503))
async def list_keys(keys: Keys, _: Administrator) -> KeyList:
    """Every key without its secret, revoked ones too."""
    return KeyList(items=[KeyView(**_fields(key)) for key in await keys.all()])


@router.delete("/{key}", status_code=204, summary="Revoke a key", responses=declared(404, 503))
async def revoke_key(key: KeyId, keys: Keys, caller: Administrator) -> None:
    """From now on requests with this key are refused."""
    await keys.revoke(key)
    log.info("key revoked", extra={"key": key, "by": caller.key})


def _fields(key: Key) -> dict[str, Any]:
    """A key without its secret."""
    return {
        "id": key.id,
        "name": key.name,
        "role": key.role,
        "agents": None
        if key.agents is None
        else [agent_id(number) for number in sorted(key.agents)],
        "created_at": moment(key.created_at),
        "revoked_at": moment_or_none(key.revoked_at),
    }
