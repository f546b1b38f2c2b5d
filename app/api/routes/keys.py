"""Keys: create, list, revoke."""

from __future__ import annotations

import logging
from typing import Annotated

from fastapi import APIRouter, Request

from app.api.http.auth import ADMINISTER, TheContainer, guard
from app.api.http.idempotency import IdempotencyKey, once
from app.api.http.parameters import KeyId
from app.api.http.problems import declared
from app.errors import NotFound
from app.service.access.idempotency import Remember
from app.service.access.keys import Caller
from app.service.views import wire_views
from app.wire.keys import CreatedKey, KeyList, KeyView, NewKey

log = logging.getLogger(__name__)

router = APIRouter(prefix="/v1/keys", tags=["keys"])


@router.post("", status_code=201, summary="Create a key", responses=declared(409, 413, 422, 503))
async def create_key(
    request: Request,
    body: NewKey,
    host: TheContainer,
    caller: Annotated[Caller, guard(ADMINISTER)],
    idempotency_key: IdempotencyKey = None,
) -> CreatedKey:
    """The secret is shown this once. From the first admin key on, every request needs a key."""

    async def act(remember: Remember | None) -> CreatedKey:
        key, secret = await host.keys.create(body.name, body.role, remember)
        log.info("key created", extra={"key": key.id, "role": key.role.value, "by": caller.key})
        return CreatedKey(**wire_views.key_fields(key), secret=secret)

    async def again(made: str) -> CreatedKey:
        key = next((one for one in await host.keys.all() if one.id == made), None)
        if key is None:
            raise NotFound("key", made)
        return CreatedKey(**wire_views.key_fields(key), secret=None)

    return await once(request, host, caller, idempotency_key, act, again)


@router.get("", summary="List keys", responses=declared(503))
async def list_keys(host: TheContainer, _: Annotated[Caller, guard(ADMINISTER)]) -> KeyList:
    """Every key without its secret, revoked ones too."""
    return KeyList(items=[KeyView(**wire_views.key_fields(key)) for key in await host.keys.all()])


@router.delete("/{key}", status_code=204, summary="Revoke a key", responses=declared(404, 503))
async def revoke_key(
    key: KeyId, host: TheContainer, caller: Annotated[Caller, guard(ADMINISTER)]
) -> None:
    """It opens nothing any more."""
    await host.keys.revoke(key)
    log.info("key revoked", extra={"key": key, "by": caller.key})
