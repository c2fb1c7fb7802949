"""Readers of gold: rows with an id and the expected documents, edges and nodes, or cases, each with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from greval._util.wording import find_typo
from greval.datasets.case_reader import READERS, CaseReader, RowFault, read_cases
from greval.datasets.field_names import TRAVERSAL_NAMES, format_printable, is_known, list_names
from greval.datasets.json_text import RawRow
from greval.records.case import Case, Gold


def read_gold(path: str | Path) -> Iterator[tuple[str, Case | RowFault]]:
    """Read gold, or cases that hold gold; a row needs no question.

    The fields of gold may be under `gold`, in dotted columns such as `gold.essential_docs`, or, in rows
    without `gold`, in columns of their own names. A traversal log is read the same way, into `traversal`.

    Args:
        path: A file that `read_cases` can read.

    Returns:
        Each row with its place: the file and the line, or the row number if the file has no lines. A row
        without a question has an empty one. A column whose name is nearly that of a gold field is reported as
        a fault at its first row, because its gold would be missing.

    Raises:
        DataError: If the file cannot be read or is empty.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "gold.jsonl")
        ...     _ = file.write_text('{"id": "q1", "essential_docs": ["d1"]}', encoding="utf-8")
        ...     [case.gold.essential_docs for _, case in read_gold(file)]
        [('d1',)]
    """
    read_cases(path)  # raises early if there is nothing to read
    name, places = str(path), list[str]()
    slips: dict[str, str] = {}
    told: set[str] = set()

    def iterate_rows() -> Iterator[RawRow]:
        for row in READERS[Path(path).suffix.lower()](Path(path)):
            places[:] = [f"{name}{row.unit}{row.number}"]
            slips.update(_find_misspelt(row.values, told))
            yield replace(row, values=_add_question(_nest_gold_fields(row.values)))

    for found in CaseReader(name, iterate_rows, None, Path(path)):
        for column, near in slips.items():
            message = (
                f"{format_printable(column)}: is no field of gold, and its values are not read; did you mean {near}?"
            )
            yield places[0], RowFault(place=places[0], message=message, id=found.id)
        slips.clear()
        yield places[0], found


def _nest_gold_fields(values: Mapping[str, object]) -> Mapping[str, object]:
    """Rename bare gold columns to their dotted form, except in a traversal log."""
    if values.get("gold") is not None or not TRAVERSAL_NAMES.isdisjoint(values):
        return values
    return {f"gold.{name}" if name in Gold.model_fields else name: value for name, value in values.items()}


def _find_misspelt(values: Mapping[str, object], seen: set[str]) -> dict[str, str]:
    """Return the new columns whose names nearly match a gold field, each with that field; update `seen`."""
    if values.get("gold") is not None:
        return {}
    new = [name for name in values if name not in seen and name not in Gold.model_fields and not is_known(name)]
    seen.update(new)
    return {name: near for name in new if (near := find_typo(name, Gold.model_fields))}


def _add_question(values: Mapping[str, object]) -> Mapping[str, object]:
    """Add an empty question to a row that has none."""
    if not values or any(values.get(name) is not None for name in list_names("question")):
        return values
    return {**values, "question": ""}
