"""Cases that a program passes, as cases, mappings or rows of a table; a case as a run takes and stores it."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from math import isnan
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from greval._util.arguments import require_iterable
from greval.datasets.case_reader import CaseReader
from greval.datasets.column_map import ColumnMap
from greval.datasets.json_files import LIST_KEYS, LIST_UNIT, RawRow, build_row, find_list
from greval.datasets.replies.objects import read_attributes
from greval.datasets.row_faults import RowFault
from greval.errors import DataError, DataWarning
from greval.records.case import Case, Sample

CaseLike = Case | Mapping[str, object]
DEFAULT_NAME = "cases"
EXAMPLES = {
    DEFAULT_NAME: "read_cases('cases.jsonl') or [Case(...)]",
    "samples": "read_cases('questions.jsonl') or [Sample(...)]",
}
_MISSING_TYPES = frozenset({"NAType", "NaTType"})
"""The types of the missing values of pandas, neither of which equals itself."""
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

    `cases` is any iterable of cases, samples, mappings, records (pydantic models, dataclasses) or faulty rows, or a
    table of pandas, polars or pyarrow with a case per row. The result of `read_cases` is returned unchanged. NaN as the
    value of a whole field means not recorded, because tables use it so. `name` is that of the cases in messages,
    `method` that of rows that do not name one. `columns` names the column of each field that is not found by its name,
    as in `read_cases`. If `required`, it is an error if there are no cases.

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
    if isinstance(cases, Mapping) and not cases.keys().isdisjoint(LIST_KEYS):
        cases = find_list(dict(cases), name)
    if isinstance(cases, Mapping) and cases and all(hasattr(part, "column_names") for part in cases.values()):
        splits = ", ".join(map(repr, cases))
        raise DataError(f"{name}: has several splits ({splits}); pass one of them, such as data[{next(iter(cases))!r}]")
    if not is_table(cases):
        require_iterable(cases, name, EXAMPLES.get(name, EXAMPLES[DEFAULT_NAME]))
    named = ColumnMap(columns) if columns else None
    reading = CaseReader(name, lambda: iterate_rows(cases, named), method, needed=required, columns=named)
    if named and not isinstance(cases, Iterator):
        reading.check_columns(named)
    return reading


def as_case(given: object) -> Case:
    """Return one record as a case and warn of names that match no field; raise `DataError` with every fault.

    Example:
        >>> as_case({"user_input": "Who?", "response": "Ada."}).answer
        'Ada.'
    """
    if isinstance(given, Case):
        return given
    case, ignored = read_record(given)
    if ignored:
        warnings.warn(f"case: {ignored}", DataWarning, stacklevel=2)
    return case


def read_record(given: object) -> tuple[Case, str | None]:
    """Return a record as a case, its id empty if it has none, and what was ignored; raise `DataError` if not valid."""
    reading = read_records([given], "case")
    (case,) = reading
    if isinstance(case, RowFault):
        raise DataError(case.message)
    return case if reading.has_own_ids else case.model_copy(update={"id": ""}), reading.describe_ignored()


def is_table(given: object) -> bool:
    """Return whether a value is a table of pandas, polars or pyarrow, judged by its attributes.

    Example:
        >>> is_table([{"question": "Who?"}])
        False
    """
    return not isinstance(given, Mapping) and any(
        _has_table_method(given, name) for name in ("iter_rows", "to_pylist", "itertuples")
    )


def _has_table_method(given: object, name: str) -> bool:
    return hasattr(given, name) and (hasattr(given, "columns") or hasattr(given, "column_names"))


def iterate_rows(cases: object, columns: ColumnMap | None = None) -> Iterator[RawRow | Case | RowFault]:
    """Yield what a program passes as raw rows; cases and faulty rows stay as they are."""
    for number, given in enumerate(_iterate_records(cases), 1):
        yield given if isinstance(given, Case | RowFault) else _convert_row(given, number, columns)


def _iterate_records(cases: Any) -> Iterable[object]:  # noqa: ANN401 - tables of packages that are not imported
    """Return the rows of a table as mappings, or the items of anything else."""
    if not is_table(cases):
        given: Iterable[object] = cases
        return given
    if hasattr(cases, "iter_rows"):  # polars
        named: Iterable[object] = cases.iter_rows(named=True)
        return named
    if hasattr(cases, "to_pylist"):  # pyarrow
        listed: Iterable[object] = cases.to_pylist()
        return listed
    if any(name is not None for name in cases.index.names):  # pandas: an index with a name is a column
        cases = cases.reset_index()
    return (dict(zip(cases.columns, row, strict=True)) for row in cases.itertuples(index=False, name=None))


def _convert_row(given: object, number: int, columns: ColumnMap | None) -> RawRow:
    try:
        content = to_plain(given)
        if isinstance(content, dict):
            content = {name: None if _is_nan(value) else value for name, value in content.items()}
        row = build_row(content, number, LIST_UNIT, doubtful=True)
    except RecursionError:
        return RawRow(number, faults={"": "is nested too deeply"}, unit=LIST_UNIT)
    row = columns.apply(row) if columns else row
    return replace(row, values={name: value for name, value in row.values.items() if value is not None})


def to_plain(value: Any) -> object:  # noqa: ANN401 - whatever a program hands over
    """Convert a record to JSON-like values: mappings, lists, texts and numbers; other values stay unchanged.

    Example:
        >>> to_plain({"gold": {"essential_docs": {"d2", "d1"}}})
        {'gold': {'essential_docs': ['d1', 'd2']}}
    """
    if value is None or isinstance(value, str | int | float):
        return float(value) if isinstance(value, float) else value  # numpy floats are instances of float
    if isinstance(value, Mapping):
        return {name if isinstance(name, str) else str(name): to_plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(part) for part in value]
    if isinstance(value, set | frozenset):
        return sorted((to_plain(part) for part in value), key=str)
    return _convert_object(value)


def _convert_object(value: Any) -> object:  # noqa: ANN401 - as above
    """Convert a document, a message, a reply, a table, a model, a dataclass or a numpy value to plain values."""
    if is_table(value):
        return [to_plain(row) for row in _iterate_records(value)]
    if isinstance(value, BaseModel):
        return to_plain({name: getattr(value, name) for name in type(value).model_fields})
    if is_dataclass(value) and not isinstance(value, type):
        return to_plain({field.name: getattr(value, field.name) for field in fields(value)})
    if hasattr(value, "tolist"):
        return to_plain(value.tolist())
    if (content := read_attributes(value)) is not None:
        return to_plain(content)
    return None if type(value).__name__ in _MISSING_TYPES else value


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and isnan(value)


Row = TypeVar("Row", bound=Sample | RowFault)


def read_case(given: Case | RowFault) -> Case:
    """Return the case of a row; raise `DataError` if the row could not be read as a case."""
    if isinstance(given, RowFault):
        raise DataError(f"{given.place}: {given.message}")
    return given


def dump_case(case: Case) -> str:
    """Return a case as JSON of the log; raise `DataError` if a text is not valid Unicode, which no log can store."""
    try:
        return case.model_dump_json(exclude_defaults=True)
    except ValueError as error:
        raise DataError("holds half a surrogate pair; texts must be valid Unicode") from error


def get_sample_fields(sample: Sample) -> dict[str, Any]:
    """Return the fields of a sample; of a case only those that are also fields of a sample.

    Example:
        >>> fields = get_sample_fields(Case(id="q1", question="Who?", answer="Ada."))
        >>> Sample(**fields) == Sample(id="q1", question="Who?")
        True
    """
    return {name: getattr(sample, name) for name in Sample.model_fields}


def filter_by_tags(rows: Iterable[Row], filters: Mapping[str, Collection[str]]) -> Iterator[Row]:
    """Yield the samples that have one of the accepted values of each tag, and the rows that could not be read.

    Raises:
        DataError: At the end, if no sample matches. The message lists the existing values.

    Example:
        >>> rows = [Sample(question="Who?", tags={"level": "easy"}), Sample(question="Why?", tags={"level": "hard"})]
        >>> [row.question for row in filter_by_tags(rows, {"level": ["hard"]})]
        ['Why?']
    """
    values: dict[str, dict[str, None]] = {tag: {} for tag in filters}
    found = not filters
    for row in rows:
        if isinstance(row, RowFault):
            yield row
            continue
        for tag in filters.keys() & row.tags.keys():
            values[tag][row.tags[tag]] = None
        if all(row.tags.get(tag) in accepted for tag, accepted in filters.items()):
            found = True
            yield row
    if not found:
        known = "; ".join(
            f"{tag} is {', '.join([*present][:MAX_LISTED_VALUES]) or 'in no sample'}" for tag, present in values.items()
        )
        raise DataError(f"no sample has these tags together ({known})")
