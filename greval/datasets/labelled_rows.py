"""Files of values for cases, such as verdicts of a judge or labels of people: rows with one value each, or several.

The columns are found by the names that people and tools give them, or are named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from greval.datasets.case_reader import MAX_COLUMNS, translate_errors
from greval.datasets.cells import LIST_STARTS, parse_cell
from greval.datasets.column_map import TARGETS, ColumnMap
from greval.datasets.field_names import fold_name, format_printable, list_names
from greval.datasets.json_files import InvalidJsonError, RawRow
from greval.datasets.row_purpose import RowPurpose
from greval.datasets.row_sources import JSON_READERS, STDIN, check_file, find_format, has_fixed_columns, hold_rows
from greval.errors import DataError

VALUE, REASON = "value", "reason"
REASON_WORDS = ("reason", "reasoning", "rationale", "explanation", "justification", "comment", "critique")
VALUE_WORDS = ("value", "verdict", "label", "human_label", "score", "rating", "grade", "judgement", "judgment")
LABEL_NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("sample_id", "case_id", "example_id", *list_names("id")),
    "method": ("method", "system"),
    "metric": ("metric", "metric_name", "criterion", "aspect"),
    "item": ("item", "item_id", "chunk_id", "triple_id", "passage_id"),
    "repeat": ("repeat", "repetition", "trial", "attempt"),
    "annotator": (
        *("annotator", "rater", "annotator_id", "rater_id", "labeller", "labeler", "person", "reviewer", "evaluator"),
        *("coder", "worker", "worker_id", "completed_by"),
    ),
    VALUE: VALUE_WORDS,
    REASON: REASON_WORDS,
}
"""The names of each field, greval's own or the most specific first; they count in any case."""
VALUE_ROW = "the id of a case and a value"
"""What a row has, in messages."""
METRIC_FORMS = ("{}", "{}_score", "{}_value", "{}_verdict", "{}_label", "{}/value", "{}/score", "{}/v1/score")
REASON_FORMS = (*(f"{{}}_{word}" for word in REASON_WORDS), "{}/rationale", "{}/v1/justification")
METRIC_PREFIXES = ("", "feedback.", "metrics.", "scores.")
"""The prefixes of the scores of a row in files of other tools; none if the column has the metric's name alone."""
SCORE_LISTS = frozenset({"metrics_data"})
SCORE_OBJECTS = frozenset({"metrics", "scores", "feedback"})


@dataclass(frozen=True)
class LabelledRows:
    """The rows of a file, with the values under the names of their fields, and the column of each field."""

    name: str
    rows: tuple[RawRow, ...]
    columns: Mapping[str, str]

    @property
    def unused(self) -> tuple[str, ...]:
        """The other columns."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.values if name not in self.columns))

    @property
    def renamed(self) -> Mapping[str, str]:
        """The fields that have a column of another name."""
        return {field: column for field, column in self.columns.items() if field != column}


def read_labelled_rows(
    source: object,
    fields: Mapping[str, Sequence[str]],
    columns: Mapping[str, str] | None = None,
    *,
    name: str = "rows",
    required: bool = True,
) -> LabelledRows:
    """Read the rows of a file in any format that holds cases, and find the columns of some fields."""
    opened = check_file(Path(source)) if isinstance(source, str | Path) and source != STDIN else source
    is_named = isinstance(source, str | Path)
    source_name = format_printable(str(source) if is_named else name, 4096)
    with translate_errors(source_name):
        open_rows = hold_rows(opened, LABEL_ROWS)
        names = _list_column_names(open_rows(None), is_table=has_fixed_columns(opened))
        if not names and not required:
            return LabelledRows(source_name, tuple(open_rows(None)), {})
        field_columns = _map_columns(fields, columns or {}, names, source_name, LABEL_ROWS.content)
        rows = tuple(open_rows(ColumnMap(field_columns, extra_fields=fields)))
    return LabelledRows(source_name, rows, field_columns)


def open_labelled_rows(
    path: Path, purpose: RowPurpose, columns: Mapping[str, str]
) -> tuple[Iterator[RawRow], Mapping[str, str]]:
    """Open a file as `read_labelled_rows` does, to read one row at a time; return the column of each field besides."""
    with translate_errors(str(path)):
        open_rows = hold_rows(path, purpose)
        names = _list_column_names(open_rows(None), is_table=find_format(path, purpose) not in JSON_READERS)
        field_columns = _map_columns(purpose.fields, columns, names, str(path), purpose.content)
        purpose.check(names, str(path))
    return open_rows(ColumnMap(field_columns, extra_fields=purpose.fields)), field_columns


def _map_columns(
    fields: Mapping[str, Sequence[str]], columns: Mapping[str, str], names: Sequence[str], location: str, content: str
) -> dict[str, str]:
    """Return the column of each field; raise `DataError` without a row, or if a column that is named is not there."""
    if not names:
        raise DataError(f"{location}: holds no rows; a row has {content}")
    named_columns = {_find_field(name, fields): column for name, column in columns.items()}
    field_columns = {**find_columns(fields, named_columns, names, location), **named_columns}
    ColumnMap(field_columns, extra_fields=fields).check_names(names, location)
    return field_columns


def find_columns(
    fields: Mapping[str, Sequence[str]], columns: Mapping[str, str], names: Iterable[str], location: str
) -> dict[str, str]:
    """Find the column of each field that is not named; raise `DataError` if several could be the value."""
    used = {fold_name(column) for column in columns.values()}
    available = {fold_name(name): name for name in names if fold_name(name) not in used}
    field_columns: dict[str, str] = {}
    for field, aliases in fields.items():
        if field in columns:
            continue
        candidates = [*dict.fromkeys(available[fold_name(name)] for name in aliases if fold_name(name) in available)]
        # A column called `value` is meant, while of `score` and `label` either may be.
        if field == VALUE and len(candidates) > 1 and fold_name(candidates[0]) != VALUE:
            listed = " or ".join(map(format_printable, candidates))
            raise DataError(f"{location}: the value could be {listed}; say which with --column {VALUE}=NAME")
        if candidates:
            field_columns[field] = candidates[0]
    return field_columns


def _find_field(name: str, fields: Mapping[str, Sequence[str]]) -> str:
    """Return the field that a name stands for: `verdict` and `label` are names of `value`."""
    if name in fields or name in TARGETS:
        return name
    return next((field for field, names in fields.items() if fold_name(name) in map(fold_name, names)), name)


def list_metric_names(metric: str) -> tuple[str, ...]:
    """List the names that a column with the values of a metric may have, in files with a column for each metric."""
    return tuple(f"{prefix}{form.format(metric)}" for form in METRIC_FORMS for prefix in METRIC_PREFIXES)


def list_reason_names(metric: str) -> tuple[str, ...]:
    """List the names that a column with the reasons of a metric may have."""
    return tuple(f"{prefix}{form.format(metric)}" for form in REASON_FORMS for prefix in METRIC_PREFIXES)


def _list_column_names(rows: Iterator[RawRow], *, is_table: bool) -> list[str]:
    """List the columns of all rows; those of a table are the same in each."""
    names: dict[str, None] = {}
    for row in islice(rows, 1) if is_table else rows:
        if len(names) < MAX_COLUMNS:
            names.update(dict.fromkeys(row.values))
    return [*names]


def spread_scores(values: Mapping[str, object]) -> Mapping[str, object]:
    """Return the values of a row with the scores of a list or an object of metrics as columns; others unchanged.

    deepeval has a list under `metrics_data`, others an object under `metrics`, `scores` or `feedback`.

    Example:
        >>> listed = [{"name": "Faithfulness", "score": 0.5, "reason": "One claim."}]
        >>> sorted(spread_scores({"input": "Who?", "metricsData": listed}))
        ['Faithfulness', 'Faithfulness_reason', 'input']
    """
    spread: dict[str, object] = {}
    for column, cell in values.items():
        folded = fold_name(column)
        if folded not in SCORE_LISTS | SCORE_OBJECTS:
            continue
        content = _parse_scores(cell)
        if folded in SCORE_LISTS and isinstance(content, list):
            scores = [
                (str(score["name"]), score) for score in content if isinstance(score, Mapping) and "name" in score
            ]
        elif folded in SCORE_OBJECTS and isinstance(content, Mapping):
            scores = [(f"{folded}.{name}", score) for name, score in content.items()]
        else:
            continue
        for name, score in scores:
            spread |= _spread_score(name, score)
    if not spread:
        return values
    other_columns = {
        name: value for name, value in values.items() if fold_name(name) not in SCORE_LISTS | SCORE_OBJECTS
    }
    return {**other_columns, **spread}


def _parse_scores(cell: object) -> object:
    """Return what a cell with scores holds, the cell itself if it is no list and no object."""
    if not isinstance(cell, str) or not cell.lstrip().startswith(LIST_STARTS):
        return cell
    try:
        return parse_cell(cell)[0]
    except InvalidJsonError:
        return cell


def _spread_score(name: str, content: object) -> dict[str, object]:
    """Return the value and the reason of one score, which is a value or an object with both."""
    if not isinstance(content, Mapping):
        return {name: content}
    folded = {fold_name(str(key)): value for key, value in content.items()}
    value = next((folded[word] for word in ("score", *VALUE_WORDS) if word in folded), None)
    reason = next((folded[word] for word in REASON_WORDS if folded.get(word) is not None), None)
    return {name: value} | ({} if reason is None else {f"{name}_{REASON}": reason})


def _check_several_columns(names: Sequence[str], location: str) -> None:
    """Raise `DataError` if a table has one column, which may be due to its delimiter."""
    if len(names) == 1:
        raise DataError(
            f"{location}: expected at least two columns, {VALUE_ROW}; found one, {format_printable(names[0])}"
        )


LABEL_ROWS = RowPurpose("row", VALUE_ROW, check=_check_several_columns, spread=spread_scores)
"""Rows of values for cases, such as verdicts and labels."""
