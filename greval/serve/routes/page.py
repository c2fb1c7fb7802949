"""The web page and its files: all of them ship with the package, and nothing is loaded from other servers."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.staticfiles import StaticFiles

router = APIRouter(include_in_schema=False)

CONTENT_SECURITY_POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Allow files of this server only, and never let text become markup or a script."""
HEADERS = {"Cache-Control": "no-cache", "Content-Security-Policy": CONTENT_SECURITY_POLICY}
"""A browser asks each time whether a file is still the same, so that an update shows at once."""
# Some installers link the files.
FILES = StaticFiles(packages=[("greval.serve", "page")], follow_symlink=True)


@router.get("/")
async def show_page(request: Request) -> Response:
    """Return the page."""
    return await send_page_file("index.html", request)


@router.get("/page/{path:path}")
async def send_page_file(path: str, request: Request) -> Response:
    """Return a file of the page, or 304 if the browser has it already."""
    response = await FILES.get_response(path, request.scope)
    response.headers.update(HEADERS)
    return response
