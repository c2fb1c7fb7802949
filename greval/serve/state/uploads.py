"""Uploaded data sets: the file as it was sent, and a summary of its content."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from greval._util.whole_file import write_whole
from greval.datasets import Reading, RowFault
from greval.datasets.case_reader import READERS
from greval.datasets.json_text import Raw
from greval.errors import DataError
from greval.records.case import Case
from greval.records.record import Record
from greval.serve.ids import absent, inside, made_id, now
from greval.serve.problems import ServeError
from greval.serve.state.file_receiver import Sent, receive, room, to_the_end

KINDS: Mapping[str, str] = {
    "application/jsonl": ".jsonl",
    "application/x-ndjson": ".jsonl",
    "application/json": ".json",
    "text/csv": ".csv",
    "application/vnd.apache.parquet": ".parquet",
}
"""File extensions by content type."""
ABOUT = "dataset.json"
STEM = "cases"
MOST_TOLD = 100
"""The most unreadable rows that are listed; all are counted."""


class Unread(Record):
    """A row that could not be read as a case: its place and the reason."""

    place: str
    message: str


class Dataset(Record):
    """An uploaded data set.

    `cases` is the number of cases, 0 if no row could be read, `unread` the first hundred unreadable rows and
    `unread_count` the number of all; `fields` maps columns with another name to the field of a case that each became,
    `ignored` lists the columns that are no field; `bytes` and `sha256` are of the file as it was sent.
    """

    id: str
    name: str
    kind: str
    cases: int
    unread: tuple[Unread, ...] = ()
    unread_count: int = 0
    fields: dict[str, str]
    ignored: tuple[str, ...] = ()
    created: datetime
    bytes: int
    sha256: str


class Uploads:
    """The data sets of one tenant.

    Args:
        folder: Their folder; each has a subfolder, which is created atomically.
    """

    def __init__(self, folder: Path) -> None:
        """Store the folder; nothing is created yet."""
        self._folder = folder

    async def take(self, name: str, kind: str, parts: AsyncIterator[bytes], most: int) -> Dataset:
        """Store the file that a client sends, then read it once.

        Args:
            name: The client's name for it.
            kind: The file extension.
            parts: The parts of the file.
            most: The most bytes that are accepted.

        Raises:
            ServeError: If it is too large (413), or the disk is full (507).
            DataError: If it cannot be read as this kind of file.
        """
        made = made_id(name)
        new = self._folder / f".new-{secrets.token_hex(8)}"
        try:
            with room():
                await asyncio.to_thread(new.mkdir, parents=True)
                sent = await receive(parts, new / f"{STEM}{kind}", most)
                found = await asyncio.to_thread(_looked_through, made, name, sent)
                await to_the_end(_settle, new, self._folder / made, found)
        finally:
            shutil.rmtree(new, ignore_errors=True)  # not in a thread: the request may be cancelled here too
        return found

    def find(self, given: str) -> Dataset:
        """Return a data set.

        Raises:
            ServeError: If there is no data set with this id (404).
        """
        try:
            return Dataset.model_validate_json((inside(self._folder, given, "data set") / ABOUT).read_bytes())
        except (OSError, ValidationError) as error:
            raise absent("data set", given) from error

    def holds(self, given: str) -> bool:
        """Return whether a data set exists."""
        return (inside(self._folder, given, "data set") / ABOUT).is_file()

    def all(self) -> list[Dataset]:
        """List all data sets, newest first."""
        return sorted(self._there(), key=lambda one: (one.created, one.id), reverse=True)

    def _there(self) -> Iterator[Dataset]:
        for file in self._folder.glob(f"[!.]*/{ABOUT}"):
            with suppress(ServeError):  # it was deleted meanwhile
                yield self.find(file.parent.name)

    def reading(self, given: str) -> Reading:
        """Open the cases of a data set; the places of its rows name the data set, not a path of this machine.

        Raises:
            ServeError: If there is no data set with this id (404).
        """
        found = self.find(given)
        return _reading(self._folder / found.id / f"{STEM}{found.kind}", found.name)

    def remove(self, given: str) -> None:
        """Remove a data set.

        Raises:
            ServeError: If there is no data set with this id (404).
        """
        found = self.find(given)
        gone = self._folder / f".gone-{secrets.token_hex(8)}"
        try:
            (self._folder / found.id).rename(gone)  # atomic: no reader sees a part of it
        except FileNotFoundError as error:
            raise absent("data set", given) from error
        shutil.rmtree(gone, ignore_errors=True)


def _looked_through(made: str, name: str, sent: Sent) -> Dataset:
    """Read a file once, counting its cases and collecting the faults of the other rows."""
    reading = _reading(sent.path, name)
    faults: list[Unread] = []
    cases = count = 0
    with _named(sent.path, name):
        for row in reading:
            if isinstance(row, Case):
                cases += 1
            else:
                count += 1
                faults += [_unread(row)] if len(faults) < MOST_TOLD else []
    return Dataset(
        id=made,
        name=name,
        kind=sent.path.suffix,
        cases=cases,
        unread=tuple(faults),
        unread_count=count,
        fields=dict(reading.mapping),
        ignored=reading.ignored,
        created=now(),
        bytes=sent.bytes,
        sha256=sent.sha256,
    )


def _unread(row: RowFault) -> Unread:
    return Unread(place=row.place, message=row.message)


def _reading(path: Path, name: str) -> Reading:
    return Reading(name, partial(_rows, path, name), None, path)


def _rows(path: Path, name: str) -> Iterator[Raw]:
    with _named(path, name):
        yield from READERS[path.suffix](path)


def _settle(new: Path, folder: Path, found: Dataset) -> None:
    """Move a data set to its final folder and flush it to disk, atomically."""
    write_whole(new / ABOUT, found.model_dump_json())
    new.rename(folder)
    above = os.open(folder.parent, os.O_RDONLY)
    try:
        os.fsync(above)
    finally:
        os.close(above)


@contextmanager
def _named(path: Path, name: str) -> Iterator[None]:
    """Replace the path by the data set's name in the messages of errors."""
    try:
        yield
    except DataError as error:
        raise DataError(str(error).replace(str(path), name)) from error
