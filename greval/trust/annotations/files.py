"""Annotations in files, in the folder of a run, and in columns of its cases."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from greval._util.arguments import build_unknown_name_error
from greval._util.files import write_atomically
from greval.datasets import RowFault
from greval.datasets.field_names import format_printable
from greval.datasets.field_values import as_text
from greval.datasets.json_files import RawRow
from greval.datasets.labelled_rows import LABEL_NAMES, LabelledRows, read_labelled_rows
from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.records.record import Record
from greval.records.result import Result
from greval.records.scale import OffScaleError, Scale
from greval.runs.run_reader import read_metric
from greval.runs.store import Store
from greval.trust.annotations.values import parse_annotation_value

ANNOTATIONS_FILE = "annotations.jsonl"
FIELDS = tuple(Annotation.model_fields)
TEXT_FIELDS = frozenset({"sample_id", "method", "metric", "item", "annotator", "comment"})
"""The fields that are text; files may have numbers in them."""
MAX_LISTED = 3
LABEL = "label"
"""The beginning of the names of fields that stand for label columns."""
_COLUMN_NAMES: Mapping[str, tuple[str, ...]] = {
    **{name: (name,) for name in FIELDS},
    **{name: LABEL_NAMES[name] for name in ("method", "metric", "item", "annotator", "value")},
    "sample_id": LABEL_NAMES["id"],
    "comment": ("comment", *LABEL_NAMES["reason"]),
}
"""The names that the column of each field may have."""
AnnotationSource = str | Path | Iterable[str | Path | Annotation] | None
"""One or several files, annotations, or None for the file in the run's folder."""


class AnnotationFile(Record):
    """The contents of an annotation file: annotations, invalid rows, and the names of ignored columns."""

    annotations: tuple[Annotation, ...]
    faults: tuple[RowFault, ...] = ()
    ignored: tuple[str, ...] = ()


class LoadedAnnotations(NamedTuple):
    """Annotations, and the invalid rows of their files with their place."""

    annotations: tuple[Annotation, ...]
    unread: tuple[str, ...]


def read_annotations(
    path: str | Path,
    scales: Mapping[str, Scale] | None = None,
    *,
    metric: str | None = None,
    label_columns: Sequence[str] = (),
) -> AnnotationFile:
    r"""Read annotations from a file in any format that holds cases, one a row, or one for each label column.

    The columns are the fields of `Annotation`, or have names such as `id`, `human_label` and `rater`. An invalid row is
    reported with its line number, and reading goes on. An empty cell is a missing value: an item with an empty value is
    not labelled yet, unless the row says that it is submitted. A file without a column of values has no annotations.
    Other columns are ignored and listed in the result.

    Args:
        path: A file such as .csv, .jsonl or .parquet.
        scales: The scale of each metric, if known. A submitted value that is not on its scale is an invalid row. On a
            scale of two values, yes and no are values.
        metric: The metric of rows that do not name one.
        label_columns: Columns that hold the value, each the labels of an annotator of this name. A single one may stand
            beside a column of annotators.

    Raises:
        DataError: If the file cannot be read, its extension is not known, or a label column is not there.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "people.csv"
        >>> _ = path.write_text("id,human_label,rater\nq1,Polite,ana\nq2,Rude,\n")
        >>> found = read_annotations(path, metric="tone")
        >>> found.annotations[0].annotator, found.annotations[0].value, found.faults[0].message
        ('ana', 'Polite', 'annotator: Field required')
    """
    path = Path(path)
    labels = {f"{LABEL} {column}": column for column in label_columns}
    names = {name: known for name, known in _COLUMN_NAMES.items() if not labels or name != "value"}
    rows = read_labelled_rows(path, {**names, **dict.fromkeys(labels, ())}, labels, required=False)
    reading = _AnnotationReader(rows, scales or {}, metric, path.stem)
    for row in rows.rows:
        reading.read_row(row)
    unused = tuple(format_printable(name) for name in rows.unused if name not in FIELDS)
    return AnnotationFile(annotations=tuple(reading.annotations), faults=tuple(reading.faults), ignored=unused)


class _AnnotationReader:
    """Reads the annotations of a file: the valid ones, and the faults of the others."""

    def __init__(self, rows: LabelledRows, scales: Mapping[str, Scale], metric: str | None, stem: str) -> None:
        self.annotations: list[Annotation] = []
        self.faults: list[RowFault] = []
        self._rows = rows
        self._scales = scales
        self._labels = [name for name in rows.columns if name.startswith(f"{LABEL} ")]
        self._defaults: dict[str, object] = {} if metric is None else {"metric": metric}
        if "annotator" not in rows.columns and not self._labels:
            self._defaults["annotator"] = stem

    def read_row(self, row: RawRow) -> None:
        """Read the annotations of a row, one or one for each label column."""
        place = f"{self._rows.name}{row.unit}{row.number}"
        own = {name: value for name, value in row.values.items() if name in FIELDS and value is not None}
        faults = _find_row_faults(row)
        if faults:
            self._add_fault(place, own, faults)
            return
        for label in self._labels or ["value"]:
            column = self._rows.columns.get(label, label)
            alone = {} if "annotator" in self._rows.columns and len(self._labels) == 1 else {"annotator": column}
            value = row.values.get(label)
            named = {**self._defaults, **own, **(alone if self._labels else {}), "value": value}
            if _is_empty(value) and label in self._rows.columns and "status" not in self._rows.columns:
                named["status"] = "pending"
            found = _parse_annotation(named, self._scales)
            if isinstance(found, str):
                self._add_fault(place, own, found)
            else:
                self.annotations.append(found)

    def _add_fault(self, place: str, own: Mapping[str, object], message: str) -> None:
        given = own.get("sample_id")
        self.faults.append(RowFault(place=place, message=message, id=given if isinstance(given, str) else None))


def write_annotations(annotations: Iterable[Annotation], path: str | Path) -> None:
    """Write annotations as CSV or JSON lines; the file is replaced atomically.

    Args:
        annotations: The rows.
        path: A file that ends in .csv, .jsonl or .ndjson.

    Raises:
        DataError: If the file cannot be written, or its extension is not known.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "people.csv"
        >>> said = Annotation(sample_id="q1", metric="tone", annotator="ana", value="Polite")
        >>> write_annotations([said], path)
        >>> read_annotations(path).annotations == (said,)
        True
    """
    path = Path(path)
    write = WRITERS.get(path.suffix.lower())
    if write is None:
        raise DataError(f"{path}: its ending {path.suffix!r} is not known (known are {', '.join(WRITERS)})")
    try:
        write_atomically(path, write(annotations))
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from error


def read_run_annotations(run: str | Path, scales: Mapping[str, Scale] | None = None) -> AnnotationFile:
    """Read the annotations in a run's folder, or raise `DataError` if it has none."""
    path = Path(run) / ANNOTATIONS_FILE
    if not path.parent.is_dir():
        raise DataError(f"{run}: no run is there; name the folder of one")
    if not path.is_file():
        raise DataError(f"{path}: no annotations are there yet; pull them from Argilla, or name a file of annotations")
    return read_annotations(path, scales)


def keep_annotations(run: str | Path, annotations: Iterable[Annotation]) -> Path:
    """Add annotations to the file in a run's folder; one replaces an older one of the same item and annotator.

    Returns:
        The path of the file, `RUN/annotations.jsonl`.

    Raises:
        DataError: If the file cannot be written, or has invalid rows, which would be lost.
    """
    path = Path(run) / ANNOTATIONS_FILE
    known = read_valid_annotations(path)
    write_annotations({build_row_key(one): one for one in (*known, *annotations)}.values(), path)
    return path


def read_valid_annotations(path: Path) -> tuple[Annotation, ...]:
    """Read a file that will be rewritten, empty if it does not exist.

    Raise `DataError` if it has invalid rows, which rewriting would lose.
    """
    found = read_annotations(path) if path.is_file() else AnnotationFile(annotations=())
    if found.faults:
        raise DataError(f"{found.faults[0].place}: {found.faults[0].message}; correct or remove the row first")
    return found.annotations


def load_annotations(
    folder: Path,
    source: AnnotationSource,
    scales: Mapping[str, Scale] | None = None,
    *,
    metric: str | None = None,
    label_columns: str | Sequence[str] = (),
) -> LoadedAnnotations:
    """Load annotations of any metric, with the values in files parsed by `scales`; None accepts any value.

    Args:
        folder: The run folder.
        source: Files, annotations, or None for those in the run folder, or in the label columns of its cases.
        scales: The scale of each metric, if known.
        metric: The metric of rows that do not name one.
        label_columns: The columns with labels: of the files, or without files of the cases.

    Raises:
        DataError: If a file cannot be read, the run has no annotations or no such column, or every row is invalid.
    """
    columns = (label_columns,) if isinstance(label_columns, str) else tuple(label_columns)
    if source is None and columns and metric is not None:
        files = [read_label_tags(folder, metric, columns, scales)]
    else:
        files = [*_load_files(folder, source, scales, metric, columns)]
    found = LoadedAnnotations(
        tuple(one for file in files for one in file.annotations),
        tuple(f"{fault.place}: {fault.message}" for file in files for fault in file.faults),
    )
    if found.unread and not found.annotations:
        more = [f"... and {len(found.unread) - MAX_LISTED} more"] if len(found.unread) > MAX_LISTED else []
        fields = "a row has id and value, and annotator, method and item if there are several"
        raise DataError("\n".join([*found.unread[:MAX_LISTED], *more, f"no row is an annotation; {fields}"]))
    return found


def _load_files(
    folder: Path,
    source: AnnotationSource,
    scales: Mapping[str, Scale] | None,
    metric: str | None,
    label_columns: Sequence[str],
) -> Iterator[AnnotationFile]:
    """Yield the contents of each source."""
    if source is None:
        yield read_run_annotations(folder, scales)
        return
    for one in [source] if isinstance(source, str | Path) else source:
        if isinstance(one, Annotation):
            yield AnnotationFile(annotations=(one,))
        else:
            yield read_annotations(one, scales, metric=metric, label_columns=label_columns)


def read_label_tags(
    folder: Path, metric: str, columns: Sequence[str], scales: Mapping[str, Scale] | None = None
) -> AnnotationFile:
    """Read labels from columns of the cases of a run, which are tags; each column is an annotator.

    Raises:
        DataError: If the metric judges items, or no case has such a tag.
    """
    annotations: list[Annotation] = []
    faults: list[RowFault] = []
    known: dict[str, None] = {}
    with Store.open(folder) as store, store.snapshot():
        if over := read_metric(store, metric).over:
            raise DataError(f"{metric}: has a verdict for each of the {over}; a column of the cases has one a case")
        for line in store.lines(metric):
            result = Result.model_validate_json(line)
            known |= dict.fromkeys(result.tags)
            place = {"sample_id": result.sample_id, "method": result.method, "metric": metric}
            for column in columns:
                if _is_empty(value := result.tags.get(column)):
                    continue
                found = _parse_annotation({**place, "annotator": column, "value": value}, scales or {})
                if isinstance(found, str):
                    faults.append(RowFault(place=f"{result.sample_id}, {column}", message=found, id=result.sample_id))
                else:
                    annotations.append(found)
    for column in columns:
        if column not in known:
            raise build_unknown_name_error("label column", column, known, folder)
    return AnnotationFile(annotations=tuple(annotations), faults=tuple(faults))


def build_row_key(one: Annotation) -> tuple[str | None, ...]:
    """Return the key of an annotation: sample, method, metric, item and annotator."""
    return one.sample_id, one.method, one.metric, one.item, one.annotator


def _parse_annotation(row: Mapping[str, object], scales: Mapping[str, Scale]) -> Annotation | str:
    """Parse a row into an annotation, or return a description of all errors in it."""
    given = {name: as_text(value) if name in TEXT_FIELDS else value for name, value in row.items()}
    if isinstance(given.get("value"), bool):
        given["value"] = str(given["value"]).lower()
    elif _is_empty(given.get("value")):
        given["value"] = None
    try:
        return parse_annotation_value(Annotation.model_validate(given), scales)
    except ValidationError as error:
        faults = {".".join(map(str, fault["loc"][:1])): fault["msg"] for fault in error.errors()}
        return "; ".join(f"{name}: {message}" for name, message in faults.items())
    except OffScaleError as error:
        return f"value: {error}"


def _is_empty(value: object) -> bool:
    """Return whether a cell has no value; tables have NaN for it."""
    return value in (None, "") or (isinstance(value, float) and isnan(value))


def _find_row_faults(row: RawRow) -> str:
    """Return the faults of a row as read from the file; those in values of other columns do not matter."""
    if "" in row.faults:
        return row.faults[""]
    faults = {name: why for name, why in row.faults.items() if _concerns_field(name) or name not in row.values}
    return "; ".join(f"{name}: {why}" for name, why in faults.items()).encode(errors="backslashreplace").decode()


def _concerns_field(name: str) -> bool:
    """Return whether the path of a fault is in a field of an annotation."""
    return name.partition(".")[0].partition("[")[0] in FIELDS or name.startswith(f"{LABEL} ")


def _format_json_lines(annotations: Iterable[Annotation]) -> str:
    """Format annotations as JSON lines, without fields that have their default value."""
    return "".join(f"{one.model_dump_json(exclude_defaults=True)}\n" for one in annotations)


def _format_table(annotations: Iterable[Annotation]) -> str:
    """Format annotations as CSV; rows end with CRLF as in RFC 4180, so that every cell with a line break is quoted."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, FIELDS)
    writer.writeheader()
    for one in annotations:
        writer.writerow({name: _format_cell(value) for name, value in one.model_dump().items()})
    return file.getvalue()


def _format_cell(value: object) -> object:
    """Format a value for a cell of a table."""
    return str(value).lower() if isinstance(value, bool) else value


WRITERS: Mapping[str, Callable[[Iterable[Annotation]], str]] = {
    ".jsonl": _format_json_lines,
    ".ndjson": _format_json_lines,
    ".csv": _format_table,
}
