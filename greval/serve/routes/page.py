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

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
START = "index.html"
POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Allow files of this server only, and never let text become markup or a script."""


@dataclass(frozen=True)
class File:
    """A file of the page; its `etag` changes with its content."""

    content: bytes
    media_type: str
    mark: str


@router.api_route("/", methods=["GET", "HEAD"])
def index(if_none_match: Annotated[str, Header()] = "") -> Response:
    """Return the page."""
    return _answer(shipped()[START], if_none_match)


@router.api_route("/page/{path:path}", methods=["GET", "HEAD"])
def file(path: str, if_none_match: Annotated[str, Header()] = "") -> Response:
    """Return a file of the page: one of those that ship, by its full path."""
    found = shipped().get(path)
    if found is None or path == START:
        raise ServeError(404, f"{path!r}: the page has no such file; open / in a browser")
    return _answer(found, if_none_match)


@cache
def shipped() -> dict[str, File]:
    """Load the files of the page by their paths; they are small, and read once.

    Example:
        >>> load_files()["js/main.js"].media_type
        'text/javascript; charset=utf-8'
    """
    return dict(_read(files("greval.serve") / "page"))


def _read(folder: Traversable, inside: str = "") -> Iterator[tuple[str, File]]:
    for entry in folder.iterdir():
        ending = entry.name.rpartition(".")[2]
        if entry.is_dir():
            yield from _read(entry, f"{inside}{entry.name}/")
        elif ending in TYPES:
            content = entry.read_bytes()
            yield f"{inside}{entry.name}", File(content, TYPES[ending], f'"{sha256(content).hexdigest()[:32]}"')


def _answer(found: File, had: str) -> Response:
    """Return a file, or 304 if the browser has it already."""
    headers = {"ETag": found.mark, "Cache-Control": "no-cache", "Content-Security-Policy": POLICY}
    if found.mark in had:
        return Response(status_code=304, headers=headers)
    return Response(found.content, media_type=found.media_type, headers=headers)
