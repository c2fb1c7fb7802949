"""Ids of runs and data sets: made by the server, and the only way from a request to a folder."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime
from pathlib import Path as Folder
from typing import Annotated

from fastapi import Path

from greval.serve.problems import ServeError
from greval.serve.service import PLAIN_NAME

PATTERN = f"^{PLAIN_NAME.pattern}$"
LONGEST = 40
"""So much of a name stands in an id; the time and some letters make it one of its own."""

Id = Annotated[str, Path(pattern=PATTERN, description="the id that the server gave")]


def now() -> datetime:
    """Give the time, as it stands in records."""
    return datetime.now(UTC)


def made_id(name: str) -> str:
    """Make an id of a name and the time.

    Example:
        >>> bool(PLAIN_NAME.fullmatch(made_id("first run"))), made_id("first run")[:9]
        (True, 'first-run')
    """
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name[:LONGEST]).strip("-_") or "x"
    return f"{plain}-{now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def inside(folder: Folder, given: str, what: str) -> Folder:
    """Give the folder of an id; the folder itself may still be missing.

    Raises:
        ServeError: Where it is no id, as then there is none of it.
    """
    if not PLAIN_NAME.fullmatch(given):
        raise absent(what, given)
    return folder / given


def absent(what: str, given: str) -> ServeError:
    """Say that there is none, in the same words whether it is another's or nobody's."""
    listed = f"GET /v1/{what.replace(' ', '')}s lists them"
    return ServeError(404, f"{what} {given[:64]!r}: there is none of this id; {listed}")
