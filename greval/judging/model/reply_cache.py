"""A cache of replies by the content of the request: across runs, or as a journal of one run.

The key is a hash of the messages, the format of the answer, the model with its settings, and the number of
the repeat. Only replies that were read as a verdict are stored, never failures.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from greval._util.files import CloseOnExit, open_shared_database, read_status
from greval.errors import StoreError
from greval.records.record import Record
from greval.records.result import Failure, Usage


class ReplyOrigin(NamedTuple):
    """What a replayed reply was stored for: the number of the judged content, and the fingerprint of the metric."""

    content: int
    fingerprint: str


class Reply(NamedTuple):
    """The reply to a call: the text (JSON, if the call succeeded) or the failure, and the usage.

    `tokens` holds the log-probabilities that the model returned, and `pause` the seconds that the provider asked to
    wait. `permanent` is true if the failure would meet every further attempt, although its kind is transient.
    `key` identifies the request if replies are cached or recorded, and `known` is true for a cached reply.
    `latency` is the time of the last attempt in seconds, 0 for a cached reply. `origin` is set if a stored reply is
    replayed. `total_tokens` is the total that the provider reported. `served_by` is the model that the reply names,
    with its fingerprint; empty if it names none.
    """

    text: str
    usage: Usage
    failure: Failure | None = None
    tokens: Sequence[Mapping[str, Any]] = ()
    pause: float | None = None
    permanent: bool = False
    key: str = ""
    known: bool = False
    latency: float = 0.0
    origin: ReplyOrigin | None = None
    total_tokens: int | None = None
    served_by: str = ""

    def to_json(self) -> str:
        """Return the cached part of the reply as JSON."""
        usage = self.usage.model_dump(exclude_defaults=True)
        fields = {"text": self.text, "tokens": [*self.tokens], "usage": usage, "served_by": self.served_by}
        # As ASCII, because a token may be a lone surrogate.
        return json.dumps(fields)

    @staticmethod
    def from_json(dumped: str, key: str, *, paid: bool) -> Reply:
        """Build a reply from its cached JSON; one that was paid for in this run keeps its usage."""
        fields = json.loads(dumped)
        usage = Usage(**fields["usage"]) if paid else Usage(hits=1)
        # A cache of an earlier version does not have it.
        served_by = fields.get("served_by", "")
        return Reply(fields["text"], usage, tokens=fields["tokens"], key=key, known=True, served_by=served_by)


CACHE_FILE = "replies.sqlite"
LOCK_TIMEOUT_SECONDS = 30.0
"""The seconds for which a process waits for another one that writes to the same file."""
COUNTED_TABLE = "CREATE TEMP TABLE counted (key TEXT PRIMARY KEY) WITHOUT ROWID"
"""The keys of replies whose cost was counted since the file was opened. The table may grow with the run and is dropped
with the connection."""
REPLIES_TABLE = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, row TEXT NOT NULL) WITHOUT ROWID"


class CacheSize(Record):
    """The size of a cache: its replies and its bytes on disk."""

    path: str
    replies: int
    bytes: int


class ReplyCache(CloseOnExit):
    """A cache file of replies, created if it is missing. Several processes may use it at once.

    The usage of replies that were paid for in this run, and are in no result yet, is counted once. Replies of other
    runs are cache hits that cost nothing.
    """

    def __init__(self, path: Path, *, paid: bool = False) -> None:
        """Open the file and create its tables."""
        self.path = path
        self._paid = paid
        try:
            self._db = open_shared_database(path, f"{REPLIES_TABLE}; {COUNTED_TABLE}", LOCK_TIMEOUT_SECONDS)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"{path}: cannot be used to remember replies: {error}; name another file, or go without"
            ) from error

    def get(self, key: str) -> Reply | None:
        """Return the cached reply of a key, or None; raise `StoreError` if the file is damaged."""
        with self._wrap_errors():
            row = self._db.execute("SELECT row FROM replies WHERE key = ?", (key,)).fetchone()
            paid = bool(row) and self._count_once(key)
        return Reply.from_json(row[0], key, paid=paid) if row else None

    def put(self, reply: Reply) -> None:
        """Store a reply under its key; raise `StoreError` if it cannot be written, such as when the disk is full."""
        with self._wrap_errors():
            self._db.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (reply.key, reply.to_json()))
            self._count_once(reply.key)

    def drop(self, key: str) -> None:
        """Delete the reply of a key."""
        self._db.execute("DELETE FROM replies WHERE key = ?", (key,))

    def size(self) -> CacheSize:
        """Return the number of replies and bytes."""
        (count,) = self._db.execute("SELECT count(*) FROM replies").fetchone()
        parts = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return CacheSize(
            path=str(self.path), replies=count, bytes=sum(part.st_size for part in map(read_status, parts) if part)
        )

    def clear(self) -> None:
        """Delete all replies and shrink the file."""
        self._db.execute("DELETE FROM replies")
        self._db.execute("VACUUM")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _count_once(self, key: str) -> bool:
        """Mark a paid reply as counted, and return whether this call is the first to do so."""
        return self._paid and self._db.execute("INSERT OR IGNORE INTO counted VALUES (?)", (key,)).rowcount == 1

    @contextmanager
    def _wrap_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(
                f"{self.path}: {error}; free some space, take the file away, or go without the cache"
            ) from error

    def close(self) -> None:
        """Close the connection to the file."""
        self._db.close()


def find_cache_file() -> Path:
    """Return the file of the cache across runs, in greval's cache folder or that of `GREVAL_CACHE`."""
    from greval.judging.local.cache import cache_dir

    return cache_dir().parent / CACHE_FILE


def compute_reply_key(parts: Iterable[str]) -> str:
    """Compute the key of a request: a hash of its parts and their lengths, so that different splits differ."""
    hashed = sha256()
    for part in parts:
        text = part.encode("utf-8", "surrogatepass")
        hashed.update(len(text).to_bytes(8, "big"))
        hashed.update(text)
    return hashed.hexdigest()


def delete_cache_file(path: Path) -> None:
    """Delete a cache file, including SQLite's `-wal` and `-shm` files."""
    for part in (path, *(path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm"))):
        part.unlink(missing_ok=True)
