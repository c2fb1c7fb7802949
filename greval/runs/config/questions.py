"""Rows that are questions: their answer is the expected one, and each names its group, by which its index is chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from greval.datasets.field_names import find_known_name, list_names
from greval.datasets.json_files import RawRow

ANSWER, EXPECTED_ANSWER = "answer", "expected_answer"


def convert_question(row: RawRow, group_by: str) -> RawRow:
    """Convert the row of a question to that of a case: its answer is the expected one, and its group is a tag.

    If there is a column such as `expected_answer`, the answer stays that of a response, which is not used. A row
    without a group is a fault.
    """
    names = dict(_map_columns(row.values, group_by))
    values = {names[name]: value for name, value in row.values.items()}
    faults = {names.get(name, name): why for name, why in row.faults.items()}
    nested = values.get("tags")
    group = values.get(f"tags.{group_by}") or (nested.get(group_by) if isinstance(nested, Mapping) else None)
    # A row that could not be read has no group either; its own fault says why.
    if group in (None, "") and "" not in faults:
        hint = "add it, or set group_by to another column"
        faults = {"": f"has no {group_by}, by which its index is chosen; {hint}"}
    return replace(row, values=values, faults=faults)


def _map_columns(row: Mapping[str, object], group_by: str) -> Iterator[tuple[str, str]]:
    """Map the columns of a row to those of a case."""
    known_names = {name: find_known_name(name) for name in row}
    truths = {*list_names(EXPECTED_ANSWER)}
    has_truth = any(field in truths and row[name] is not None for name, field in known_names.items())
    for name, field in known_names.items():
        if field == ANSWER and not has_truth:
            yield name, EXPECTED_ANSWER
        elif not field and name == group_by:
            yield name, f"tags.{name}"
        else:
            yield name, name
