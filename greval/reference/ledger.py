"""The ledger of an index: documents, chunks, and what was extracted and embedded, in one SQLite file.

Everything else in the folder of an index is made of it. A document and its chunks are written in one transaction. A
document that changes or goes is only retired: the current build reads its chunks until the next build takes its place.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from greval._util.files import CloseOnExit
from greval._util.groups import take_groups
from greval._util.wording import format_count
from greval.errors import DataError, StoreError
from greval.methods.index_records import IndexedChunk
from greval.methods.reference_index import LEDGER_FILE
from greval.records.result import Usage
from greval.reference.records import Document, Extraction

FloatArray = npt.NDArray[np.float32]
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
    text_key TEXT NOT NULL, extractor TEXT NOT NULL, context TEXT NOT NULL, content TEXT NOT NULL, usage TEXT,
    PRIMARY KEY (extractor, text_key, context)
) WITHOUT ROWID;
CREATE TABLE embeddings (
    text_key TEXT NOT NULL, embedder TEXT NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (embedder, text_key)
) WITHOUT ROWID;
"""
# The `user_version` of SQLite is a signed number of 32 bits.
LAYOUT_VERSION = crc32(TABLES.encode()) >> 1
"""The version number of the table layout, stored by SQLite as `user_version`."""
ExtractionKey = tuple[str, str]
"""The key of a text, and that of what else the extraction depends on; "" if on nothing."""


def compute_text_key(*parts: str) -> str:
    """Return the key of texts, such as the title and the text of a chunk; what is made of them is stored by it.

    Example:
        >>> compute_text_key("Notes", "Ada wrote them.") == compute_text_key("Notes Ada", " wrote them.")
        False
    """
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


class StoredChunk(NamedTuple):
    """A chunk with its row in the ledger and the key of its content."""

    row: int
    text_key: str
    chunk: IndexedChunk


class IndexLedger(CloseOnExit):
    """The ledger of the index in a folder.

    Only one process may write; the caller holds the folder's lock.
    """

    def __init__(self, folder: Path, *, write: bool = False) -> None:
        self._path = folder / LEDGER_FILE
        if not write and not self._path.is_file():
            raise DataError(f"{folder}: holds no index; make one with greval index build DOCUMENTS -o {folder}")
        with self._translate_errors():
            # Searches run in threads, one at a time.
            self._db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            if write:
                # What was extracted took time or money, so that each commit is synced to disk.
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

    @contextmanager
    def write_together(self) -> Iterator[None]:
        """Write everything in the `with` block in one transaction: at its end it is on the disk, or none of it is."""
        with self._translate_errors():
            # SQLite has no nested transactions: the outermost one commits.
            if self._db.in_transaction:
                yield
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            # KeyboardInterrupt must not leave a transaction open either.
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn errors of SQLite into a `StoreError` with a hint for the user."""
        try:
            yield
        except sqlite3.Error as error:
            if "full" in str(error).lower() or "disk i/o" in str(error).lower():
                hint = "free some space and run the same command again"
            else:
                hint = "is it the folder of an index?"
            raise StoreError(f"{self._path}: {error}; {hint} (what was written before stays)") from error

    # Documents and chunks

    def list_document_rows(self) -> list[tuple[int, str, str]]:
        """Return row, id and digest of the current documents, sorted by id."""
        return self._db.execute("SELECT row, id, digest FROM documents WHERE NOT retired ORDER BY id").fetchall()

    def put_document(self, document: Document, digest: str, chunks: Sequence[IndexedChunk]) -> None:
        """Write a document with its chunks, in place of the one with its id."""
        header = document.model_dump_json(include={"title", "repo", "version", "tags", "triples"})
        with self.write_together():
            self._retire(document.id)
            revived = self._db.execute(
                "SELECT row FROM documents WHERE id = ? AND digest = ? AND retired", (document.id, digest)
            ).fetchone()
            # The current build reads these rows, so that they are used again and not written anew.
            if revived:
                self._db.execute("UPDATE documents SET retired = 0 WHERE row = ?", revived)
                return
            row = self._db.execute(
                "INSERT INTO documents (id, digest, header, retired) VALUES (?, ?, ?, 0)",
                (document.id, digest, header),
            ).lastrowid
            self._db.executemany(
                "INSERT INTO chunks (document, position, text_key, text) VALUES (?, ?, ?, ?)",
                (
                    (row, position, compute_text_key(chunk.title, chunk.text), chunk.text)
                    for position, chunk in enumerate(chunks, 1)
                ),
            )

    def retire_documents(self, ids: Iterable[str]) -> None:
        """Retire documents: the next build does without them."""
        with self.write_together():
            for document in ids:
                self._retire(document)

    def _retire(self, document: str) -> None:
        self._db.execute("UPDATE documents SET retired = 1 WHERE id = ? AND NOT retired", (document,))

    def delete_retired(self) -> None:
        """Delete what no build reads any more: retired documents, and what was made of texts that are gone."""
        with self.write_together():
            if not self._db.execute("SELECT 1 FROM documents WHERE retired LIMIT 1").fetchone():
                return
            retired = "SELECT row FROM documents WHERE retired"
            self._db.execute(f"DELETE FROM chunks WHERE document IN ({retired})")  # noqa: S608 - a constant
            self._db.execute("DELETE FROM documents WHERE retired")
            self._db.execute("DELETE FROM embeddings WHERE text_key NOT IN (SELECT text_key FROM chunks)")
            self._db.execute(
                # What a model extracted was paid for and stays.
                "DELETE FROM extractions WHERE usage IS NULL AND text_key NOT IN (SELECT text_key FROM chunks)"
            )

    def iterate_chunks(self) -> Iterator[StoredChunk]:
        """Yield the chunks of the current documents, sorted by the id of the document and their position in it."""
        rows = self._db.execute(f"{_CHUNKS} WHERE NOT documents.retired ORDER BY documents.id, chunks.position")
        return (_build_chunk(row) for row in rows)

    def read_chunks(self, rows: Sequence[int]) -> list[IndexedChunk]:
        """Return the chunks of these rows, in this order."""
        chunks: dict[int, IndexedChunk] = {}
        for group in take_groups(rows, READ_AT_ONCE):
            marks = ", ".join("?" * len(group))
            for row in self._db.execute(f"{_CHUNKS} WHERE chunks.row IN ({marks})", group):
                stored = _build_chunk(row)
                chunks[stored.row] = stored.chunk
        if not chunks.keys() >= {*rows}:
            raise DataError(f"{self._path.parent}: the index was made anew since it was opened; open it again")
        return [chunks[row] for row in rows]

    # What was extracted and embedded

    def list_extracted(self, extractor: str) -> set[ExtractionKey]:
        """Return the keys of what this extractor has extracted."""
        rows = self._db.execute("SELECT text_key, context FROM extractions WHERE extractor = ?", (extractor,))
        return {(text, context) for text, context in rows}

    def put_extractions(
        self, extractor: str, extractions: Iterable[tuple[ExtractionKey, Extraction]], usage: Usage | None = None
    ) -> None:
        """Write extractions by their keys, with the usage if a model made them."""
        spent = None if usage is None else usage.model_dump_json()
        with self.write_together():
            self._db.executemany(
                "INSERT OR REPLACE INTO extractions (text_key, extractor, context, content, usage) "
                "VALUES (?, ?, ?, ?, ?)",
                (
                    (text, extractor, context, extraction.model_dump_json(), spent)
                    for (text, context), extraction in extractions
                ),
            )

    def iterate_extractions(self, extractor: str) -> Iterator[tuple[ExtractionKey, Extraction]]:
        """Yield what this extractor has extracted, by key and in no order."""
        rows = self._db.execute("SELECT text_key, context, content FROM extractions WHERE extractor = ?", (extractor,))
        return (((text, context), Extraction.model_validate_json(content)) for text, context, content in rows)

    def sum_usage(self) -> Usage:
        """Return the sum of the usage of all extractions by models, also of texts that are gone."""
        rows = self._db.execute("SELECT usage FROM extractions WHERE usage IS NOT NULL")
        return sum((Usage.model_validate_json(usage) for (usage,) in rows), Usage())

    def list_embedded(self, embedder: str) -> set[str]:
        """Return the keys of the texts that this embedder has embedded."""
        return {key for (key,) in self._db.execute("SELECT text_key FROM embeddings WHERE embedder = ?", (embedder,))}

    def put_embeddings(self, embedder: str, keys: Sequence[str], vectors: FloatArray) -> None:
        """Write the vectors of texts by the keys of the texts."""
        with self.write_together():
            self._db.executemany(
                "INSERT OR REPLACE INTO embeddings (text_key, embedder, vector) VALUES (?, ?, ?)",
                ((key, embedder, vector.tobytes()) for key, vector in zip(keys, vectors, strict=True)),
            )

    def read_embeddings(self, embedder: str, keys: Sequence[str], dimensions: int) -> FloatArray:
        """Return the vectors of texts, a row for each key."""
        vectors = np.zeros((len(keys), dimensions), np.float32)
        places: dict[str, list[int]] = {}
        for position, key in enumerate(keys):
            places.setdefault(key, []).append(position)
        for key, vector in self._db.execute("SELECT text_key, vector FROM embeddings WHERE embedder = ?", (embedder,)):
            if key in places:
                vectors[places.pop(key)] = np.frombuffer(vector, np.float32)
        if places:
            raise StoreError(
                f"{self._path}: {format_count(len(places), 'chunk')} without a vector; run the same command again"
            )
        return vectors


_CHUNKS = """
SELECT chunks.row, chunks.text_key, chunks.position, chunks.text, documents.id, documents.header
FROM chunks JOIN documents ON documents.row = chunks.document
"""


def _build_chunk(record: tuple[int, str, int, str, str, str]) -> StoredChunk:
    row, key, position, text, document, header = record
    fields = json.loads(header)
    return StoredChunk(row, key, IndexedChunk(id=f"{document}#{position}", doc_id=document, text=text, **fields))
