"""Annotations in files, in the folder of a run, and in columns of its cases."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from greval._util.arguments import build_unknown_name_error
from greval._util.files import write_atomically
from greval._util.spreadsheet_cells import escape_formula
from greval.datasets.row_faults import RowFault
from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.records.scale import Scale
from greval.records.scale_values import is_missing_value
from greval.runs.run_reader import read_known_scales, read_metric
from greval.runs.store import FILE, Store
from greval.runs.store.disk import ResultFilter
from greval.trust.annotations.reading import FIELDS, AnnotationFile, parse_annotation, read_annotations

ANNOTATIONS_FILE = "annotations.jsonl"
MAX_LISTED = 3
MAX_COMPARED = 5
"""The number of labels by which verdicts that were copied from a run are known."""
AnnotationSource = str | Path | Iterable[str | Path | Annotation] | None
"""One or several files, annotations, or None for the file in the run's folder."""


class LoadedAnnotations(NamedTuple):
    """Annotations, the invalid rows of their files with their place, and notes on how the files were read.

    `columns` names the columns of labels with their files.
    """

    annotations: tuple[Annotation, ...]
    unread: tuple[str, ...]
    notes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


def write_annotations(annotations: Iterable[Annotation], path: str | Path) -> None:
    """Write annotations as CSV or JSON lines; the file is replaced atomically.

    In CSV a text that a spreadsheet would read as a formula has an apostrophe before it, which reading removes.

    Args:
        annotations: The rows.
        path: A file that ends in .csv, .jsonl or .ndjson.

    Raises:
        DataError: If the file cannot be written, or its extension is not known.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "people.csv"
        >>> label = Annotation(sample_id="q1", metric="tone", annotator="ana", value="Polite")
        >>> write_annotations([label], path)
        >>> read_annotations(path).annotations == (label,)
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
        raise DataError(f"{run}: found no run; give the folder of a run")
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
    stored = read_valid_annotations(path)
    write_annotations({build_row_key(annotation): annotation for annotation in (*stored, *annotations)}.values(), path)
    return path


def read_valid_annotations(path: Path) -> tuple[Annotation, ...]:
    """Read a file that will be rewritten, empty if it does not exist.

    Raise `DataError` if it has invalid rows, which rewriting would lose.
    """
    file = read_annotations(path) if path.is_file() else AnnotationFile(annotations=())
    if file.faults:
        raise DataError(f"{file.faults[0]}; correct or remove the row first")
    return file.annotations


def load_annotations(
    folder: Path,
    source: AnnotationSource,
    scales: Mapping[str, Scale] | None = None,
    *,
    metric: str | None = None,
    label_columns: str | Sequence[str] = (),
) -> LoadedAnnotations:
    """Load annotations of any metric, with the values in files parsed by `scales`; None accepts any value."""
    columns = (label_columns,) if isinstance(label_columns, str) else tuple(label_columns)
    if source is None and columns and metric is not None:
        files = [("the cases", read_label_tags(folder, metric, columns, scales))]
    else:
        files = [*_load_files(folder, source, scales, metric, columns)]
    loaded = LoadedAnnotations(
        tuple(
            _clear_missing_values(folder, (annotation for _, file in files for annotation in file.annotations), scales)
        ),
        tuple(str(fault) for _, file in files for fault in file.faults),
        tuple(note for _, file in files for note in file.notes),
        tuple(f"{', '.join(file.label_columns)} of {name}" for name, file in files if name and file.label_columns),
    )
    for name, file in files:
        # A column that the caller names is taken as it is.
        if file.label_columns == ("value",) and not columns:
            _refuse_copied_verdicts(folder, name, file.annotations)
    if loaded.unread and not loaded.annotations:
        more = [f"... and {len(loaded.unread) - MAX_LISTED} more"] if len(loaded.unread) > MAX_LISTED else []
        fields = "a row has id and value, and annotator, method and item if there are several"
        raise DataError("\n".join([*loaded.unread[:MAX_LISTED], *more, f"no row is an annotation; {fields}"]))
    return loaded


def _load_files(
    folder: Path,
    source: AnnotationSource,
    scales: Mapping[str, Scale] | None,
    metric: str | None,
    label_columns: Sequence[str],
) -> Iterator[tuple[str, AnnotationFile]]:
    """Yield the contents of each source with the name of the file, empty if it is no file of the caller."""
    if source is None:
        yield "", read_run_annotations(folder, scales)
        return
    for entry in [source] if isinstance(source, str | Path) else source:
        if isinstance(entry, Annotation):
            yield "", AnnotationFile(annotations=(entry,))
        else:
            yield Path(entry).name, read_annotations(entry, scales, metric=metric, label_columns=label_columns)


def _clear_missing_values(
    folder: Path, annotations: Iterable[Annotation], scales: Mapping[str, Scale] | None
) -> Iterator[Annotation]:
    """Yield annotations in which a value that stands for none, such as NaN or "n/a", is None, as in files."""
    if scales is None:
        with Store.open(folder) as store:
            scales = read_known_scales(store)
    for annotation in annotations:
        if annotation.value is not None and is_missing_value(scales.get(annotation.metric), annotation.value):
            status = "pending" if annotation.status == "submitted" else annotation.status
            yield annotation.model_copy(update={"value": None, "status": status})
        else:
            yield annotation


def _refuse_copied_verdicts(folder: Path, name: str, annotations: Iterable[Annotation]) -> None:
    """Raise `DataError` if labels are the judge's verdicts with its reasons, as in a table of results that was cut.

    With them the judge would be compared with itself.
    """
    # A few labels with comments are enough to know, and reading all verdicts takes long.
    commented = [
        *islice(
            (annotation for annotation in annotations if annotation.comment and annotation.value is not None),
            MAX_COMPARED,
        )
    ]
    # A folder without a run has no verdicts yet.
    if not commented or not (folder / FILE).is_file():
        return
    with Store.open(folder) as store:
        if not all(_has_verdict(store, annotation) for annotation in commented):
            return
    raise DataError(
        f"{name}: its column value holds the judge's own verdicts, with its reasons; name the column that holds "
        "people's labels: --label-column COLUMN"
    )


def _has_verdict(store: Store, annotation: Annotation) -> bool:
    """Return whether a run holds a verdict of the value and the reason that an annotation has."""
    result_filter = ResultFilter(sample_id=annotation.sample_id, metrics=(annotation.metric,))
    results = store.results(result_filter)
    return any(
        (judgement.value, judgement.reason, judgement.item) == (annotation.value, annotation.comment, annotation.item)
        for result in results
        if annotation.method in {"", result.method}
        for judgement in result.judgements
    )


def read_label_tags(
    folder: Path, metric: str, columns: Sequence[str], scales: Mapping[str, Scale] | None = None
) -> AnnotationFile:
    """Read labels from columns of the cases of a run, which are tags; each column is an annotator."""
    annotations: list[Annotation] = []
    faults: list[RowFault] = []
    tag_names: dict[str, None] = {}
    with Store.open(folder) as store, store.snapshot():
        if over := read_metric(store, metric).over:
            raise DataError(f"{metric}: has a verdict for each of the {over}; a column of the cases has one a case")
        for result in store.results(ResultFilter(metrics=(metric,))):
            tag_names |= dict.fromkeys(result.tags)
            keys = {"sample_id": result.sample_id, "method": result.method, "metric": metric}
            for column in columns:
                value = result.tags.get(column)
                if is_missing_value((scales or {}).get(metric), value):
                    continue
                annotation = parse_annotation({**keys, "annotator": column, "value": value}, scales or {})
                if isinstance(annotation, str):
                    faults.append(
                        RowFault(place=f"{result.sample_id}, {column}", message=annotation, id=result.sample_id)
                    )
                else:
                    annotations.append(annotation)
    for column in columns:
        if column not in tag_names:
            raise build_unknown_name_error("label column", column, tag_names, folder)
    return AnnotationFile(annotations=tuple(annotations), faults=tuple(faults), label_columns=tuple(columns))


def build_row_key(annotation: Annotation) -> tuple[str | None, ...]:
    """Return the key of an annotation: sample, method, metric, item and annotator."""
    return annotation.sample_id, annotation.method, annotation.metric, annotation.item, annotation.annotator


def _format_json_lines(annotations: Iterable[Annotation]) -> str:
    """Format annotations as JSON lines, without fields that have their default value."""
    return "".join(f"{annotation.model_dump_json(exclude_defaults=True)}\n" for annotation in annotations)


def _format_table(annotations: Iterable[Annotation]) -> str:
    file = io.StringIO(newline="")
    # Rows end with CRLF as in RFC 4180, so that every cell with a line break is quoted.
    writer = csv.DictWriter(file, FIELDS)
    writer.writeheader()
    for annotation in annotations:
        row = {**annotation.model_dump(), "suggested": str(annotation.suggested).lower()}
        writer.writerow({name: escape_formula(value) for name, value in row.items()})
    return file.getvalue()


WRITERS: Mapping[str, Callable[[Iterable[Annotation]], str]] = {
    ".jsonl": _format_json_lines,
    ".ndjson": _format_json_lines,
    ".csv": _format_table,
}
