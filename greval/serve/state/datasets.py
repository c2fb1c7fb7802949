"""Uploaded data sets: the file as it was sent, a summary of its content, and its cases."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, ValidationError

from greval.datasets.case_reader import CaseReader
from greval.datasets.column_map import ColumnMap
from greval.datasets.field_names import format_printable
from greval.datasets.json_files import RawRow
from greval.datasets.row_faults import RowFault, build_unreadable_error
from greval.datasets.row_sources import read_rows
from greval.errors import DataError, word_message
from greval.records.case import Case
from greval.records.record import Record
from greval.runs.store.pages import MAX_PAGE_CHARACTERS
from greval.serve.case_limits import explain_refusal
from greval.serve.ids import build_not_found_error, resolve_folder
from greval.serve.problems import ServeError, build_fault
from greval.serve.schemas.cursors import NamedPosition, encode_cursor
from greval.serve.service import Tenant
from greval.serve.settings import ServerLimits
from greval.serve.state.file_receiver import ReceivedFile
from greval.serve.state.whole_folders import remove_folder

INFO_FILE = "dataset.json"
FILE_STEM = "cases"
MAX_LISTED_ROWS = 100
"""The most unreadable rows that are listed; all are counted."""
MAX_UNREAD_ROWS = 100_000
"""The most unreadable rows of a file: it is no data set then, and reading on would only take time."""
MAX_LISTED_COLUMNS = 200
"""The most columns that are listed as read by another name, and as ignored."""
MAX_NAME = 200
"""The most characters of the name of an ignored column."""
MAX_MESSAGE = 2_000
"""The most characters of the message about a row."""


class UnreadRow(Record):
    """A row that could not be read as a case: its place and the reason."""

    place: str
    message: str


class DatasetInfo(Record):
    """An uploaded data set.

    `cases` is the number of cases, `unread` the first hundred rows that are not judged, as they are no case or beyond
    a limit of the server, and `unread_count` the number of all; `fields` maps columns with another name to the field of
    a case that each became, `read_columns` all columns to their field, `ignored` lists the columns that are no field,
    the first 200 of each; `columns` is the column map that it was uploaded with, and `proposed_columns` one that gives
    the cases their methods, if a column seems to name them; `bytes` and `sha256` are of the file as it was sent.
    """

    id: str
    name: str
    kind: str
    cases: int
    unread: tuple[UnreadRow, ...] = ()
    unread_count: int = 0
    fields: dict[str, str]
    read_columns: dict[str, str] = Field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    columns: dict[str, str] = Field(default_factory=dict)
    proposed_columns: dict[str, str] = Field(default_factory=dict)
    created: datetime
    bytes: int
    sha256: str


class DatasetFile(NamedTuple):
    """The file of a data set, its name and its column map: what a process needs to read its cases."""

    path: Path
    name: str
    columns: Mapping[str, str]

    def open(self, limits: ServerLimits) -> CaseReader:
        """Open the cases; raise `DataError` if a column that is named is not there.

        A case that exceeds the limits, or holds nothing, is a faulty row. The places of its rows name the data set, not
        a path of this machine.
        """
        column_map = ColumnMap(self.columns) if self.columns else None
        check, rows = partial(explain_refusal, limits=limits), partial(self._iterate_rows, column_map)
        reader = CaseReader(self.name, rows, None, self.path, columns=column_map, check=check)
        if column_map:
            reader.check_columns(column_map)
        return reader

    def _iterate_rows(self, columns: ColumnMap | None) -> Iterator[RawRow]:
        try:
            yield from read_rows(self.path, columns=columns)
        except DataError as error:
            raise DataError(str(error).replace(str(self.path), self.name), columns=error.columns) from error


def select_rows(
    rows: Iterable[Case | RowFault], sample_ids: Collection[str] | None, limit: int | None
) -> Iterator[Case | RowFault]:
    """Yield the rows of a data set that a run judges: those of the samples, if any are named, up to the limit.

    Rows that cannot be read belong to no sample.
    """
    ids = None if sample_ids is None else {*sample_ids}
    chosen = rows if ids is None else (row for row in rows if isinstance(row, Case) and row.id in ids)
    return islice(chosen, limit)


def inspect_dataset(file: DatasetFile, sent: ReceivedFile, dataset_id: str, limits: ServerLimits) -> DatasetInfo:
    """Read a file once, counting its cases and collecting the faults of the other rows."""
    reader = file.open(limits)
    unread: list[UnreadRow] = []
    cases = unread_count = 0
    for row in reader:
        if isinstance(row, Case):
            cases += 1
            continue
        unread_count += 1
        if len(unread) < MAX_LISTED_ROWS:
            unread.append(UnreadRow(place=row.place, message=word_message(row.message)[:MAX_MESSAGE]))
        if unread_count > MAX_UNREAD_ROWS:
            first = f"{unread[0].place}: {unread[0].message}"
            message = f"more than {MAX_UNREAD_ROWS:,} rows are no cases; mend the file. The first: {first}"
            raise DataError(f"{file.name}: {message}")
    if not cases:
        lines = [f"{row.place}: {row.message}" for row in unread]
        faults = [build_fault(row.place, row.message) for row in unread]
        message = str(build_unreadable_error(lines, unread_count))
        columns = dict.fromkeys((*map(format_printable, reader.columns), *reader.ignored_columns))
        raise ServeError("invalid_case", message, faults=faults, columns=columns)
    return DatasetInfo(
        id=dataset_id,
        name=file.name,
        kind=file.path.suffix,
        cases=cases,
        unread=tuple(unread),
        unread_count=unread_count,
        fields=_name_fields(reader.mapping),
        read_columns=_name_fields(reader.columns),
        ignored=tuple(name[:MAX_NAME] for name in islice(reader.ignored_columns, MAX_LISTED_COLUMNS)),
        columns=dict(file.columns),
        proposed_columns=dict(reader.proposed_columns),
        created=datetime.now(UTC),
        bytes=sent.bytes,
        sha256=sent.sha256,
    )


def _name_fields(columns: Mapping[str, str]) -> dict[str, str]:
    """Return the field of each column, of the first ones and with printable names."""
    listed = islice(columns.items(), MAX_LISTED_COLUMNS)
    return {format_printable(column): field[:MAX_MESSAGE] for column, field in listed}


def dump_dataset_page(file: DatasetFile, limits: ServerLimits, after: int, limit: int) -> str:
    """Return the rows of a data set after the first ones as a page of JSON; long rows end it earlier.

    The file is read up to the page, because ids depend on the rows before.
    """
    cases: list[str] = []
    unread: list[str] = []
    following: int | None = None
    length = 0
    for position, row in enumerate(islice(file.open(limits), after, None), after):
        if position - after == limit or length > MAX_PAGE_CHARACTERS:
            following = position
            break
        if isinstance(row, Case):
            cases.append(row.model_dump_json())
            length += len(cases[-1])
        else:
            unread.append(UnreadRow(place=row.place, message=row.message).model_dump_json())
    cursor = json.dumps(encode_cursor(following))
    return f'{{"cases":[{",".join(cases)}],"unread":[{",".join(unread)}],"next":{cursor}}}'


def find_dataset(tenant: Tenant, dataset_id: str) -> DatasetInfo:
    """Return a data set of a tenant, or raise `ServeError` (404)."""
    try:
        return DatasetInfo.model_validate_json(
            (resolve_folder(tenant.datasets, dataset_id, "data set") / INFO_FILE).read_bytes()
        )
    except (OSError, ValidationError) as error:
        raise build_not_found_error("data set", dataset_id) from error


def find_dataset_file(tenant: Tenant, dataset_id: str) -> DatasetFile:
    """Return the file of a data set, as it was sent, or raise `ServeError` (404)."""
    info = find_dataset(tenant, dataset_id)
    return DatasetFile(tenant.datasets / info.id / f"{FILE_STEM}{info.kind}", info.name, info.columns)


def dump_datasets(tenant: Tenant, before: NamedPosition | None, limit: int) -> str:
    """Return data sets, newest first, as a page of JSON; long ones end it earlier."""
    files = {file.parent.name: file for file in tenant.datasets.glob(f"[!.]*/{INFO_FILE}")}
    positions = sorted(((file.stat().st_mtime_ns, name) for name, file in files.items()), reverse=True)
    if before:
        positions = [position for position in positions if position < before]
    infos: list[str] = []
    last: NamedPosition | None = None
    for position in positions:
        if len(infos) == limit or sum(map(len, infos)) > MAX_PAGE_CHARACTERS:
            break
        last = position
        # It was deleted meanwhile.
        with suppress(OSError):
            infos.append(files[position[1]].read_text(encoding="utf-8"))
    cursor = json.dumps(encode_cursor([*last] if last and last != positions[-1] else None))
    return f'{{"datasets":[{",".join(infos)}],"next":{cursor}}}'


def remove_dataset(tenant: Tenant, dataset_id: str) -> None:
    """Remove a data set, or raise `ServeError` (404)."""
    info = find_dataset(tenant, dataset_id)
    try:
        remove_folder(tenant.datasets / info.id)
    except FileNotFoundError as error:
        raise build_not_found_error("data set", dataset_id) from error
