"""Static files, read once. Their URLs contain a version, so that browsers cache them forever."""

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
    """Every static file by its name, and one version for all of them."""

    files: dict[str, bytes]
    version: str


@cache
def assets() -> Assets:
    """The files of this package.

    JavaScript modules import each other by relative URLs, so all files share one version.
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
    """A static file. Browsers may cache it only if its version is the requested one."""
    content = assets().files.get(name)
    if content is None:
        raise NotFound("file", name[:80], "named")
    keep = _FOR_GOOD if version == assets().version else "no-store"
    return Response(
        content,
        headers={
            "Content-Type": _KINDS[Path(name).suffix],
            "Cache-Control": keep,
        },
    )
