"""Annotation files: CSV and JSON lines with one annotation a row, and the file in a run's folder."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from greval._util.files import write_atomically
from greval.datasets import RowFault
from greval.datasets.json_files import InvalidJsonError, describe_type, find_faults, parse_json
from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.records.record import Record
from greval.records.scale import OffScaleError, Scale
from greval.trust.annotations.values import parse_annotation_value

ANNOTATIONS_FILE = "annotations.jsonl"
FIELDS = tuple(Annotation.model_fields)
MAX_LISTED = 3
BOM = "\ufeff"
NumberedRow = tuple[int, Mapping[str, object] | str]
"""The number of a row's first line, and the row or the error in it."""
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


def read_annotations(path: str | Path, scales: Mapping[str, Scale] | None = None) -> AnnotationFile:
    r"""Read annotations from a file whose columns are the fields of `Annotation`.

    An invalid row is reported with its line number, and reading goes on. An empty cell of a table is a missing value.
    Other columns are ignored and listed in the result.

    Args:
        path: A file that ends in .jsonl or .ndjson (one annotation a line) or in .csv.
        scales: The scale of each metric, if known. A submitted value that is not on its scale is an invalid row.

    Raises:
        DataError: If the file cannot be read, or its extension is not known.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "people.csv"
        >>> _ = path.write_text("sample_id,metric,annotator,value\nq1,tone,ana,Polite\nq2,tone,,Rude\n")
        >>> found = read_annotations(path)
        >>> found.annotations[0].value, found.faults[0].message
        ('Polite', 'annotator: Field required')
    """
    path = Path(path)
    read = READERS.get(path.suffix.lower())
    if read is None:
        what = "is a folder; name a file in it" if path.is_dir() else f"its ending {path.suffix!r} is not known"
        raise DataError(f"{path}: {what} (known are {', '.join(READERS)})")
    try:
        text = path.read_bytes().decode(errors="surrogateescape").removeprefix(BOM)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    annotations: list[Annotation] = []
    faults: list[RowFault] = []
    ignored: dict[str, None] = {}
    for number, row in read(text):
        found = _parse_annotation(row, scales or {})
        if isinstance(found, str):
            faults.append(RowFault(place=f"{path}:{number}", message=found, id=_find_id(row)))
        else:
            annotations.append(found)
        ignored |= dict.fromkeys(name for name in row if name not in FIELDS) if isinstance(row, Mapping) else {}
    return AnnotationFile(annotations=tuple(annotations), faults=tuple(faults), ignored=tuple(ignored))


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
    folder: Path, source: AnnotationSource, scales: Mapping[str, Scale] | None = None
) -> LoadedAnnotations:
    """Load annotations of any metric, with the values in files parsed by `scales`; None accepts any value.

    Raise `DataError` if a file cannot be read, the run's folder has no annotations, or every row is invalid.
    """
    files = [*_load_files(folder, source, scales)]
    found = LoadedAnnotations(
        tuple(one for file in files for one in file.annotations),
        tuple(f"{fault.place}: {fault.message}" for file in files for fault in file.faults),
    )
    if found.unread and not found.annotations:
        more = [f"... and {len(found.unread) - MAX_LISTED} more"] if len(found.unread) > MAX_LISTED else []
        fields = "a row has sample_id, metric, annotator and value, and method and item where the run has them"
        raise DataError("\n".join([*found.unread[:MAX_LISTED], *more, f"no row is an annotation; {fields}"]))
    return found


def _load_files(folder: Path, source: AnnotationSource, scales: Mapping[str, Scale] | None) -> Iterator[AnnotationFile]:
    """Yield the contents of each source."""
    if source is None:
        yield read_run_annotations(folder, scales)
        return
    for one in [source] if isinstance(source, str | Path) else source:
        yield AnnotationFile(annotations=(one,)) if isinstance(one, Annotation) else read_annotations(one, scales)


def build_row_key(one: Annotation) -> tuple[str | None, ...]:
    """Return the key of an annotation: sample, method, metric, item and annotator."""
    return one.sample_id, one.method, one.metric, one.item, one.annotator


def _find_id(row: Mapping[str, object] | str) -> str | None:
    """Return the sample id of a row, or None."""
    found = row.get("sample_id") if isinstance(row, Mapping) else None
    return found if isinstance(found, str) else None


def _parse_annotation(row: Mapping[str, object] | str, scales: Mapping[str, Scale]) -> Annotation | str:
    """Parse a row into an annotation, or return a description of all errors in it."""
    if isinstance(row, str):
        return row
    if isinstance(row.get("value"), bool):
        return f"value: must be a category or a number, got {describe_type(row['value'])}"
    try:
        return parse_annotation_value(
            Annotation.model_validate({name: row[name] for name in FIELDS if name in row}), scales
        )
    except ValidationError as error:
        faults = {".".join(map(str, fault["loc"][:1])): fault["msg"] for fault in error.errors()}
        return "; ".join(f"{name}: {message}" for name, message in faults.items())
    except OffScaleError as error:
        return f"value: {error}"


def _read_json_lines(text: str) -> Iterator[NumberedRow]:
    """Read one annotation a line; only a newline ends a line, because texts may contain other line separators."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, _parse_json_row(line)


def _parse_json_row(line: str) -> Mapping[str, object] | str:
    """Parse a line of JSON, or return a description of the errors in it."""
    if _has_invalid_bytes(line):
        return "is not UTF-8; save the file as UTF-8"
    try:
        row, doubtful = parse_json(line)
    except InvalidJsonError as error:
        return str(error)
    if not isinstance(row, dict):
        return f"must be an object with the fields of an annotation, got {describe_type(row)}"
    faults = find_faults({name: value if name in FIELDS else None for name, value in row.items()}) if doubtful else {}
    problems = "; ".join(f"{name}: {why}" for name, why in faults.items())
    return problems.encode(errors="backslashreplace").decode() or row


def _read_table(text: str) -> Iterator[NumberedRow]:
    """Read one annotation a row; a row may span several lines, and reading goes on at the line after an invalid row."""
    lines = [*io.StringIO(text, newline="")]
    header: list[str] = []
    for number, cells in _read_cells(lines):
        if isinstance(cells, str):
            yield number, cells
        elif not header:
            header = [cell.strip() for cell in cells]
        elif any(cells):
            yield number, _parse_table_row(header, cells)


def _read_cells(lines: Sequence[str]) -> Iterator[tuple[int, list[str] | str]]:
    """Yield the cells of each row with the number of its first line, or the error in it."""
    begin = 0
    while True:
        reader = csv.reader(islice(lines, begin, None), strict=True)
        first = begin + 1
        try:
            for cells in reader:
                yield first, cells
                first = begin + reader.line_num + 1
        except csv.Error as error:
            yield first, f"is no row of a table: {error}; a cell with quotes in it is quoted, and each is doubled"
            begin = first
        else:
            return


def _parse_table_row(header: list[str], cells: list[str]) -> Mapping[str, object] | str:
    """Return the nonempty cells of a row by column, or a description of the error in it."""
    if len(cells) != len(header):
        return f"has {len(cells)} cells where the header has {len(header)}"
    if _has_invalid_bytes("".join(cells)):
        return "is not UTF-8; save the file as UTF-8"
    return {name: cell for name, cell in zip(header, cells, strict=True) if cell}


def _has_invalid_bytes(text: str) -> bool:
    """Return whether a text was decoded from bytes that are not UTF-8."""
    return not text.isascii() and any("\udc80" <= letter <= "\udcff" for letter in text)


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


READERS: Mapping[str, Callable[[str], Iterator[NumberedRow]]] = {
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".csv": _read_table,
}
WRITERS: Mapping[str, Callable[[Iterable[Annotation]], str]] = {
    ".jsonl": _format_json_lines,
    ".ndjson": _format_json_lines,
    ".csv": _format_table,
}
