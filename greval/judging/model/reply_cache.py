"""Replies that are remembered, by the content of what was asked: across runs, or within one judgement.

The key is a hash of the messages, the answer's form, the model with its settings, and the number of
the repeat. Only what could be read as a verdict is remembered, a failure never.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from greval._util.files import Closing
from greval.errors import StoreError
from greval.judging.model.reply import Reply
from greval.records.record import Record

FILE = "replies.sqlite"
WAIT_SECONDS = 30.0
"""How long a process waits for another one that writes to the same file."""
COUNTED = "CREATE TEMP TABLE counted (key TEXT PRIMARY KEY) WITHOUT ROWID"
"""Whose cost is counted since the file was opened; it may be as long as the run, and goes with the connection."""
SCHEMA = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, row TEXT NOT NULL) WITHOUT ROWID"


class Size(Record):
    """How much is remembered: replies and bytes on disk."""

    path: str
    replies: int
    bytes: int


class Replies(Closing):
    """A file of replies; several processes may use it at once.

    Args:
        path: The file, made where it is missing.
        paid: Whether its replies were paid for in this run and are in no result yet, so that their
            cost counts, once; those of other runs are hits that cost nothing.

    Raises:
        StoreError: Where the file cannot be used.

    Example:
        >>> import tempfile
        >>> from greval.records.result import Usage
        >>> with Replies(Path(tempfile.mkdtemp()) / "replies.sqlite") as replies:
        ...     replies.put(Reply('{"value": 1}', Usage(calls=1), key="k"))
        ...     replies.get("k").usage.calls, replies.get("other")
        (0, None)
    """

    def __init__(self, path: Path, *, paid: bool = False) -> None:
        """Open the file."""
        self.path = path
        self._paid = paid
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, isolation_level=None, timeout=WAIT_SECONDS, check_same_thread=False)
            self._db.executescript(f"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; {SCHEMA}; {COUNTED}")
        except (OSError, sqlite3.Error) as error:
            message = f"{path}: cannot be used to remember replies: {error}; name another file, or go without"
            raise StoreError(message) from error

    def get(self, key: str) -> Reply | None:
        """Give the reply to what was asked before, None where it was not.

        Raises:
            StoreError: Where the file was damaged.
        """
        with self._told():
            found = self._db.execute("SELECT row FROM replies WHERE key = ?", (key,)).fetchone()
            paid = bool(found) and self._count(key)
        return Reply.remembered(found[0], key, paid=paid) if found else None

    def put(self, reply: Reply) -> None:
        """Remember a reply under its key.

        Raises:
            StoreError: Where the disk is full.
        """
        with self._told():
            self._db.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (reply.key, reply.dumped()))
            self._count(reply.key)

    def drop(self, key: str) -> None:
        """Forget the reply to what was asked."""
        self._db.execute("DELETE FROM replies WHERE key = ?", (key,))

    def size(self) -> Size:
        """Give how much is remembered."""
        (count,) = self._db.execute("SELECT count(*) FROM replies").fetchone()
        parts = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return Size(
            path=str(self.path), replies=count, bytes=sum(part.stat().st_size for part in parts if part.exists())
        )

    def clear(self) -> None:
        """Forget everything."""
        self._db.execute("DELETE FROM replies")
        self._db.execute("VACUUM")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _count(self, key: str) -> bool:
        """Note that a reply is counted by who puts or gets it first; say whether that is the case now."""
        return self._paid and self._db.execute("INSERT OR IGNORE INTO counted VALUES (?)", (key,)).rowcount == 1

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            message = f"{self.path}: {error}; free some space, take the file away, or go without the cache"
            raise StoreError(message) from error

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def cache_file() -> Path:
    """Give the file of the cache across runs, in greval's cache folder (`GREVAL_CACHE` names another)."""
    from greval.judging.local.cache import cache_dir

    return cache_dir().parent / FILE


def reply_key(parts: Iterable[str]) -> str:
    """Give the key of what is asked: a hash of its parts, which no two lists of parts share.

    Example:
        >>> reply_key(["ab", "c"]) == reply_key(["a", "bc"])
        False
    """
    hashed = sha256()
    for part in parts:
        text = part.encode("utf-8", "surrogatepass")
        hashed.update(len(text).to_bytes(8, "big"))
        hashed.update(text)
    return hashed.hexdigest()


def forget(path: Path) -> None:
    """Take a file of replies away, with what SQLite keeps beside it."""
    for part in (path, *(path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm"))):
        part.unlink(missing_ok=True)
