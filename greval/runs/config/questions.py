"""The questions of an evaluation: rows with a question, a ground truth and a group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from greval.datasets import CaseReader, RowFault
from greval.datasets.case_records import get_sample_fields
from greval.datasets.field_names import FIELD_BY_NAME, find_known_name, format_printable, list_names, split_dotted
from greval.datasets.json_files import RawRow
from greval.datasets.row_faults import describe_row_faults
from greval.datasets.row_sources import check_file, read_rows
from greval.errors import DataError
from greval.records.case import Sample

ANSWER = "answer"
SAMPLE_FIELDS = frozenset(Sample.model_fields)


@dataclass(frozen=True)
class Questions:
    """The content of a dataset: its samples, the faults of rows that are not samples, and the ignored columns."""

    samples: tuple[Sample, ...]
    faults: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


def read_questions(path: Path, group_by: str) -> Questions:
    """Read the questions of a dataset with the readers of cases.

    The column `answer` is the ground truth, unless there is one such as `expected_answer`. Every row must have the
    column `group_by`.

    Raises:
        DataError: If the file cannot be read, or no row of it is a question.
    """
    check_file(path)
    ignored: dict[str, None] = {}

    def iterate_renamed() -> Iterator[RawRow]:
        return (_rename_columns(row, group_by, ignored) for row in read_rows(path))

    samples: list[Sample] = []
    faults: list[str] = []
    reading = CaseReader(str(path), iterate_renamed, path=path)
    for row in reading:
        if isinstance(row, RowFault):
            faults.append(f"{row.place}: {row.message}")
        else:
            samples.append(Sample(**get_sample_fields(row)))
    if not samples:
        raise DataError("\n".join(describe_row_faults(faults)))
    return Questions(tuple(samples), tuple(faults), tuple(dict.fromkeys((*ignored, *reading.ignored_columns))))


def count_groups(samples: Iterable[Sample], group_by: str) -> dict[str, int]:
    """Count the samples of each group, in the order in which the groups first occur."""
    counts: dict[str, int] = {}
    for sample in samples:
        counts[sample.tags[group_by]] = counts.get(sample.tags[group_by], 0) + 1
    return counts


def _rename_columns(row: RawRow, group_by: str, ignored: dict[str, None]) -> RawRow:
    """Rename the columns of a row to the fields of a sample, and report a missing group."""
    names = dict(_map_columns(row.values, group_by, ignored))
    values = {names[name]: value for name, value in row.values.items() if name in names}
    faults = {names.get(name, name): why for name, why in row.faults.items()}
    nested = values.get("tags")
    group = values.get(f"tags.{group_by}") or (nested.get(group_by) if isinstance(nested, Mapping) else None)
    if group in (None, "") and "" not in faults:
        hint = "add it, or set dataset.group_by to another column"
        faults = {"": f"has no {group_by}, by which its index is chosen; {hint}"}
    return replace(row, values=values, faults=faults)


def _map_columns(row: Mapping[str, object], group_by: str, ignored: dict[str, None]) -> Iterator[tuple[str, str]]:
    """Map the columns to their names in a sample; record the fields of a case that a sample lacks as ignored."""
    spelt = {name: find_known_name(name) or "" for name in row}
    truths = {*list_names("expected_answer")}
    has_truth = any(known in truths and row[name] is not None for name, known in spelt.items())
    for name, known in spelt.items():
        part = split_dotted(known)
        if known == ANSWER and not has_truth:
            yield name, "expected_answer"
        elif FIELD_BY_NAME.get(known) in SAMPLE_FIELDS or (part and part[0] in SAMPLE_FIELDS):
            yield name, name
        elif known:
            ignored[format_printable(name)] = None
        else:
            yield name, f"tags.{name}" if name == group_by else name
