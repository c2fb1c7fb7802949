"""Files of annotations: CSV and JSON lines, one annotation a row, and the one that lies in a run's folder."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from pydantic import ValidationError

from greval._util.whole_file import write_whole
from greval.datasets import RowFault
from greval.datasets.json_text import NoJsonError, faults_in, kind, loads
from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.records.record import Record
from greval.records.scale import OffScaleError, Scale
from greval.trust.annotations.values import settled

FILE = "annotations.jsonl"
FIELDS = tuple(Annotation.model_fields)
BOM = "\ufeff"
Row = tuple[int, Mapping[str, object] | str]
"""A row with the number of its first line, or what is wrong with it."""


class AnnotationFile(Record):
    """What a file holds: the annotations, the rows that are none, and the columns that were not read."""

    annotations: tuple[Annotation, ...]
    faults: tuple[RowFault, ...] = ()
    ignored: tuple[str, ...] = ()


def read_annotations(path: str | Path, scales: Mapping[str, Scale] | None = None) -> AnnotationFile:
    r"""Read annotations from a file whose columns are the fields of `Annotation`.

    A row that is no annotation is told with its line and stops no other. An empty cell of a table is
    not recorded. Other columns are ignored, and named.

    Args:
        path: A file that ends in .jsonl or .ndjson (an annotation a line) or in .csv.
        scales: The scale of each metric, where known: a submitted value that is not on it is a fault.

    Raises:
        DataError: Where the file cannot be read, or its ending is not known.

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
        found = _annotation(row, scales or {})
        if isinstance(found, str):
            faults.append(RowFault(place=f"{path}:{number}", message=found, id=_id(row)))
        else:
            annotations.append(found)
        ignored |= dict.fromkeys(name for name in row if name not in FIELDS) if isinstance(row, Mapping) else {}
    return AnnotationFile(annotations=tuple(annotations), faults=tuple(faults), ignored=tuple(ignored))


def write_annotations(annotations: Iterable[Annotation], path: str | Path) -> None:
    """Write annotations as CSV or JSON lines; the file is there in full or as it was before.

    Args:
        annotations: The rows.
        path: A file that ends in .csv, .jsonl or .ndjson.

    Raises:
        DataError: Where the file cannot be written, or its ending is not known.

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
        write_whole(path, write(annotations))
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from error


def kept(run: str | Path, scales: Mapping[str, Scale] | None = None) -> AnnotationFile:
    """Read the annotations that are kept in a run's folder.

    Raises:
        DataError: Where there are none.
    """
    path = Path(run) / FILE
    if not path.parent.is_dir():
        raise DataError(f"{run}: no run is there; name the folder of one")
    if not path.is_file():
        raise DataError(f"{path}: no annotations are there yet; pull them from Argilla, or name a file of annotations")
    return read_annotations(path, scales)


def keep(run: str | Path, annotations: Iterable[Annotation]) -> Path:
    """Keep annotations in a run's folder; one takes the place of an older one of its thing and annotator.

    Returns:
        The file, `RUN/annotations.jsonl`.

    Raises:
        DataError: Where it cannot be written, or holds rows that are no annotations: they would be lost.
    """
    path = Path(run) / FILE
    before = kept(run) if path.is_file() else AnnotationFile(annotations=())
    if before.faults:
        raise DataError(f"{before.faults[0].place}: {before.faults[0].message}; mend the file first")
    rows = {_who(one): one for one in (*before.annotations, *annotations)}
    write_annotations(rows.values(), path)
    return path


def _who(one: Annotation) -> tuple[str | None, ...]:
    return one.sample_id, one.method, one.metric, one.item, one.annotator


def _id(row: Mapping[str, object] | str) -> str | None:
    found = row.get("sample_id") if isinstance(row, Mapping) else None
    return found if isinstance(found, str) else None


def _annotation(row: Mapping[str, object] | str, scales: Mapping[str, Scale]) -> Annotation | str:
    """Read a row, or say all that is wrong with it."""
    if isinstance(row, str):
        return row
    if isinstance(row.get("value"), bool):
        return f"value: must be a category or a number, got {kind(row['value'])}"
    try:
        return settled(Annotation.model_validate({name: row[name] for name in FIELDS if name in row}), scales)
    except ValidationError as error:
        faults = {".".join(map(str, fault["loc"][:1])): fault["msg"] for fault in error.errors()}
        return "; ".join(f"{name}: {message}" for name, message in faults.items())
    except OffScaleError as error:
        return f"value: {error}"


def _json_lines(text: str) -> Iterator[Row]:
    """Read an annotation a line; lines end with a newline only, as texts may hold other separators."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, _json_row(line)


def _json_row(line: str) -> Mapping[str, object] | str:
    if _is_no_text(line):
        return "is not UTF-8; save the file as UTF-8"
    try:
        row, doubtful = loads(line)
    except NoJsonError as error:
        return str(error)
    if not isinstance(row, dict):
        return f"must be an object with the fields of an annotation, got {kind(row)}"
    faults = faults_in({name: value if name in FIELDS else None for name, value in row.items()}) if doubtful else {}
    told = "; ".join(f"{name}: {why}" for name, why in faults.items())
    return told.encode(errors="backslashreplace").decode() or row


def _table(text: str) -> Iterator[Row]:
    """Read an annotation a row; a row may go over several lines, and after a broken one the next line begins anew."""
    lines = [*io.StringIO(text, newline="")]
    header: list[str] = []
    for number, cells in _records(lines):
        if isinstance(cells, str):
            yield number, cells
        elif not header:
            header = [cell.strip() for cell in cells]
        elif any(cells):
            yield number, _table_row(header, cells)


def _records(lines: Sequence[str]) -> Iterator[tuple[int, list[str] | str]]:
    """Give the cells of each row with the number of its first line, or what is wrong with it."""
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


def _table_row(header: list[str], cells: list[str]) -> Mapping[str, object] | str:
    if len(cells) != len(header):
        return f"has {len(cells)} cells where the header has {len(header)}"
    if _is_no_text("".join(cells)):
        return "is not UTF-8; save the file as UTF-8"
    return {name: cell for name, cell in zip(header, cells, strict=True) if cell}


def _is_no_text(text: str) -> bool:
    return not text.isascii() and any("\udc80" <= letter <= "\udcff" for letter in text)


def _as_json_lines(annotations: Iterable[Annotation]) -> str:
    return "".join(f"{one.model_dump_json(exclude_defaults=True)}\n" for one in annotations)


def _as_table(annotations: Iterable[Annotation]) -> str:
    """Write a table; lines end as the standard has it, so that every cell with a line break is quoted."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, FIELDS)
    writer.writeheader()
    for one in annotations:
        writer.writerow({name: _cell(value) for name, value in one.model_dump().items()})
    return file.getvalue()


def _cell(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


READERS: Mapping[str, Callable[[str], Iterator[Row]]] = {
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".csv": _table,
}
WRITERS: Mapping[str, Callable[[Iterable[Annotation]], str]] = {
    ".jsonl": _as_json_lines,
    ".ndjson": _as_json_lines,
    ".csv": _as_table,
}
