"""The web page and its files: all of them ship with the package, and nothing is loaded from other servers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated

from fastapi import APIRouter, Header, Response

from greval.serve.problems import ServeError

router = APIRouter(include_in_schema=False)

MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
INDEX = "index.html"
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Allow files of this server only, and never let text become markup or a script."""


@dataclass(frozen=True)
class PageFile:
    """A file of the page; its `etag` changes with its content."""

    content: bytes
    media_type: str
    etag: str


@router.api_route("/", methods=["GET", "HEAD"])
def index(if_none_match: Annotated[str, Header()] = "") -> Response:
    """Return the page."""
    return _build_response(load_files()[INDEX], if_none_match)


@router.api_route("/page/{path:path}", methods=["GET", "HEAD"])
def file(path: str, if_none_match: Annotated[str, Header()] = "") -> Response:
    """Return a file of the page: one of those that ship, by its full path."""
    found = load_files().get(path)
    if found is None or path == INDEX:
        raise ServeError("path_not_found", f"{path!r}: the page has no such file; open / in a browser")
    return _build_response(found, if_none_match)


@cache
def load_files() -> dict[str, PageFile]:
    """Load the files of the page by their paths; they are small, and read once.

    Example:
        >>> load_files()["js/main.js"].media_type
        'text/javascript; charset=utf-8'
    """
    return dict(_iterate_files(files("greval.serve") / "page"))


def _iterate_files(folder: Traversable, inside: str = "") -> Iterator[tuple[str, PageFile]]:
    for entry in folder.iterdir():
        ending = entry.name.rpartition(".")[2]
        if entry.is_dir():
            yield from _iterate_files(entry, f"{inside}{entry.name}/")
        elif ending in MEDIA_TYPES:
            content = entry.read_bytes()
            etag = f'"{sha256(content).hexdigest()[:32]}"'
            yield f"{inside}{entry.name}", PageFile(content, MEDIA_TYPES[ending], etag)


def _build_response(found: PageFile, had: str) -> Response:
    """Return a file, or 304 if the browser has it already."""
    headers = {"ETag": found.etag, "Cache-Control": "no-cache", "Content-Security-Policy": CONTENT_SECURITY_POLICY}
    if found.etag in had:
        return Response(status_code=304, headers=headers)
    return Response(found.content, media_type=found.media_type, headers=headers)
