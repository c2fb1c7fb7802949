"""The content of the file of a data set: its cases, and a summary of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import Field

from greval.datasets.case_reader import CaseReader
from greval.datasets.column_map import ColumnMap
from greval.datasets.field_names import format_printable
from greval.datasets.json_files import RawRow
from greval.datasets.row_faults import RowFault
from greval.datasets.row_sources import read_rows
from greval.errors import DataError
from greval.records.case import Case
from greval.records.record import Record
from greval.runs.store.pages import MAX_PAGE_CHARACTERS
from greval.serve.case_limits import explain_refusal
from greval.serve.settings import ServerLimits

MAX_LISTED_ROWS = 100
"""The most unreadable rows that are listed; all are counted."""
MAX_UNREAD_ROWS = 100_000
"""The most unreadable rows of a file: it is no data set then, and reading on would only take time."""
MAX_LISTED_COLUMNS = 200
"""The most columns that are listed as read by another name, and as ignored."""
MAX_MESSAGE = 2_000
"""The most characters of the message about a row."""
T = TypeVar("T")


class UnreadRow(Record):
    """A row that could not be read as a case: its place and the reason."""

    place: str
    message: str


class DatasetContent(Record):
    """What a data set holds: the number of cases, the faulty rows, and what its columns were read as.

    `proposed_columns` are those that are likely to be the method and the question's id; upload the file again with them
    to compare the methods.
    """

    cases: int
    unread: tuple[UnreadRow, ...]
    unread_count: int
    fields: dict[str, str]
    ignored: tuple[str, ...]
    proposed_columns: dict[str, str] = Field(default_factory=dict)


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
        with self.name_in_errors():
            yield from read_rows(self.path, columns=columns)

    @contextmanager
    def name_in_errors(self) -> Iterator[None]:
        """Replace the path by the data set's name in the messages of errors."""
        try:
            yield
        except DataError as error:
            raise DataError(str(error).replace(str(self.path), self.name)) from error


def select_rows(
    rows: Iterable[Case | RowFault], sample_ids: Collection[str] | None, limit: int | None
) -> Iterator[Case | RowFault]:
    """Yield the rows of a data set that a run judges: those of the samples, if any are named, up to the limit.

    Rows that cannot be read belong to no sample.
    """
    ids = None if sample_ids is None else {*sample_ids}
    chosen = rows if ids is None else (row for row in rows if isinstance(row, Case) and row.id in ids)
    return islice(chosen, limit)


def inspect_dataset(file: DatasetFile, limits: ServerLimits) -> DatasetContent:
    """Read a file once, counting its cases and collecting the faults of the other rows.

    It takes time and memory that depend on what the file holds, so the server calls it in a child process.
    """
    reader = file.open(limits)
    faults: list[UnreadRow] = []
    cases = count = 0
    with file.name_in_errors():
        for row in reader:
            if isinstance(row, Case):
                cases += 1
            else:
                count += 1
                if len(faults) < MAX_LISTED_ROWS:
                    faults.append(UnreadRow(place=row.place, message=row.message[:MAX_MESSAGE]))
                if count > MAX_UNREAD_ROWS:
                    first = f"{faults[0].place}: {faults[0].message}"
                    message = f"more than {MAX_UNREAD_ROWS:,} rows are no cases; mend the file. The first: {first}"
                    raise DataError(f"{file.name}: {message}")
    return DatasetContent(
        cases=cases,
        unread=tuple(faults),
        unread_count=count,
        fields={format_printable(column): field[:MAX_MESSAGE] for column, field in _take(reader.mapping.items())},
        ignored=tuple(_take(reader.ignored_columns)),
        proposed_columns=dict(reader.proposed_columns),
    )


class DatasetSlice(NamedTuple):
    """A page of a data set: its cases and its faulty rows as JSON texts, and the row at which the next page begins.

    `next` is None on the last page.
    """

    cases: list[str]
    unread: list[str]
    next: int | None


def read_dataset_page(file: DatasetFile, limits: ServerLimits, after: int, limit: int) -> DatasetSlice:
    """Read the rows of a data set after the first ones; long ones end a page earlier, to limit its memory.

    The file is read up to the page, because ids depend on the rows before.
    """
    page = DatasetSlice([], [], None)
    length = 0
    with file.name_in_errors():
        for position, row in enumerate(islice(file.open(limits), after, None), after):
            if position - after == limit or length > MAX_PAGE_CHARACTERS:
                return page._replace(next=position)
            if isinstance(row, Case):
                page.cases.append(row.model_dump_json())
                length += len(page.cases[-1])
            else:
                page.unread.append(UnreadRow(place=row.place, message=row.message).model_dump_json())
    return page


def _take(items: Iterable[T]) -> Iterator[T]:
    return islice(items, MAX_LISTED_COLUMNS)
