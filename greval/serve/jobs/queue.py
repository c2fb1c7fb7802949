"""Job folders and the job queue on disk: the request, the state, the lock and the order of waiting jobs."""

from __future__ import annotations

import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple, Self, TypeVar

from pydantic import ValidationError

from greval._util.files import CloseOnExit, sync_folder, try_lock, write_atomically
from greval.records.record import Record
from greval.runs.store import FILE
from greval.serve.jobs.records import JobSpec, JobState

SPEC_FILE = "request.json"
STATE_FILE = "state.json"
CANCEL_FILE = "cancel"
LOCK_FILE = ".claim"
QUEUE_FOLDER = ".queue"
ORPHAN_SECONDS = 60.0
"""The age in seconds after which a queue entry without a folder is removed: its start was killed."""
LEFTOVER_SECONDS = 24 * 60 * 60.0
T = TypeVar("T", bound=Record)


def read_job_spec(folder: Path) -> JobSpec | None:
    """Read what was requested; return None if the server did not start the run."""
    return _read_record(folder / SPEC_FILE, JobSpec)


def read_job_state(folder: Path) -> JobState | None:
    """Read the state that the worker process wrote last; return None if the server did not start the run."""
    return _read_record(folder / STATE_FILE, JobState)


def write_job_state(folder: Path, state: JobState) -> None:
    """Write the state of a job."""
    write_atomically(folder / STATE_FILE, state.model_dump_json())


def write_job_spec(folder: Path, order: JobSpec) -> None:
    """Write what was requested, replacing an earlier request."""
    write_atomically(folder / SPEC_FILE, order.model_dump_json())


def is_run_folder(folder: Path) -> bool:
    """Return whether a folder holds a run, started by the server or on the command line."""
    return (folder / FILE).is_file() or (folder / SPEC_FILE).is_file()


def create_run_folder(folder: Path, order: JobSpec) -> None:
    """Create the folder of a new run, atomically."""
    new = folder.with_name(f".new-{secrets.token_hex(8)}")
    new.mkdir(parents=True)
    try:
        write_job_spec(new, order)
        write_job_state(new, JobState(status="queued"))
        new.rename(folder)
    except OSError:
        shutil.rmtree(new, ignore_errors=True)
        raise
    sync_folder(folder.parent)


def remove_run_folder(folder: Path) -> None:
    """Remove a run atomically: no reader sees a part of it."""
    gone = folder.with_name(f".gone-{secrets.token_hex(8)}")
    folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def remove_leftovers(runs: Path) -> None:
    """Remove partial folders that killed processes left, for all tenants.

    Only those older than a day are removed, because a running process may still use newer ones.
    """
    for above in ("", "*/", ".datasets/", "*/.datasets/"):
        for left in (*runs.glob(f"{above}.new-*"), *runs.glob(f"{above}.gone-*")):
            with suppress(OSError):
                if time.time() - left.stat().st_mtime > LEFTOVER_SECONDS:
                    shutil.rmtree(left, ignore_errors=True)


class JobLock(CloseOnExit):
    """A lock that lets one process work on a run; it is released when the process ends, for whatever reason."""

    def __init__(self, file: IO[bytes]) -> None:
        """Store the locked file; use `try_acquire` to create one."""
        self._held = file

    @classmethod
    def try_acquire(cls, folder: Path) -> Self | None:
        """Acquire the lock; return None if another process holds it or the folder is gone."""
        try:
            held = (folder / LOCK_FILE).open("wb")
        except FileNotFoundError:
            return None
        if try_lock(held.fileno()):
            return cls(held)
        held.close()
        return None

    def close(self) -> None:
        """Release the lock."""
        self._held.close()


class QueueEntry(NamedTuple):
    """A job in the queue: its file in the queue and the folder of its run."""

    path: Path
    folder: Path


class JobQueue:
    """The waiting and running jobs of all tenants, in the order of their requests.

    Args:
        runs: The folder of runs; it holds the queue, which all processes of the server share.
    """

    def __init__(self, runs: Path) -> None:
        """Store the paths; nothing is created yet."""
        self._runs = runs
        self._folder = runs / QUEUE_FOLDER

    def add(self, folder: Path) -> None:
        """Append a run and flush it to disk."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self._folder / f"{time.time_ns()}-{folder.name}", str(folder.relative_to(self._runs)))
        sync_folder(self._folder)

    def count_jobs(self, runs: Path) -> int:
        """Return the number of waiting and running jobs of a tenant's folder."""
        return sum(entry.folder.parent == runs for entry in self.list_entries())

    def list_entries(self) -> list[QueueEntry]:
        """List the jobs, oldest first; entries of killed starts are removed."""
        found = []
        for path in sorted(self._folder.glob("[!.]*"), key=lambda path: path.name):
            try:
                folder = self._runs / path.read_text(encoding="utf-8")
                forgotten = not folder.is_dir() and time.time() - path.stat().st_mtime > ORPHAN_SECONDS
            except FileNotFoundError:  # another process has finished it
                continue
            if forgotten:
                path.unlink(missing_ok=True)
            else:
                found.append(QueueEntry(path, folder))
        return found


def _read_record(path: Path, kind: type[T]) -> T | None:
    try:
        return kind.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
