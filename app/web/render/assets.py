"""Static files, read once; their addresses carry a version, so that browsers keep them for good."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Response

from app.errors import NotFound

router = APIRouter(prefix="/static", include_in_schema=False)

_FOLDER = Path(__file__).parent.parent / "static"
_KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
_FOR_GOOD = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class Assets:
    """Every static file by its name, and the version of them all."""

    files: dict[str, bytes]
    version: str


@cache
def assets() -> Assets:
    """The files of this package.

    Modules import one another by relative address, so one version covers all.
    """
    files = {
        path.relative_to(_FOLDER).as_posix(): path.read_bytes()
        for path in sorted(_FOLDER.rglob("*"))
        if path.suffix in _KINDS
    }
    digest = hashlib.sha256()
    for name, content in files.items():
        digest.update(f"{name}\n{len(content)}\n".encode() + content)
    return Assets(files, digest.hexdigest()[:12])


@router.get("/{version}/{name:path}")
async def asset(version: str, name: str) -> Response:
    """A file; of another version than asked for it is not to be kept."""
    content = assets().files.get(name)
    if content is None:
        raise NotFound("file", name[:80], "named")
    keep = _FOR_GOOD if version == assets().version else "no-store"
    return Response(
        content,
        headers={
            "Content-Type": _KINDS[Path(name).suffix],
            "Cache-Control": keep,
            "X-Content-Type-Options": "nosniff",
        },
    )
