"""Files and searches by which the core recognises an index of the app `greval.reference`, which reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

INDEX_FILE = "index.json"
LEDGER_FILE = "ledger.sqlite"
Search = Literal["basic", "bm25", "local", "graph", "hybrid", "tog"]
REFERENCE_SEARCHES: tuple[Search, ...] = get_args(Search)
"""The searches of the reference pipeline."""


def has_reference_index(folder: Path) -> bool:
    """Return whether a folder holds an index of the reference pipeline."""
    return (folder / INDEX_FILE).is_file() and (folder / LEDGER_FILE).is_file()
