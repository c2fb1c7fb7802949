"""Uploaded data sets: the file as it was sent, and a summary of its content."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path

from pydantic import Field, ValidationError

from greval._util.files import sync_folder, write_atomically
from greval.datasets import CaseReader
from greval.datasets.column_map import ColumnMap
from greval.datasets.json_files import RawRow
from greval.datasets.raw_rows import read_raw_rows
from greval.errors import DataError
from greval.records.case import Case
from greval.records.record import Record
from greval.serve.ids import build_not_found_error, create_id, resolve_folder, utc_now
from greval.serve.problems import ServeError
from greval.serve.state.file_receiver import ReceivedFile, receive_file, report_full_disk, run_to_completion

KINDS: Mapping[str, str] = {
    "application/jsonl": ".jsonl",
    "application/x-ndjson": ".jsonl",
    "application/json": ".json",
    "text/csv": ".csv",
    "application/vnd.apache.parquet": ".parquet",
}
"""File extensions by content type."""
INFO_FILE = "dataset.json"
FILE_STEM = "cases"
MAX_LISTED_ROWS = 100
"""The most unreadable rows that are listed; all are counted."""


class UnreadRow(Record):
    """A row that could not be read as a case: its place and the reason."""

    place: str
    message: str


class DatasetInfo(Record):
    """An uploaded data set.

    `cases` is the number of cases, 0 if no row could be read, `unread` the first hundred unreadable rows and
    `unread_count` the number of all; `fields` maps columns with another name to the field of a case that each became,
    `ignored` lists the columns that are no field; `columns` is the column map that it was uploaded with; `bytes` and
    `sha256` are of the file as it was sent.
    """

    id: str
    name: str
    kind: str
    cases: int
    unread: tuple[UnreadRow, ...] = ()
    unread_count: int = 0
    fields: dict[str, str]
    ignored: tuple[str, ...] = ()
    columns: dict[str, str] = Field(default_factory=dict)
    created: datetime
    bytes: int
    sha256: str


class Uploads:
    """The data sets of one tenant, each in a subfolder that is created atomically."""

    def __init__(self, folder: Path) -> None:
        """Store the folder; nothing is created yet."""
        self._folder = folder

    async def receive(
        self, name: str, kind: str, parts: AsyncIterator[bytes], most: int, columns: Mapping[str, str] | None = None
    ) -> DatasetInfo:
        """Store the file that a client sends, then read it once; `kind` is its extension, `columns` its column map.

        Raise `ServeError` if it has more than `most` bytes (413) or the disk is full (507), and `DataError` if it
        cannot be read as this kind of file.
        """
        dataset_id = create_id(name)
        new = self._folder / f".new-{secrets.token_hex(8)}"
        try:
            with report_full_disk():
                await asyncio.to_thread(new.mkdir, parents=True)
                sent = await receive_file(parts, new / f"{FILE_STEM}{kind}", most)
                found = await asyncio.to_thread(_inspect_file, dataset_id, name, sent, dict(columns or {}))
                await run_to_completion(_publish_folder, new, self._folder / dataset_id, found)
        finally:
            shutil.rmtree(new, ignore_errors=True)  # not in a thread: the request may be cancelled here too
        return found

    def find(self, dataset_id: str) -> DatasetInfo:
        """Return a data set, or raise `ServeError` (404)."""
        try:
            return DatasetInfo.model_validate_json(
                (resolve_folder(self._folder, dataset_id, "data set") / INFO_FILE).read_bytes()
            )
        except (OSError, ValidationError) as error:
            raise build_not_found_error("data set", dataset_id) from error

    def has_dataset(self, dataset_id: str) -> bool:
        """Return whether a data set exists."""
        return (resolve_folder(self._folder, dataset_id, "data set") / INFO_FILE).is_file()

    def list_datasets(self) -> list[DatasetInfo]:
        """List all data sets, newest first."""
        return sorted(self._iterate_datasets(), key=lambda one: (one.created, one.id), reverse=True)

    def _iterate_datasets(self) -> Iterator[DatasetInfo]:
        for file in self._folder.glob(f"[!.]*/{INFO_FILE}"):
            with suppress(ServeError):  # it was deleted meanwhile
                yield self.find(file.parent.name)

    def open_cases(self, dataset_id: str) -> CaseReader:
        """Open the cases of a data set; the places of its rows name the data set, not a path of this machine."""
        found = self.find(dataset_id)
        return _open_reading(self._folder / found.id / f"{FILE_STEM}{found.kind}", found.name, found.columns)

    def remove(self, dataset_id: str) -> None:
        """Remove a data set, or raise `ServeError` (404)."""
        found = self.find(dataset_id)
        gone = self._folder / f".gone-{secrets.token_hex(8)}"
        try:
            (self._folder / found.id).rename(gone)  # atomic: no reader sees a part of it
        except FileNotFoundError as error:
            raise build_not_found_error("data set", dataset_id) from error
        shutil.rmtree(gone, ignore_errors=True)


def _inspect_file(dataset_id: str, name: str, sent: ReceivedFile, columns: dict[str, str]) -> DatasetInfo:
    """Read a file once, counting its cases and collecting the faults of the other rows."""
    reading = _open_reading(sent.path, name, columns)
    faults: list[UnreadRow] = []
    cases = count = 0
    with _name_in_errors(sent.path, name):
        for row in reading:
            if isinstance(row, Case):
                cases += 1
            else:
                count += 1
                if len(faults) < MAX_LISTED_ROWS:
                    faults.append(UnreadRow(place=row.place, message=row.message))
    return DatasetInfo(
        id=dataset_id,
        name=name,
        kind=sent.path.suffix,
        cases=cases,
        unread=tuple(faults),
        unread_count=count,
        fields=dict(reading.mapping),
        ignored=reading.ignored_columns,
        columns=columns,
        created=utc_now(),
        bytes=sent.bytes,
        sha256=sent.sha256,
    )


def _open_reading(path: Path, name: str, columns: Mapping[str, str]) -> CaseReader:
    """Open the cases of a file; raise `DataError` if a column that is named is not there."""
    named = ColumnMap(columns) if columns else None
    reading = CaseReader(name, partial(_iterate_rows, path, name, named), None, path, columns=named)
    if named:
        reading.check_columns(named)
    return reading


def _iterate_rows(path: Path, name: str, columns: ColumnMap | None) -> Iterator[RawRow]:
    with _name_in_errors(path, name):
        yield from read_raw_rows(path, columns)


def _publish_folder(new: Path, folder: Path, found: DatasetInfo) -> None:
    """Move a data set to its final folder and flush it to disk, atomically."""
    write_atomically(new / INFO_FILE, found.model_dump_json())
    new.rename(folder)
    sync_folder(folder.parent)


@contextmanager
def _name_in_errors(path: Path, name: str) -> Iterator[None]:
    """Replace the path by the data set's name in the messages of errors."""
    try:
        yield
    except DataError as error:
        raise DataError(str(error).replace(str(path), name)) from error
