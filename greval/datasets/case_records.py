"""Cases that a program passes, as cases, mappings or rows of a table; a case as a run takes and stores it."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

from greval._util.arguments import require_iterable
from greval.datasets.case_reader import CaseReader
from greval.datasets.row_faults import RowFault
from greval.datasets.row_purpose import CASE_ROWS
from greval.datasets.row_sources import build_column_map, read_rows
from greval.errors import DataError, DataWarning
from greval.records.case import Case, Sample

CaseLike = Case | Mapping[str, object]
DEFAULT_NAME = "cases"
EXAMPLES = {
    DEFAULT_NAME: "read_cases('cases.jsonl') or [Case(...)]",
    "samples": "read_cases('questions.jsonl') or [Sample(...)]",
}
MAX_LISTED_ROWS = 1_000
"""The maximum number of unreadable rows whose messages are kept. All unreadable rows are counted."""
MAX_LISTED_VALUES = 10


class TableLike(Protocol):
    """A table of pandas, polars or pyarrow."""

    @property
    def columns(self) -> Any:  # noqa: ANN401 - an index, a list of names, or a list of columns
        """The columns."""


CaseRecords = Iterable[CaseLike | RowFault] | TableLike
"""Cases that a program may pass in place of a file."""


def read_records(
    cases: object,
    name: str = DEFAULT_NAME,
    method: str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    required: bool = True,
) -> CaseReader:
    """Read cases that a program passes, as `read_cases` reads those of a file.

    `cases` is any iterable of cases, samples, mappings, records (pydantic models, dataclasses) or faulty rows, a table
    of pandas, polars or pyarrow with a case per row, or a mapping of columns. The result of `read_cases` is returned
    unchanged. NaN as the value of a whole field means not recorded, because tables use it so. `name` is that of the
    cases in messages, `method` that of rows that do not name one. `columns` names the column of each field that is not
    found by its name, as in `read_cases`. If `required`, it is an error if there are no cases.

    Raises:
        DataError: If `cases` is one record or a text instead of several records; if `columns` has an unknown field, or
            names a column that no row has, or is given for the result of `read_cases`.

    Example:
        >>> [case.question for case in read_records([{"user_input": "Who?"}, Case(question="When?")])]
        ['Who?', 'When?']
    """
    if isinstance(cases, CaseReader):
        if columns:
            raise DataError(f"columns: {cases.name} is read already; pass them to read_cases")
        return cases
    # rows of a file need none of it
    from greval.datasets.json_files import find_list, list_table_rows
    from greval.datasets.record_rows import is_table, to_plain

    if isinstance(cases, Mapping) and not cases.keys().isdisjoint(CASE_ROWS.list_keys):
        cases = find_list(dict(cases), name)
    # A `DatasetDict` of Hugging Face is a mapping of its splits, which are tables.
    if isinstance(cases, Mapping) and cases and all(hasattr(part, "column_names") for part in cases.values()):
        splits = ", ".join(map(repr, cases))
        raise DataError(f"{name}: has several splits ({splits}); pass one of them, such as data[{next(iter(cases))!r}]")
    if isinstance(cases, Mapping) and isinstance(plain := to_plain(cases), dict):
        cases = list_table_rows(plain, CASE_ROWS) or cases
    if not is_table(cases):
        require_iterable(cases, name, EXAMPLES.get(name, EXAMPLES[DEFAULT_NAME]))
    column_map = build_column_map(columns)
    reading = CaseReader(
        name, lambda: read_rows(cases, columns=column_map), method, needed=required, columns=column_map
    )
    # Looking for the columns would use up an iterator, whose rows can be read only once.
    if column_map and not isinstance(cases, Iterator):
        reading.check_columns(column_map)
    return reading


def as_case(record: object) -> Case:
    """Return one record as a case and warn of names that match no field; raise `DataError` with every fault."""
    if isinstance(record, Case):
        return record
    case, ignored = read_record(record)
    if ignored:
        warnings.warn(f"case: {ignored}", DataWarning, stacklevel=2)
    return case


def read_record(record: object) -> tuple[Case, str | None]:
    """Return a record as a case, its id empty if it has none, and what was ignored; raise `DataError` if not valid."""
    reading = read_records([record], "case")
    (case,) = reading
    if isinstance(case, RowFault):
        raise DataError(case.message)
    return case if reading.has_own_ids else case.model_copy(update={"id": ""}), reading.describe_ignored()


Row = TypeVar("Row", bound=Sample | RowFault)


def read_case(row: Case | RowFault) -> Case:
    """Return the case of a row; raise `DataError` if the row could not be read as a case."""
    if isinstance(row, RowFault):
        raise DataError(str(row))
    return row


def dump_case(case: Case) -> str:
    """Return a case as JSON of the log; raise `DataError` if a text is not valid Unicode, which no log can store."""
    try:
        return case.model_dump_json(exclude_defaults=True)
    except ValueError as error:
        raise DataError("holds half a surrogate pair; texts must be valid Unicode") from error


def get_sample_fields(sample: Sample) -> dict[str, Any]:
    """Return the fields of a sample; of a case only those that are also fields of a sample."""
    return {name: getattr(sample, name) for name in Sample.model_fields}


def filter_by_tags(rows: Iterable[Row], filters: Mapping[str, Collection[str]]) -> Iterator[Row]:
    """Yield the samples that have one of the accepted values of each tag, and the rows that could not be read."""
    values: dict[str, dict[str, None]] = {tag: {} for tag in filters}
    has_match = not filters
    for row in rows:
        if isinstance(row, RowFault):
            yield row
            continue
        for tag in filters.keys() & row.tags.keys():
            values[tag][row.tags[tag]] = None
        if all(row.tags.get(tag) in accepted for tag, accepted in filters.items()):
            has_match = True
            yield row
    if not has_match:
        existing_values = "; ".join(
            f"{tag} is {', '.join([*present][:MAX_LISTED_VALUES]) or 'in no sample'}" for tag, present in values.items()
        )
        raise DataError(f"no sample has these tags together ({existing_values})")
