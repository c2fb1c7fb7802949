"""Annotations read from files: tables of labels, results to which labels were added, and records of Argilla."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from greval._util.spreadsheet_cells import unescape_formula
from greval.datasets.field_names import fold_name, format_printable
from greval.datasets.field_values import as_text
from greval.datasets.json_files import RawRow
from greval.datasets.labelled_rows import LABEL_NAMES, VALUE_WORDS, LabelledRows, read_labelled_rows
from greval.datasets.row_faults import RowFault
from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.records.record import Record
from greval.records.scale import MAX_ENUM_LEVELS, MeasureScale, OffScaleError, Scale, ValueScale
from greval.records.scale_values import is_missing_value, parse_on_scale
from greval.runs.store.exports import VERDICT_COLUMNS, list_added_columns
from greval.trust.argilla.exports import is_record_export, iterate_annotations, parse_record

FIELDS = tuple(Annotation.model_fields)
TEXT_FIELDS = frozenset({"sample_id", "method", "metric", "item", "annotator", "comment", "status"})
"""The fields that are text; files may have numbers in them."""
LABEL = "label"
"""The beginning of the names of fields that stand for label columns."""
STATUS_UNKNOWN = "STATUS UNKNOWN"
"""The beginning of the note that some answers may not have been submitted."""
CONTENT_MARK = "#"
"""Begins the hash of a text in a label sheet: a spreadsheet would read some hashes as numbers."""
_COLUMN_NAMES: Mapping[str, tuple[str, ...]] = {
    **{name: (name,) for name in FIELDS},
    **{name: LABEL_NAMES[name] for name in ("method", "metric", "item", "annotator", "value")},
    "sample_id": LABEL_NAMES["id"],
    "comment": ("comment", *LABEL_NAMES["reason"]),
}
"""The names that the column of each field may have."""
_ITEM_FIELDS = ("sample_id", "method", "metric", "item")
"""The fields that say what was judged; a table of results has them under these names."""
PRODIGY_MARKS = frozenset({"_input_hash", "_task_hash", "_session_id"})
"""Columns of Prodigy, in whose exports `answer` says whether a suggested label was accepted."""
_ESCAPED = frozenset({".csv", ".tsv"})
"""The endings of tables in which greval writes an apostrophe before what a spreadsheet would read as a formula."""


class AnnotationFile(Record):
    """The contents of an annotation file: annotations, invalid rows, and the names of ignored columns.

    `label_columns` are the columns that were read as labels, and `notes` say what people should know of how the file
    was read. `empty_rows` are the positions of the annotations whose rows have neither a label nor a status, as in a
    sheet that is not filled; a row whose status is pending takes a label back. Iteration yields the annotations.
    """

    annotations: tuple[Annotation, ...]
    faults: tuple[RowFault, ...] = ()
    ignored: tuple[str, ...] = ()
    label_columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    empty_rows: frozenset[int] = frozenset()

    def __iter__(self) -> Iterator[Annotation]:  # type: ignore[override] # pydantic's own yields the fields
        """Yield the annotations."""
        return iter(self.annotations)


def read_annotations(
    path: str | Path,
    scales: Mapping[str, Scale] | None = None,
    *,
    metric: str | None = None,
    annotator: str | None = None,
    label_columns: Sequence[str] = (),
) -> AnnotationFile:
    r"""Read annotations from a file in any format that holds cases, one a row, or one for each label column.

    The columns are the fields of `Annotation`, or have names such as `id`, `human_label` and `rater`. An invalid row is
    reported with its line number, and reading goes on. An empty cell is a missing value: an item with an empty value is
    not labelled yet, unless the row says that it is submitted. A file without a column of values has no annotations.
    Other columns are ignored and listed in the result.

    Files of two other kinds are known by their columns. In a table of results that greval exported, only a column that
    people added holds labels: the others are the judge's. Records that Argilla's SDK exported (`to_list`, `to_json`,
    `to_datasets`) have an annotation for each answer.

    Args:
        path: A file such as .csv, .jsonl or .parquet.
        scales: The scale of each metric, if known. A submitted value that is not on its scale is an invalid row. On a
            scale of two values, yes and no are values.
        metric: The metric of rows that do not name one.
        annotator: The annotator of rows that do not name one, by default the name of the file.
        label_columns: Columns that hold the value, each the labels of an annotator of this name. A single one may stand
            beside a column of annotators. Of records of Argilla, the names of the metric's questions.

    Raises:
        DataError: If the file cannot be read, its extension is not known, or it is not clear which columns hold labels.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "people.csv"
        >>> _ = path.write_text("id,human_label,rater\nq1,Polite,ana\nq2,Rude,\n")
        >>> file = read_annotations(path, metric="tone")
        >>> file.annotations[0].annotator, file.annotations[0].value, file.faults[0].message
        ('ana', 'Polite', 'annotator: Field required')
    """
    path = Path(path)
    # Without fields, every column has the name that the file gives it.
    rows = read_labelled_rows(path, {}, {}, required=False)
    names = list(rows.unused)
    reading = _AnnotationReader(path, scales or {}, metric, annotator or path.stem)
    if is_record_export(names):
        return reading.read_records(rows, label_columns)
    added = list_added_columns(names)
    if added is None:
        return reading.read_labels(label_columns)
    return reading.read_results(names, added, label_columns)


class _LabelColumn(NamedTuple):
    """A column of labels: its name in the file, the name of its values in a row, and the annotator if it names one."""

    name: str
    key: str
    annotator: str | None = None


class _AnnotationReader:
    """Reads the annotations of a file: the valid ones, and the faults of the others."""

    def __init__(self, path: Path, scales: Mapping[str, Scale], metric: str | None, annotator: str) -> None:
        self._path = path
        self._scales = scales
        self._metric = metric
        self._annotator = annotator
        self._annotations: list[Annotation] = []
        self._faults: list[RowFault] = []
        self._empty_rows: list[int] = []

    def read_labels(self, label_columns: Sequence[str]) -> AnnotationFile:
        """Read a table of labels."""
        rows = self._read_rows(_COLUMN_NAMES, label_columns)
        columns = self._list_named(rows, label_columns)
        if not columns and "value" in rows.columns:
            columns = [_LabelColumn(rows.columns["value"], "value")]
        self._check_columns(rows, has_labels=bool(columns) or "status" in rows.columns)
        self._check_other_columns(rows, columns)
        self._read_columns(rows, FIELDS, columns)
        unused = tuple(format_printable(name) for name in rows.unused if name not in FIELDS)
        return self._build(columns=columns, ignored=unused)

    def read_results(self, names: Sequence[str], added: Sequence[str], label_columns: Sequence[str]) -> AnnotationFile:
        """Read a table of results, in which people added columns of labels."""
        exported = {*names} - {*added}
        if mistaken := [column for column in label_columns if column in exported]:
            raise DataError(
                f"{self._path}: {mistaken[0]} is a column of the results that greval exported, so it holds no labels; "
                f"name a column that people added (added are: {_join_names(added) or 'none'})"
            )
        fields: dict[str, tuple[str, ...]] = {name: (name,) for name in _ITEM_FIELDS}
        for name in ("annotator", "comment"):
            fields[name] = tuple(alias for alias in _COLUMN_NAMES[name] if alias not in exported)
        rows = self._read_rows(fields, label_columns)
        columns = self._list_named(rows, label_columns) or [self._choose_added(rows, added)]
        # People who write into a table with the judge's verdicts see them.
        is_shown = not VERDICT_COLUMNS.isdisjoint(exported)
        self._read_columns(rows, [*fields], columns, {"suggested": True} if is_shown else {})
        names_read = _join_names(column.name for column in columns)
        note = (
            f"{self._path.name}: results that greval exported; labels are read from {names_read}, because its other "
            "columns, such as value, are the judge's"
        )
        return self._build(columns=columns, notes=[note])

    def read_records(self, rows: LabelledRows, questions: Sequence[str]) -> AnnotationFile:
        """Read records of Argilla, with an annotation for each answer to the question of a metric."""
        answered: dict[str, None] = {}
        uncertain = 0
        for row in rows.rows:
            location = f"{rows.name}{row.unit}{row.number}"
            record = row.faults.get("") or parse_record(row.values)
            if isinstance(record, str):
                self._add_fault(location, None, record)
                continue
            answered |= dict.fromkeys(name for name, answers in record.answers.items() if answers)
            for fields in iterate_annotations(record, self._metric, questions):
                uncertain += "status" not in fields
                self._add(location, fields)
        if answered and not self._annotations and not self._faults:
            raise DataError(
                f"{self._path}: has no answers to a question of {self._metric or 'a metric'}; the questions are "
                f"{_join_names(answered)}; name the one that asks for it with --label-column QUESTION"
            )
        note = (
            f"{STATUS_UNKNOWN}: {self._path.name}: this export of Argilla does not say which answers are drafts or "
            f"were discarded: all {uncertain:,} count as submitted; greval argilla pull, to_list(flatten=True) and "
            "to_datasets() say it"
        )
        return self._build(notes=[note] if uncertain else [])

    def _read_rows(self, fields: Mapping[str, Sequence[str]], label_columns: Sequence[str]) -> LabelledRows:
        """Read the rows with these fields and label columns; without label columns, `value` is a field too."""
        labels = {f"{LABEL} {column}": column for column in label_columns}
        plain_fields = {name: aliases for name, aliases in fields.items() if not labels or name != "value"}
        return read_labelled_rows(self._path, {**plain_fields, **dict.fromkeys(labels, ())}, labels, required=False)

    def _list_named(self, rows: LabelledRows, label_columns: Sequence[str]) -> list[_LabelColumn]:
        """List the label columns that are named; each names an annotator, unless one stands beside their column."""
        is_named = "annotator" in rows.columns and len(label_columns) == 1
        return [_LabelColumn(name, f"{LABEL} {name}", None if is_named else name) for name in label_columns]

    def _check_columns(self, rows: LabelledRows, *, has_labels: bool) -> None:
        """Raise `DataError` if no column has ids, or none has labels, with the columns that may be meant."""
        others = [name for name in rows.unused if name not in FIELDS]
        if rows.rows and not rows.columns.get("sample_id") and rows.unused:
            names = _join_names([*rows.columns.values(), *others])
            raise DataError(
                f"{self._path}: expected a column id with the ids of cases, found {names}; name one of them id"
            )
        if has_labels or not others:
            return
        scale = self._scales.get(self._metric or "")
        likely = [
            name for name in others if scale and _holds_labels(scale, (row.values.get(name) for row in rows.rows))
        ]
        raise DataError(
            f"{self._path}: expected a column of labels, such as label, found {_join_names(others)}; name those that "
            f"hold the labels of a person with --label-column: {_join_names(likely or others[:1])}"
        )

    def _check_other_columns(self, rows: LabelledRows, columns: Sequence[_LabelColumn]) -> None:
        """Raise `DataError` if labels are found in `value`, and in another column as well."""
        scale = self._scales.get(self._metric or "")
        if scale is None or [column.name for column in columns] != ["value"] or columns[0].annotator is not None:
            return
        # A table of results may have been cut down to the columns that people need: `value` would be the judge's.
        cells = {name: [row.values[name] for row in rows.rows if name in row.values] for name in rows.unused}
        if also := [name for name, values in cells.items() if name not in FIELDS and _holds_labels(scale, values)]:
            names = " or ".join(map(format_printable, ["value", *also]))
            raise DataError(
                f"{self._path}: the labels could be {names}, and in results of greval value is the judge's; say which "
                "with --label-column NAME"
            )

    def _choose_added(self, rows: LabelledRows, added: Iterable[str]) -> _LabelColumn:
        """Return the only added column of labels; raise `DataError` if it is missing or one of several."""
        possible = [name for name in added if name not in rows.columns.values()]
        filled = [name for name in possible if any(_has_content(row.values.get(name)) for row in rows.rows)]
        # An empty column is meant for labels only if no other is filled.
        names = filled or possible
        if len(names) != 1:
            problem = f"several were: {_join_names(names)}" if names else "none was"
            raise DataError(
                f"{self._path}: these are results that greval exported, and a column of labels that people added is "
                f"expected; {problem}; "
                + ("name those that hold labels with --label-column COLUMN" if names else "add a column, such as label")
            )
        name = names[0]
        is_named = "annotator" in rows.columns or fold_name(name) in VALUE_WORDS
        return _LabelColumn(name, name, None if is_named else name)

    def _read_columns(
        self,
        rows: LabelledRows,
        fields: Sequence[str],
        columns: Sequence[_LabelColumn],
        shared: Mapping[str, object] | None = None,
    ) -> None:
        """Read the annotations of each row, one for each column of labels."""
        defaults: dict[str, object] = {} if self._metric is None else {"metric": self._metric}
        if "annotator" not in rows.columns:
            defaults["annotator"] = self._annotator
        is_escaped = self._path.suffix.lower() in _ESCAPED
        for row in rows.rows:
            location = f"{rows.name}{row.unit}{row.number}"
            values = {name: unescape_formula(value) for name, value in row.values.items()} if is_escaped else row.values
            item = {name: values[name] for name in fields if not _is_unrecorded(name, values.get(name))}
            if isinstance(content := item.get("content"), str):
                item["content"] = content.removeprefix(CONTENT_MARK)
            if faults := _find_row_faults(row):
                self._add_fault(location, item.get("sample_id"), faults)
                continue
            decision = None if PRODIGY_MARKS.isdisjoint(values) else values.get("answer")
            if decision == "reject":
                why = "answer: the label was rejected, and which one is meant is not recorded; give it, or drop the row"
                self._add_fault(location, item.get("sample_id"), why)
                continue
            if decision == "ignore":
                item["status"] = "discarded"
            for column in columns or [_LabelColumn("value", "value")]:
                entry = {**defaults, **item, **(shared or {}), "value": values.get(column.key)}
                if column.annotator is not None:
                    entry["annotator"] = column.annotator
                self._add(location, entry, is_pending=bool(columns) and "status" not in item)

    def _add(self, location: str, fields: Mapping[str, object], *, is_pending: bool = False) -> None:
        """Add an annotation, or its fault; `is_pending` says that an item without a value is not labelled yet."""
        parsed = parse_annotation(fields, self._scales, is_pending=is_pending)
        if isinstance(parsed, str):
            self._add_fault(location, fields.get("sample_id"), parsed)
        else:
            if is_pending and parsed.status == "pending":
                self._empty_rows.append(len(self._annotations))
            self._annotations.append(parsed)

    def _add_fault(self, location: str, sample_id: object, message: str) -> None:
        self._faults.append(
            RowFault(place=location, message=message, id=sample_id if isinstance(sample_id, str) else None)
        )

    def _build(
        self, *, columns: Iterable[_LabelColumn] = (), ignored: tuple[str, ...] = (), notes: Iterable[str] = ()
    ) -> AnnotationFile:
        return AnnotationFile(
            annotations=tuple(self._annotations),
            faults=tuple(self._faults),
            ignored=ignored,
            label_columns=tuple(format_printable(column.name) for column in columns),
            notes=tuple(notes),
            empty_rows=frozenset(self._empty_rows),
        )


def parse_annotation(
    fields: Mapping[str, object], scales: Mapping[str, Scale], *, is_pending: bool = False
) -> Annotation | str:
    """Parse the fields of an annotation, or return a description of all errors in them."""
    values = {name: as_text(value) if name in TEXT_FIELDS else value for name, value in fields.items()}
    scale = scales.get(str(values.get("metric")))
    if isinstance(listed := values.get("value"), list | tuple) and len(listed) == 1:
        # Tools in which an item may have several labels list them.
        values["value"] = listed[0]
    # A bool of JSON or Parquet is read like the word that a CSV file has in its place.
    if isinstance(values.get("value"), bool):
        values["value"] = str(values["value"]).lower()
    elif is_missing_value(scale, values.get("value")):
        values["value"] = None
        values |= {"status": "pending"} if is_pending else {}
    try:
        return parse_annotation_value(Annotation.model_validate(values), scales)
    except ValidationError as error:
        faults = {".".join(map(str, fault["loc"][:1])): fault["msg"] for fault in error.errors()}
        return "; ".join(f"{name}: {message}" for name, message in faults.items())
    except OffScaleError as error:
        return f"value: {error}"


def _is_unrecorded(name: str, value: object) -> bool:
    """Return whether a field has no value in a row; tables have NaN for it."""
    return value is None or (name in TEXT_FIELDS and is_missing_value(None, value))


def _holds_labels(scale: Scale, values: Iterable[object]) -> bool:
    """Return whether cells can only be labels: all that have content are values of a scale that has few."""
    if isinstance(scale, MeasureScale) or (isinstance(scale, ValueScale) and scale.size > MAX_ENUM_LEVELS):
        # Almost any column of numbers would be one of labels.
        return False
    filled = [value for value in values if _has_content(value)]
    try:
        return bool([parse_on_scale(scale, value) for value in filled])
    except OffScaleError:
        return False


def _has_content(value: object) -> bool:
    return not is_missing_value(None, value) and bool(str(value).strip())


def _find_row_faults(row: RawRow) -> str:
    """Return the faults of a row as read from the file; those in values of other columns do not matter."""
    if "" in row.faults:
        return row.faults[""]
    faults = {
        name: why
        for name, why in row.faults.items()
        # The name of a fault is the path to it, which may be in a field of an annotation.
        if re.split(r"[.[]", name)[0] in FIELDS or name.startswith(f"{LABEL} ") or name not in row.values
    }
    # A file may have names with half a surrogate pair, which no terminal can encode.
    return "; ".join(f"{name}: {why}" for name, why in faults.items()).encode(errors="backslashreplace").decode()


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(map(format_printable, names))


def parse_annotation_value(annotation: Annotation, scales: Mapping[str, Scale]) -> Annotation:
    """Return an annotation with its value parsed on the scale of its metric, if that scale is known."""
    if annotation.status != "submitted":
        return annotation
    scale = scales.get(annotation.metric)
    if is_missing_value(scale, annotation.value):
        raise OffScaleError("is submitted without a value; give one, or another status")
    if scale is None:
        return annotation
    value = parse_on_scale(scale, annotation.value)
    return annotation if value == annotation.value else annotation.model_copy(update={"value": value})
