"""Pagination cursors: the position at which the next page begins, as opaque text."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Annotated

from fastapi import Query
from pydantic import JsonValue

from greval.serve.problems import ServeError

MAX_ROWS = 2**62
Cursor = Annotated[
    str | None, Query(max_length=512, description="`next` of the page before; without it the first page is given")
]
NamedPosition = tuple[int, str]
"""A time in nanoseconds and a name: no entry is lost between pages if several have one time."""
Limit = Annotated[int, Query(ge=1, le=1000, description="how many at most")]


def encode_cursor(position: JsonValue) -> str | None:
    """Return the cursor of a position, or None if there is no further page.

    Example:
        >>> decode_cursor(encode_cursor(["2026", "run"]))
        ['2026', 'run']
    """
    return None if position is None else urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> JsonValue:
    """Return the position of a cursor, or raise `ServeError` (422) if the server did not issue it."""
    try:
        position: JsonValue = json.loads(urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)))
    except (ValueError, RecursionError) as error:
        raise build_cursor_error() from error
    return position


def decode_row_cursor(cursor: str | None) -> int:
    """Return the row after which a page begins, 0 for the first page, or raise `ServeError` (422)."""
    position = 0 if cursor is None else decode_cursor(cursor)
    # A bool is an int in Python.
    if not isinstance(position, int) or isinstance(position, bool) or not 0 <= position < MAX_ROWS:
        raise build_cursor_error()
    return position


def decode_named_cursor(cursor: str | None) -> NamedPosition | None:
    """Return the time and the name before which a page begins, None for the first page, or raise `ServeError` (422)."""
    if cursor is None:
        return None
    match decode_cursor(cursor):
        case [int(made), str(name)]:
            return made, name
        case _:
            raise build_cursor_error()


def build_cursor_error() -> ServeError:
    """Build the error for a cursor that the server did not issue."""
    message = "cursor: not a cursor of this server; pass `next` of the previous page, or leave it out"
    return ServeError("invalid_cursor", message)
