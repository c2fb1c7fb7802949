"""Annotations of a run: files of them that clients send, and pages of those that the run holds."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from greval.errors import StoreError
from greval.records.annotation import Annotation
from greval.records.record import Record
from greval.runs.run_reader import read_known_scales
from greval.runs.store import Store
from greval.runs.store.disk import lock_folder
from greval.serve.state.run_paths import hide_paths_in_errors
from greval.trust.annotations.files import ANNOTATIONS_FILE, keep_annotations, read_run_annotations
from greval.trust.annotations.reading import read_annotations
from greval.trust.argilla.ledger import get_ledger_folder

MAX_FAULTY_ROWS = 100
"""The most faulty rows that are listed; all are counted."""


class StoredAnnotations(Record):
    """The number of annotations in the file, and of those that the run holds now."""

    annotations: int
    held: int


class FaultyRows(NamedTuple):
    """The number of rows that are no annotations, and the place and the message of the first ones."""

    total: int
    rows: tuple[tuple[str, str], ...]


def store_annotations(folder: Path, file: Path, annotator: str | None = None) -> StoredAnnotations | FaultyRows | None:
    """Store a file of annotations in a run, or nothing of it if a row is faulty; None if somebody else writes them.

    It takes time and memory that depend on the file, so the server calls it in a child process.
    """
    with hide_paths_in_errors(folder), Store.open(folder) as store:
        reading = read_annotations(file, read_known_scales(store), annotator=annotator)
    if reading.faults:
        rows = ((_format_row(fault.place), fault.message) for fault in reading.faults[:MAX_FAULTY_ROWS])
        return FaultyRows(len(reading.faults), tuple(rows))
    try:
        lock = lock_folder(get_ledger_folder(folder))
    except StoreError:
        return None
    with lock, hide_paths_in_errors(folder):
        # Other rows of a sheet are empty.
        labelled = [annotation for annotation in reading.annotations if annotation.status != "pending"]
        keep_annotations(folder, labelled)
        return StoredAnnotations(annotations=len(labelled), held=len(read_run_annotations(folder).annotations))


def read_annotation_page(folder: Path, begin: int, limit: int) -> tuple[tuple[Annotation, ...], bool]:
    """Return annotations of a run from a position on, and whether there are more.

    The whole file is read each time, so the server calls it in a child process.
    """
    with hide_paths_in_errors(folder):
        annotations = read_run_annotations(folder).annotations if (folder / ANNOTATIONS_FILE).is_file() else ()
    return tuple(annotations[begin : begin + limit]), len(annotations) > begin + limit


def _format_row(location: str) -> str:
    """Return the row of a fault without its file, such as `line 9`; the rows of a list have no lines."""
    number = location.rpartition(":")[2]
    return f"line {number}" if number.isdecimal() else f"row {location.rpartition(' ')[2]}"
