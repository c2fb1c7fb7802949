"""Job folders and the job queue on disk: the request, the state, the lock and the order of waiting jobs."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple, Self, TypeVar

from pydantic import ValidationError

from greval._util.files import Closing
from greval._util.whole_file import write_whole
from greval.records.record import Record
from greval.runs.store import FILE
from greval.serve.jobs.records import Order, State

ORDER = "request.json"
STATE = "state.json"
CANCEL = "cancel"
CLAIM = ".claim"
QUEUE = ".queue"
FORGOTTEN = 60.0
"""The age in seconds after which a queue entry without a folder is removed: its start was killed."""
LEFT = 24 * 60 * 60.0
T = TypeVar("T", bound=Record)


def order_of(folder: Path) -> Order | None:
    """Read what was requested; return None if the server did not start the run."""
    return _read(folder / ORDER, Order)


def state_of(folder: Path) -> State | None:
    """Read the state that the worker process wrote last; return None if the server did not start the run."""
    return _read(folder / STATE, State)


def put_state(folder: Path, state: State) -> None:
    """Write the state of a job."""
    write_whole(folder / STATE, state.model_dump_json())


def put_order(folder: Path, order: Order) -> None:
    """Write what was requested, replacing an earlier request."""
    write_whole(folder / ORDER, order.model_dump_json())


def is_run(folder: Path) -> bool:
    """Return whether a folder holds a run, started by the server or on the command line."""
    return (folder / FILE).is_file() or (folder / ORDER).is_file()


def make(folder: Path, order: Order) -> None:
    """Create the folder of a new run, atomically."""
    new = folder.with_name(f".new-{secrets.token_hex(8)}")
    new.mkdir(parents=True)
    try:
        put_order(new, order)
        put_state(new, State(status="queued"))
        new.rename(folder)
    except OSError:
        shutil.rmtree(new, ignore_errors=True)
        raise
    _to_disk(folder.parent)


def remove(folder: Path) -> None:
    """Remove a run atomically: no reader sees a part of it."""
    gone = folder.with_name(f".gone-{secrets.token_hex(8)}")
    folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def tidy(runs: Path) -> None:
    """Remove partial folders that killed processes left, for all tenants.

    Only those older than a day are removed, because a running process may still use newer ones.
    """
    for above in ("", "*/", ".datasets/", "*/.datasets/"):
        for left in (*runs.glob(f"{above}.new-*"), *runs.glob(f"{above}.gone-*")):
            with suppress(OSError):
                if time.time() - left.stat().st_mtime > LEFT:
                    shutil.rmtree(left, ignore_errors=True)


class Claim(Closing):
    """A lock that lets one process work on a run; it is released when the process ends, for whatever reason."""

    def __init__(self, held: IO[bytes]) -> None:
        """Store the locked file; use `try_acquire` to create one."""
        self._held = held

    @classmethod
    def take(cls, folder: Path) -> Self | None:
        """Acquire the lock; return None if another process holds it or the folder is gone."""
        try:
            held = (folder / CLAIM).open("wb")
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            held.close()
            return None
        return cls(held)

    def close(self) -> None:
        """Release the lock."""
        self._held.close()


class Entry(NamedTuple):
    """A job in the queue: its file in the queue and the folder of its run."""

    path: Path
    folder: Path


class Queue:
    """The waiting and running jobs of all tenants, in the order of their requests.

    Args:
        runs: The folder of runs; it holds the queue, which all processes of the server share.
    """

    def __init__(self, runs: Path) -> None:
        """Store the paths; nothing is created yet."""
        self._runs = runs
        self._folder = runs / QUEUE

    def add(self, folder: Path) -> None:
        """Append a run and flush it to disk."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_whole(self._folder / f"{time.time_ns()}-{folder.name}", str(folder.relative_to(self._runs)))
        _to_disk(self._folder)

    def length(self, runs: Path) -> int:
        """Return the number of waiting and running jobs of a tenant's folder."""
        return sum(entry.folder.parent == runs for entry in self.entries())

    def entries(self) -> list[Entry]:
        """List the jobs, oldest first; entries of killed starts are removed."""
        found = []
        for path in sorted(self._folder.glob("[!.]*"), key=lambda path: path.name):
            try:
                folder = self._runs / path.read_text(encoding="utf-8")
                forgotten = not folder.is_dir() and time.time() - path.stat().st_mtime > FORGOTTEN
            except FileNotFoundError:  # another process has finished it
                continue
            if forgotten:
                path.unlink(missing_ok=True)
            else:
                found.append(Entry(path, folder))
        return found


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        return kind.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _to_disk(folder: Path) -> None:
    above = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(above)
    finally:
        os.close(above)
