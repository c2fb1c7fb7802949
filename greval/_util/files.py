"""Files that survive a kill: atomic writes, flushed folders, locks, databases of several processes, closing on exit."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

COMMIT_VARIABLES = (
    "GITHUB_SHA",
    "CI_COMMIT_SHA",
    "GIT_COMMIT",
    "BUILDKITE_COMMIT",
    "CIRCLE_SHA1",
    "BUILD_SOURCEVERSION",
)
"""The variables in which systems of CI name the commit: GitHub, GitLab, Jenkins, Buildkite, CircleCI."""
PROBES = 3
PROBE_SECONDS = 0.002
"""The pause between two probes of a lock, since another process's probe holds it for some microseconds."""


class CloseOnExit:
    """A base class for objects that hold a file or a connection: leaving the `with` statement closes them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the resource."""
        raise NotImplementedError


def write_atomically(path: Path, text: str) -> None:
    """Write a file atomically: readers see either the old or the new content, even after a kill or on a full disk.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "a.txt"
        >>> write_atomically(file, "one")
        >>> file.read_text(), [found.name for found in file.parent.iterdir()]
        ('one', ['a.txt'])
    """
    content = text.encode()
    # Beside the file, since no rename crosses file systems, and apart for each process.
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with new.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise


def read_status(path: Path) -> os.stat_result | None:
    """Return the status of a file, None without one, because it may be removed between a question and `stat`."""
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk, which makes the names of new, renamed and removed files durable."""
    # A folder cannot be opened on Windows.
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this process without waiting, and return whether that succeeded.

    The system releases the lock when the file is closed, also if the process is killed.
    """
    from filelock import lock_descriptor

    return lock_descriptor(descriptor, blocking=False)


def open_locked(path: Path) -> IO[str] | None:
    """Open a file that locks its folder, which is created if it does not exist; None if another process holds the lock.

    The file keeps the lock until it is closed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("w")
    try:
        if _try_lock_repeatedly(file.fileno()):
            return file
    except BaseException:
        file.close()
        raise
    file.close()
    return None


def _try_lock_repeatedly(descriptor: int) -> bool:
    """Lock an open file for this process, also if another process probes the lock now."""
    for _ in range(PROBES):
        if try_lock(descriptor):
            return True
        time.sleep(PROBE_SECONDS)
    return False


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of a file; False if there is no such file."""
    try:
        with path.open("rb") as file:
            return not _try_lock_repeatedly(file.fileno())
    except FileNotFoundError:
        return False
    except OSError:
        # What cannot be probed may be locked.
        pass
    return True


MAX_UNMOVED_CHANGES = 1_000
"""The number of changed rows after which a connection moves what is in the "-wal" file to the main file."""


class _SharedConnection(sqlite3.Connection):
    """A connection that checkpoints while no other process can write.

    SQLite's own checkpoints do not lock others out, which before 3.51.3 damages the file if a commit reuses an emptied
    log while a checkpoint begins (https://sqlite.org/wal.html#walresetbug).
    """

    _checkpointed_changes = 0

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:  # noqa: ANN401 - as in the base class
        """Execute a statement, and checkpoint if enough was written since the last time."""
        cursor = super().execute(sql, parameters)
        if not self.in_transaction and self.total_changes - self._checkpointed_changes >= MAX_UNMOVED_CHANGES:
            self._checkpointed_changes = self.total_changes
            super().execute("PRAGMA wal_checkpoint(FULL)").close()
        return cursor


def open_shared_database(path: Path, script: str, timeout: float) -> sqlite3.Connection:
    """Open a database file that several processes and threads share, and run a script that creates its tables.

    Each statement is its own transaction unless one is begun. A write is safe from the end of the process, but not
    from a power failure, until the next checkpoint.
    """
    from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random

    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(
        path, isolation_level=None, timeout=timeout, check_same_thread=False, factory=_SharedConnection
    )
    # Processes that create one file at once change its journal mode, for which SQLite itself does not wait.
    retrying = Retrying(
        retry=retry_if_exception(_is_busy), stop=stop_after_delay(timeout), wait=wait_random(0.01, 0.1), reraise=True
    )
    for attempt in retrying:
        with attempt:
            # A row takes 0.07 ms with `NORMAL`, and 2.6 ms with `FULL`.
            db.executescript(
                f"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0; {script}"
            )
    return db


def _is_busy(error: BaseException) -> bool:
    return isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode == sqlite3.SQLITE_BUSY


def find_commit(folder: Path) -> str | None:
    """Return the commit of a folder, as CI names it or of the repository of Git around it; None if it is not known.

    The files of the repository are read, so that Git need not be installed.
    """
    if named := next((os.environ[name] for name in COMMIT_VARIABLES if os.environ.get(name)), None):
        return named
    place = next((parent / ".git" for parent in (folder, *folder.parents) if (parent / ".git").exists()), None)
    try:
        if place is not None and place.is_file():
            # A worktree names its folder of Git, which names the one that it shares.
            place = Path(place.parent, place.read_text(encoding="utf-8").partition("gitdir:")[2].strip())
        if place is None:
            return None
        head = (place / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref:"):
            return head or None
        name, shared = head.removeprefix("ref:").strip(), place / "commondir"
        base = place / shared.read_text(encoding="utf-8").strip() if shared.exists() else place
        if (base / name).is_file():
            return (base / name).read_text(encoding="utf-8").strip() or None
        packed = (line.split() for line in (base / "packed-refs").read_text(encoding="utf-8").splitlines())
        return next((line[0] for line in packed if line[1:] == [name]), None)
    except (OSError, UnicodeDecodeError):
        return None
