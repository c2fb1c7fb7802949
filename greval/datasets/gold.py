"""Gold: rows with an id and the expected documents, edges and nodes, read from files and joined with cases."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from greval._util.arguments import require_any
from greval._util.joins import IdJoin, JoinCounter
from greval._util.wording import find_typo
from greval.datasets.case_reader import CaseReader
from greval.datasets.column_map import ColumnMap
from greval.datasets.field_names import TRAVERSAL_NAMES, format_printable, is_known, list_names
from greval.datasets.json_files import RawRow
from greval.datasets.row_faults import RowFault
from greval.datasets.row_purpose import GOLD_ROWS
from greval.datasets.row_sources import check_file, read_rows
from greval.errors import DataError, DataWarning
from greval.records.case import Case, Gold, Sample, Traversal

JOIN_REMEDY = "give the case and its row one id"


def read_gold(path: str | Path, *, columns: Mapping[str, str] | None = None) -> Iterator[tuple[str, Case | RowFault]]:
    """Read gold, or cases that hold gold; a row needs no question.

    The fields of gold may be under `gold`, in dotted columns such as `gold.essential_docs`, or, in rows
    without `gold`, in columns of their own names. A traversal log is read the same way, into `traversal`.

    Args:
        path: A file that `read_cases` can read.
        columns: The column of each field that is not found by its name, as in `read_cases`.

    Returns:
        Each row with its place: the file and the line, or the row number if the file has no lines. A row
        without a question has an empty one. A column whose name is nearly that of a gold field is reported as
        a fault at its first row, because its gold would be missing.

    Raises:
        DataError: If the file cannot be read or is empty; if `columns` has an unknown field, or names a column that no
            row has.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "gold.jsonl")
        ...     _ = file.write_text('{"id": "q1", "essential_docs": ["d1"]}', encoding="utf-8")
        ...     [case.gold.essential_docs for _, case in read_gold(file)]
        [('d1',)]
    """
    file, column_map = Path(path), ColumnMap(columns) if columns else None
    check_file(file)
    name, places = str(path), list[str]()
    slips: dict[str, str] = {}
    seen_columns: set[str] = set()

    def iterate_rows() -> Iterator[RawRow]:
        for row in read_rows(file, GOLD_ROWS, column_map):
            # The reader asks for a row only when it needs it: the loop below finds the place of its own row.
            places[:] = [f"{name}{row.unit}{row.number}"]
            slips.update(_find_misspelt(row.values, seen_columns))
            yield replace(row, values=_add_question(_nest_gold_fields(row.values)))

    reading = CaseReader(name, iterate_rows, None, file, columns=column_map)
    if column_map:
        reading.check_columns(column_map)
        # The check has read rows of its own, which are read once more.
        slips.clear()
        seen_columns.clear()
    for row in reading:
        for column, suggestion in slips.items():
            message = (
                f"{format_printable(column)}: is no field of gold, and its values are not read; "
                f"did you mean {suggestion}?"
            )
            yield places[0], RowFault(place=places[0], message=message, id=row.id)
        slips.clear()
        yield places[0], row


def _nest_gold_fields(values: Mapping[str, object]) -> Mapping[str, object]:
    """Rename bare gold columns to their dotted form, except in a traversal log."""
    if values.get("gold") is not None or not TRAVERSAL_NAMES.isdisjoint(values):
        return values
    return {f"gold.{name}" if name in Gold.model_fields else name: value for name, value in values.items()}


def _find_misspelt(values: Mapping[str, object], seen_columns: set[str]) -> dict[str, str]:
    """Return the new columns whose names nearly match a gold field, each with that field; update `seen_columns`."""
    if values.get("gold") is not None:
        return {}
    new = [name for name in values if name not in seen_columns and name not in Gold.model_fields and not is_known(name)]
    seen_columns.update(new)
    return {name: suggestion for name in new if (suggestion := find_typo(name, Gold.model_fields))}


def _add_question(values: Mapping[str, object]) -> Mapping[str, object]:
    """Add an empty question to a row that has none."""
    if not values or any(values.get(name) is not None for name in list_names("question")):
        return values
    return {**values, "question": ""}


T = TypeVar("T")


def join_gold(cases: Iterable[T], gold: Iterable[Sample]) -> Iterator[T]:
    """Join cases with the gold of the same id.

    Args:
        cases: Cases or samples; anything else, such as a faulty row, is passed through unchanged.
        gold: Rows with `id` and `gold`; `expected_answer` and tags are used too if a row has them. Rows with the same
            id are merged, such as one with documents and one with edges.

    Returns:
        The cases. The gold and the expected answer of the rows replace those of a case; tags of the case take
        precedence. A case whose id is in no row stays unchanged. Cases are held back until the first one with a row.
        If less than half of them have one, a `DataWarning` says so at the end.

    Raises:
        DataError: If two rows of gold have the same id and contradict each other, or if no case has the id of a row.

    Example:
        >>> from greval.records.case import Case
        >>> rows = [Sample(id="q1", question="", gold={"essential_docs": ["d1"]}),
        ...         Sample(id="q1", question="", gold={"expected_nodes": ["Ada"]})]
        >>> [case.gold.expected_nodes for case in join_gold([Case(id="q1", question="Who?")], rows)]
        [('Ada',)]
    """
    by_id = merge_rows(gold)
    counter = JoinCounter(by_id, ("cases", "rows of gold"))

    def has_gold(case: T) -> bool:
        return isinstance(case, Sample) and case.id in by_id

    def attach() -> Iterator[T]:
        for case in cases:
            if isinstance(case, Sample):
                counter.add(case.id)
            yield attach_gold(case, by_id)
        # If nothing met, `require_any` has raised its error.
        if counter.met and (remark := counter.build().find_remark(JOIN_REMEDY)):
            warnings.warn(remark, DataWarning, stacklevel=2)

    return require_any(attach(), has_gold, lambda: build_unmatched_error(counter.build()))


def merge_rows(gold: Iterable[Sample]) -> dict[str, Sample]:
    """Return rows of gold by id, merging those of the same id; raise `DataError` if they contradict each other."""
    by_id: dict[str, Sample] = {}
    for row in gold:
        by_id[row.id] = _merge_row(by_id[row.id], row) if row.id in by_id else row
    return by_id


def attach_gold(case: T, gold: Mapping[str, Sample]) -> T:
    """Return a case or sample with the gold, expected answer and tags of its id; its own tags take precedence.

    Anything else is returned unchanged.
    """
    row = gold.get(case.id) if isinstance(case, Sample) else None
    if not isinstance(case, Sample) or row is None:
        return case
    fields = {"gold": row.gold, "expected_answer": row.expected_answer}
    recorded = {name: value for name, value in fields.items() if value is not None}
    return case.model_copy(update={**recorded, "tags": {**row.tags, **case.tags}})


def attach_traversal(case: T, logs: Mapping[tuple[str, str], Traversal | None]) -> T:
    """Return a case with the traversal of its id and method, or of its id if the log names no method.

    Anything that is not a case is returned unchanged.
    """
    if not isinstance(case, Case):
        return case
    traversal = logs.get((case.id, case.method)) or logs.get((case.id, ""))
    return case.model_copy(update={"traversal": traversal}) if traversal else case


def build_unmatched_error(join: IdJoin, where: str = "") -> DataError:
    """Build the error for cases and rows of a file of which no two have one id."""
    prefix = f"{where}: " if where else ""
    counts = f"rows {join.right.total:,}, cases {join.left.total:,}"
    return DataError(f"{prefix}no case has the id of a row there ({counts}){join.describe_difference()}; {JOIN_REMEDY}")


def _merge_row(first: Sample, second: Sample) -> Sample:
    """Merge two rows of gold with the same id; raise `DataError` if they contradict each other."""
    contradicted: list[str] = []

    def merge_field(name: str, mine: T | None, theirs: T | None) -> T | None:
        if mine is not None and theirs is not None and mine != theirs:
            contradicted.append(name)
        return theirs if mine is None else mine

    golds = first.gold, second.gold
    fields = {name: merge_field(name, *(getattr(gold, name, None) for gold in golds)) for name in Gold.model_fields}
    answer = merge_field("expected_answer", first.expected_answer, second.expected_answer)
    if contradicted:
        names = ", ".join(contradicted)
        hint = "keep one of them (greval gold check FILE names both)"
        raise DataError(f"gold of {first.id}: two rows differ in {names}; {hint}")
    gold = Gold(**fields) if first.gold or second.gold else None
    return first.model_copy(update={"gold": gold, "expected_answer": answer, "tags": {**second.tags, **first.tags}})
