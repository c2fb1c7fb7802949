"""Files that survive a kill: atomic writes, flushed folders, locks between processes, and closing on exit."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Self

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
        if try_lock(file.fileno()):
            return file
    except BaseException:
        file.close()
        raise
    file.close()
    return None


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of a file; False if there is no such file."""
    try:
        with path.open("rb") as file:
            for _ in range(PROBES):
                if try_lock(file.fileno()):
                    return False
                time.sleep(PROBE_SECONDS)
    except FileNotFoundError:
        return False
    except OSError:
        # What cannot be probed may be locked.
        pass
    return True
