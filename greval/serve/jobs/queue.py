"""The folder of a run that the server started: what was asked for, how it stands, and who works on it."""

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
"""An entry of the queue without a folder after so many seconds is of a start that was killed."""
LEFT = 24 * 60 * 60.0
T = TypeVar("T", bound=Record)


def order_of(folder: Path) -> Order | None:
    """Give what was asked for, None where the server did not start the run."""
    return _read(folder / ORDER, Order)


def state_of(folder: Path) -> State | None:
    """Give how a run stands as its process last wrote it, None where the server did not start it."""
    return _read(folder / STATE, State)


def put_state(folder: Path, state: State) -> None:
    """Write down how a run stands."""
    write_whole(folder / STATE, state.model_dump_json())


def put_order(folder: Path, order: Order) -> None:
    """Write down what was asked for, in place of what was asked for before."""
    write_whole(folder / ORDER, order.model_dump_json())


def is_run(folder: Path) -> bool:
    """Say whether a folder is that of a run, of the server or of the command line."""
    return (folder / FILE).is_file() or (folder / ORDER).is_file()


def make(folder: Path, order: Order) -> None:
    """Make the folder of a new run; it is there in full or not at all."""
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
    """Take a run away; nobody finds a part of it."""
    gone = folder.with_name(f".gone-{secrets.token_hex(8)}")
    folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def tidy(runs: Path) -> None:
    """Take away what killed processes left half made, of all tenants; what is a day old is nobody's work any more."""
    for above in ("", "*/", ".datasets/", "*/.datasets/"):
        for left in (*runs.glob(f"{above}.new-*"), *runs.glob(f"{above}.gone-*")):
            with suppress(OSError):
                if time.time() - left.stat().st_mtime > LEFT:
                    shutil.rmtree(left, ignore_errors=True)


class Claim(Closing):
    """The right to work on a run: one process has it, and loses it when it ends, however it ends."""

    def __init__(self, held: IO[bytes]) -> None:
        """Use `take`."""
        self._held = held

    @classmethod
    def take(cls, folder: Path) -> Self | None:
        """Take it, None where another has it or the folder is gone."""
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
        """Give it back."""
        self._held.close()


class Entry(NamedTuple):
    """A run that is to be worked on."""

    path: Path
    folder: Path


class Queue:
    """The runs of all tenants that wait or are worked on, in the order in which they were asked for.

    Args:
        runs: The folder of runs; the queue is in it, for all processes of the server.
    """

    def __init__(self, runs: Path) -> None:
        """Make nothing yet."""
        self._runs = runs
        self._folder = runs / QUEUE

    def add(self, folder: Path) -> None:
        """Put a run at the end, on the disk."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_whole(self._folder / f"{time.time_ns()}-{folder.name}", str(folder.relative_to(self._runs)))
        _to_disk(self._folder)

    def length(self, runs: Path) -> int:
        """Give how many runs of a tenant's folder wait or are worked on."""
        return sum(entry.folder.parent == runs for entry in self.entries())

    def entries(self) -> list[Entry]:
        """Give the runs, the first asked for first."""
        found = []
        for path in sorted(self._folder.glob("[!.]*"), key=lambda path: path.name):
            try:
                folder = self._runs / path.read_text(encoding="utf-8")
                forgotten = not folder.is_dir() and time.time() - path.stat().st_mtime > FORGOTTEN
            except FileNotFoundError:  # another process is done with it
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
