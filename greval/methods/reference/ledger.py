"""The ledger of an index: documents, chunks, and what was extracted and embedded, in one SQLite file.

Everything else in the folder of an index is made of it. A document and its chunks are written in one transaction. A
document that changes or goes is only retired: the current build reads its chunks until the next build takes its place.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from zlib import crc32

import numpy as np
import numpy.typing as npt

from greval._util.files import CloseOnExit
from greval.errors import DataError, StoreError
from greval.methods.reference.records import IndexedChunk

if TYPE_CHECKING:
    FloatArray = npt.NDArray[np.float32]

LEDGER_FILE = "ledger.sqlite"
READ_AT_ONCE = 500
"""The number of rows asked for in one query; SQLite limits the number of parameters."""
TABLES = """
CREATE TABLE documents (
    row INTEGER PRIMARY KEY, id TEXT NOT NULL, digest TEXT NOT NULL, header TEXT NOT NULL, retired INTEGER NOT NULL);
CREATE UNIQUE INDEX current_documents ON documents (id) WHERE NOT retired;
CREATE TABLE chunks (
    row INTEGER PRIMARY KEY, document INTEGER NOT NULL, position INTEGER NOT NULL, text_key TEXT NOT NULL,
    text TEXT NOT NULL);
CREATE INDEX chunks_of_documents ON chunks (document, position);
CREATE TABLE extractions (
    text_key TEXT NOT NULL, extractor TEXT NOT NULL, content TEXT NOT NULL, usage TEXT,
    PRIMARY KEY (text_key, extractor)
) WITHOUT ROWID;
CREATE TABLE embeddings (
    text_key TEXT NOT NULL, embedder TEXT NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (text_key, embedder)
) WITHOUT ROWID;
"""
LAYOUT_VERSION = crc32(TABLES.encode()) >> 1
"""The version number of the table layout, stored by SQLite as `user_version`."""
T = TypeVar("T")


def hash_text(text: str) -> str:
    """Return the key of a text: what is extracted from it or embedded is stored by this key.

    Example:
        >>> hash_text("Ada wrote the notes.") == hash_text("Ada wrote the notes.")
        True
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class StoredChunk(IndexedChunk):
    """A chunk with its row in the ledger and the key of its content."""

    row: int
    text_key: str


class Ledger(CloseOnExit):
    """The ledger of the index in a folder.

    Args:
        folder: The folder of the index.
        write: Whether to create and change it. Only one process may do so; see `lock_index`.

    Raises:
        DataError: If it is only read, and there is none.
        StoreError: If it has an unknown layout or cannot be opened.
    """

    def __init__(self, folder: Path, *, write: bool = False) -> None:
        self._path = folder / LEDGER_FILE
        if not write and not self._path.is_file():
            raise DataError(f"{folder}: holds no index; make one with greval index DOCUMENTS -o {folder}")
        with self._translate_errors():
            self._db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            if write:
                self._db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")
            (layout,) = self._db.execute("PRAGMA user_version").fetchone()
            (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if write and not tables:
                self._db.executescript(f"BEGIN; {TABLES} PRAGMA user_version={LAYOUT_VERSION}; COMMIT")
            elif layout != LAYOUT_VERSION:
                raise StoreError(
                    f"{self._path}: written by another version of greval (layout {layout}, this one reads "
                    f"{LAYOUT_VERSION}); index the documents again into another folder"
                )

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def read_chunks(self, rows: Sequence[int]) -> list[IndexedChunk]:
        """Return the chunks of these rows, in this order.

        Raises:
            DataError: If a row is not there, because the index was made anew.
        """
        raise NotImplementedError
