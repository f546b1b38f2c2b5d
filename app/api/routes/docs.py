"""The interactive manual at /docs: Swagger UI, without requests to other servers."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter
from fastapi.responses import FileResponse, HTMLResponse, Response

from app.errors import NotFound

router = APIRouter(prefix="/docs", include_in_schema=False)

_ASSETS = files("fastapi_offline") / "static"
_KINDS = {"swagger-ui.css": "text/css", "swagger-ui-bundle.js": "text/javascript"}
_KEEP = {"Cache-Control": "public, max-age=86400"}
# The browser refuses requests to any other server.
_POLICY = (
    "default-src 'none'; connect-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
}
# Relative addresses work below any path prefix of a proxy.
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Plaudit: the HTTP interface</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="manual"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
_START = """SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#manual",
  deepLinking: true,
  tryItOutEnabled: true,
  persistAuthorization: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
"""


@router.get("")
async def manual() -> HTMLResponse:
    """The page."""
    return HTMLResponse(_PAGE, headers=_HEADERS)


@router.get("/start.js")
async def start() -> Response:
    """The script that starts Swagger UI; a separate file, because inline scripts are forbidden."""
    return Response(_START, media_type="text/javascript")


@router.get("/{name}")
async def asset(name: str) -> FileResponse:
    """A file of Swagger UI."""
    if name not in _KINDS:
        raise NotFound("file", name[:80], "named")
    return FileResponse(str(_ASSETS / name), media_type=_KINDS[name], headers=_KEEP)
