"""Readers of cases by file suffix, with a record of what was mapped, ignored and rejected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import TYPE_CHECKING

from greval._util.row_index import RowIndex, hash_key
from greval._util.wording import format_count
from greval.datasets.field_names import MappedRow, format_printable, is_name_of_part
from greval.datasets.file_identity import UNKNOWN_SOURCE, CaseSource, identify_file
from greval.datasets.json_files import BOM, LIST_UNIT, RawRow, read_json_lines
from greval.datasets.row_conversion import (
    METHODS,
    RETRIEVED,
    MethodColumnFinder,
    build_case,
    get_id,
    has_methods,
    split_methods,
)
from greval.datasets.row_faults import RowFault, iterate_lines
from greval.datasets.row_fields import read_fields
from greval.datasets.row_purpose import CASE_ROWS, holds_spans
from greval.datasets.row_sources import STDIN, build_column_map, check_file, read_rows
from greval.errors import DataError
from greval.records.case import TAG, Case
from greval.records.scale_values import NOT_GIVEN

if TYPE_CHECKING:
    from greval.datasets.column_map import ColumnMap

MISSING_WORDS = NOT_GIVEN - {""}
MAX_WORD = max(map(len, MISSING_WORDS))
WORD_FIELDS = ("id", "question", "method", "answer", "expected_answer")
"""The fields in which a word such as `NA` may be meant, but is more often what a program wrote for a missing value."""
LINE_SUFFIXES = frozenset({".jsonl", ".ndjson"})
MAX_COLUMNS = 1000
"""The most columns of each kind that are recorded."""


@dataclass
class _SeenCases:
    """The cases seen so far: the row of each case, and the position of each question without an id."""

    rows: RowIndex = field(default_factory=RowIndex)
    asked: RowIndex = field(default_factory=RowIndex)
    times: RowIndex = field(default_factory=RowIndex)

    def make_id(self, question: str, method: str, position: int) -> tuple[str, bool]:
        """Return an id for a case without one, and whether another method's case of the same question has it too.

        The n-th answer of a method to a question is matched with the n-th answer of the other methods.
        """
        # The length keeps `a` + `bc` apart from `ab` + `c`.
        times = (self.times.get(f"{len(method)} {method}{question}") or 0) + 1
        self.times[f"{len(method)} {method}{question}"] = times
        first = self.asked.get(f"{times} {question}")
        if first is None:
            self.asked[f"{times} {question}"] = first = position
        return f"row-{first}", first != position


class CaseReader:
    """The cases of a file, or those that a program passes; a row that is not a valid case is returned as a `RowFault`.

    A file can be read again by iterating again, standard input cannot. The id of a case without one is made from its
    position; rows of several methods that ask the same question share the position of the first. `check` returns why a
    valid case is not accepted all the same, such as its size; it is then a `RowFault` too.

    Example:
        >>> import greval
        >>> reading = read_cases(Path(greval.__file__).parent / "demo" / "cases.jsonl")
        >>> next(iter(reading)).id
        'q01'
    """

    def __init__(  # noqa: PLR0913 - where rows come from, and how they are read
        self,
        name: str,
        rows: Callable[[], Iterator[RawRow | Case | RowFault]],
        method: str | None = None,
        path: Path | None = None,
        *,
        needed: bool = True,
        columns: ColumnMap | None = None,
        check: Callable[[Case], str | None] | None = None,
    ) -> None:
        self._name = name
        self._rows = rows
        self._method = method
        self._path = path
        self._needed = needed
        self._columns = columns
        self._check = check
        self._mapping: dict[str, str] = {}
        self._own_names: dict[str, str] = {}
        self._ignored: dict[str, str] = {}
        self._notes: dict[str, None] = {}
        self._made = 0
        self._paired = 0
        self._missing_words = Counter[tuple[str, str]]()
        self._finder = MethodColumnFinder()

    def __iter__(self) -> Iterator[Case | RowFault]:
        seen_cases = _SeenCases()
        position = 0
        self._made = self._paired = 0
        self._missing_words.clear()
        self._finder = MethodColumnFinder()
        with translate_errors(self._name):
            for position, row in enumerate(self._rows(), 1):
                if isinstance(row, Case):
                    yield self._assign_id(row, position, seen_cases, needs_id=not row.id)
                elif isinstance(row, RowFault):
                    yield row
                elif has_methods(row.values):
                    yield from (
                        self._read_row(method_row, position, seen_cases) for method_row in split_methods(row, position)
                    )
                else:
                    yield self._read_row(row, position, seen_cases)
        if not position and self._needed:
            raise DataError(f"{self._name}: holds no cases; a case is a row with at least a question")

    def count(self, limit: int | None = None) -> int | None:
        """Count the rows of the file, valid or not, without reading them as cases.

        Args:
            limit: The number at which counting stops.

        Returns:
            The number of rows, at most `limit`; None for standard input, which can be read only once, and for lines of
            spans, whose traces are known when all are read.

        Raises:
            DataError: If the file cannot be read.

        Example:
            >>> import greval
            >>> read_cases(Path(greval.__file__).parent / "demo" / "cases.jsonl").count(limit=3)
            3
        """
        if self._path is None:
            return None
        with translate_errors(self._name):
            # A Parquet file has the number of its rows in its metadata.
            if self._path.suffix.lower() == ".parquet" and (rows := _count_parquet_rows(self._path)) is not None:
                return rows if limit is None else min(rows, limit)
            has_lines = self._path.suffix.lower() in LINE_SUFFIXES
            first = next(read_json_lines(self._path, CASE_ROWS), None) if has_lines else None
            if first and holds_spans(first.values):
                return None
            counted = (
                _iterate_case_lines(self._path)
                # Lines are counted without being parsed, unless one of them may be several cases.
                if has_lines and not (first and {METHODS, RETRIEVED} & first.values.keys())
                else self._iterate_case_rows()
            )
            return sum(1 for _ in islice(counted, limit))

    def identify_source(self, *joined_files: Path, **settings: object) -> CaseSource:
        """Return what identifies the cases, `UNKNOWN` for standard input; see `identify_file`."""
        if self._path is None:
            return UNKNOWN_SOURCE
        columns = str(self._columns) if self._columns else None
        return identify_file(self._path, *joined_files, method=self._method, columns=columns, **settings)

    def check_columns(self, columns: ColumnMap) -> None:
        """Read rows until each column that is named was found; raise `DataError` if no row has one of them."""
        names: dict[str, None] = {}
        with translate_errors(self._name):
            for row in self._rows():
                if not columns.missing:
                    return
                if isinstance(row, RawRow) and len(names) < MAX_COLUMNS:
                    names.update(dict.fromkeys(row.values))
        if columns.missing and names:
            raise columns.build_missing_error(columns.missing, names, self._name)

    def _iterate_case_rows(self) -> Iterator[object]:
        for position, row in enumerate(self._rows(), 1):
            yield from split_methods(row, position) if isinstance(row, RawRow) else [row]

    @property
    def name(self) -> str:
        """The name of the input in messages."""
        return self._name

    @property
    def mapping(self) -> Mapping[str, str]:
        """The columns under other names that were read so far, each with the field or the tag it was mapped to."""
        named_columns = self._columns.mapping if self._columns else {}
        return MappingProxyType({**named_columns, **self._mapping})

    @property
    def columns(self) -> Mapping[str, str]:
        """All columns that were read so far, each with its field, the part of a field or the tag."""
        own_columns = {
            name: field_name
            for name, field_name in self._own_names.items()
            if not (self._columns and field_name in self._columns)
        }
        return MappingProxyType({**own_columns, **self.mapping})

    @property
    def ignored_reasons(self) -> Mapping[str, str]:
        """The ignored columns so far, each with the reason; it is empty for names that are not known."""
        return MappingProxyType(self._ignored)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on how the file was read so far, such as its encoding."""
        return (*self._notes, *filter(None, [self.describe_missing_words()]))

    def describe_missing_words(self) -> str | None:
        """Describe which texts so far are words for a missing value, such as `NA` from R; None if no text is."""
        if not self._missing_words:
            return None
        words = (f"{column} is {word} in {format_count(n, 'row')}" for (column, word), n in self._missing_words.items())
        return f"{', '.join(words)}, read as a text; leave such a cell empty if nothing was recorded"

    @property
    def ignored_columns(self) -> tuple[str, ...]:
        """The columns so far that match no field of a case, or whose field was read from another column."""
        return tuple(self._ignored)

    def notice(self) -> str | None:
        """Return a sentence on the names that were mapped, and the columns that became tags or were ignored, so far.

        Returns:
            The sentence, or None if every column has greval's own name.

        Example:
            >>> import greval
            >>> read_cases(Path(greval.__file__).parent / "demo" / "cases.jsonl").notice() is None
            True
        """
        tags = {name: target for name, target in self._mapping.items() if _keeps_name(name, target)}
        mapped = [f"{name} as {target}" for name, target in self.mapping.items() if name not in tags]
        missing = self._columns.missing if self._columns else {}
        parts = [
            *self.remarks,
            *(f"no row has {source}, which is to be {target}" for target, source in missing.items()),
        ]
        parts += [f"read {', '.join(map(format_printable, mapped))}"] if mapped else []
        parts += [f"tags are {', '.join(map(format_printable, tags))}"] if tags else []
        parts += [f"{format_count(self._paired, 'row')} without an id matched by the question"] if self._paired else []
        parts += [ignored] if (ignored := self.describe_ignored()) else []
        told = [f"{self._name}: {'; '.join(parts)}."] if parts else []
        told += [f"{self._name}: {proposal}"] if (proposal := self.describe_proposal()) else []
        return "\n".join(told) or None

    @property
    def proposed_columns(self) -> Mapping[str, str]:
        """The columns that are likely to be the method and the question's id, by field; empty for most files."""
        return MappingProxyType(self._finder.find_columns())

    def describe_proposal(self, format_columns: Callable[[Mapping[str, str]], str] | None = None) -> str | None:
        """Ask whether the proposed columns are the method and the id, with the options that name them.

        `format_columns` formats a column map for other callers than the command line.
        """
        question, columns = self._finder.describe(), self.proposed_columns
        return f"{question} {(format_columns or _format_options)(columns)}" if question else None

    def describe_ignored(self) -> str | None:
        """Describe what was ignored so far; None if nothing was."""
        if not self._ignored:
            return None
        return f"ignored {', '.join(f'{name} ({why})' if why else name for name, why in self._ignored.items())}"

    @property
    def has_own_ids(self) -> bool:
        """True if every case so far had an id of its own."""
        return not self._made

    def _read_row(self, row: RawRow, position: int, seen_cases: _SeenCases) -> Case | RowFault:
        """Read one row, and detect a repeated case."""
        made_id = f"row-{position}"
        if row.note:
            self._notes[row.note] = None
        # Only a row with faults is copied.
        settled = read_fields(row.valid_values if row.faults else row.values)
        renamed = {name: field_name for field_name, name in settled.names.items() if name != field_name}
        unchanged = {name: name for target, name in settled.names.items() if name == target and name in row.values}
        for name, part in settled.parts.items():
            (renamed if is_name_of_part(name) else unchanged)[name] = part
        _record_columns(self._own_names, unchanged)
        _record_columns(self._mapping, renamed | {path: f"{TAG}{name}" for path, name in settled.tagged.items()})
        case = build_case(row, settled, made_id, self._method)
        _record_columns(
            self._ignored,
            {
                column: why
                for name, why in settled.ignored.items()
                if (column := format_printable(name)) not in self._ignored
            },
        )
        if isinstance(case, str):
            row_id = get_id(settled, made_id)
            return self._build_fault(row, case, format_printable(row_id) if isinstance(row_id, str) else made_id)
        self._count_missing_words(settled)
        if not case.method:
            self._finder.add(case, settled)
        if self._check and (refusal := self._check(case)):
            return self._build_fault(row, refusal, format_printable(case.id))
        return self._assign_id(case, position, seen_cases, needs_id=settled.values.get("id") in (None, ""), row=row)

    def _count_missing_words(self, settled: MappedRow) -> None:
        for field_name in WORD_FIELDS:
            text = settled.values.get(field_name)
            if isinstance(text, str) and len(text) <= MAX_WORD and (word := text.strip()).casefold() in MISSING_WORDS:
                self._missing_words[format_printable(settled.names.get(field_name, field_name)), word] += 1

    def _assign_id(
        self, case: Case, position: int, seen_cases: _SeenCases, *, needs_id: bool, row: RawRow | None = None
    ) -> Case | RowFault:
        """Return a case with its id, or a fault if a case with the same id and method was read before.

        `row` is None for a case that a program passes.
        """
        if needs_id:
            self._made += 1
            made_id, paired = seen_cases.make_id(case.question, case.method, position)
            self._paired += paired
            case = case if case.id == made_id else case.model_copy(update={"id": made_id})
        # Hashed once for both uses.
        who = hash_key(f"{len(case.method)} {case.method}{case.id}")
        first = seen_cases.rows.get(who)
        if first is None:
            seen_cases.rows[who] = row.number if row else position
            return case
        of = f" of the method {format_printable(case.method)}" if case.method else ""
        row = row or RawRow(position, unit=LIST_UNIT)
        first_location = self._format_place(row, first)
        message = f"id: {format_printable(case.id)}{of} is at {first_location} already; give each case its own"
        return self._build_fault(row, message, case.id)

    def _build_fault(self, row: RawRow, message: str, row_id: str) -> RowFault:
        return RowFault(place=self._format_place(row, row.number), message=message, id=row_id)

    def _format_place(self, row: RawRow, number: int) -> str:
        return f"{self._name}{row.unit}{number}"


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Convert errors of the operating system to `DataError`."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror or format_printable(str(error), 200)}") from error


def _record_columns(recorded: dict[str, str], columns: Mapping[str, str]) -> None:
    """Record columns; further ones than `MAX_COLUMNS` are left out."""
    # Each row may have other columns, so that nothing else bounds their number.
    if len(recorded) + len(columns) <= MAX_COLUMNS:
        recorded.update(columns)
        return
    for name, field_name in columns.items():
        if name in recorded or len(recorded) < MAX_COLUMNS:
            recorded[name] = field_name


def _format_options(columns: Mapping[str, str]) -> str:
    return " ".join(f"--column {quote(f'{field_name}={column}')}" for field_name, column in columns.items())


def _keeps_name(column: str, target: str) -> bool:
    """Return whether a column became a tag of its own name, which may be inside an object such as `metadata`."""
    return target.startswith(TAG) and f".{column}".endswith(f".{target.removeprefix(TAG)}")


def read_cases(
    source: str | Path,
    *,
    method: str | None = None,
    columns: Mapping[str, str] | None = None,
    convert: Callable[[RawRow], RawRow] | None = None,
) -> CaseReader:
    """Read the cases of a file, or of standard input.

    Args:
        source: A path that ends in .jsonl or .ndjson (one case per line), .json (a list, or an object
            with a list under `cases` or `data`), .csv, .tsv, .parquet or .xlsx, in .run or .trec
            (TREC run) or .qrels; or "-" for standard input (one case per line, or a JSON list if it
            begins with a bracket). An empty cell of CSV, TSV or Excel means not recorded; only the
            other formats can express an empty answer. Spans of traces are a case for each trace.
        method: The method of rows that do not name one.
        columns: The column of each field that is not found by its name, such as
            `{"answer": "generated_text", "gold.essential_docs": "titles", "chunks": "retrieval.hits[*].text"}`; see
            `ColumnMap`.
        convert: Changes each row before it is read as a case.

    Returns:
        An iterable of the cases and the faulty rows. JSON lines, CSV, TSV and Parquet are
        streamed. Iterating raises `DataError` if the file as a whole cannot be read
        or is empty, and `MissingExtraError` if Parquet needs pyarrow or Excel openpyxl.

    Raises:
        DataError: If the file does not exist, is a folder, or has an unknown suffix; if `columns` has an unknown field,
            or names a column that no row has.

    Example:
        >>> import greval
        >>> reading = read_cases(Path(greval.__file__).parent / "demo" / "cases.jsonl")
        >>> sum(isinstance(row, RowFault) for row in reading)
        0
    """
    column_map = build_column_map(columns)
    path = None if source == STDIN else Path(source)

    def iterate_rows() -> Iterator[RawRow | Case | RowFault]:
        rows = read_rows(path or STDIN, columns=column_map)
        return rows if convert is None else (convert(row) if isinstance(row, RawRow) else row for row in rows)

    if path is None:
        return CaseReader("stdin", iterate_rows, method, columns=column_map)
    check_file(path)
    reading = CaseReader(format_printable(str(path), 4096), iterate_rows, method, path, columns=column_map)
    if column_map:
        reading.check_columns(column_map)
    return reading


def _iterate_case_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file that are not blank."""
    with path.open("rb") as stream:
        for number, line in enumerate(iterate_lines(stream), 1):
            content = line.removeprefix(BOM) if number == 1 else line
            if content and not content.isspace():
                yield content


def _count_parquet_rows(path: Path) -> int | None:
    """Return the number of rows in a Parquet file's metadata; None if it cannot be read, or may hold spans."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        return None
    try:
        metadata = parquet.read_metadata(path)
    except ArrowException:
        # The file is reported when it is read.
        return None
    rows: int = metadata.num_rows
    return None if holds_spans(dict.fromkeys(metadata.schema.to_arrow_schema().names)) else rows
