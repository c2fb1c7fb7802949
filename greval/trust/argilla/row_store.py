"""The annotation file of a run, in which the rows of one dataset can be replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.records.metric_input import hash_json
from greval.trust.annotations import AnnotationFile, read_annotations, write_annotations
from greval.trust.annotations.files import ANNOTATIONS_FILE
from greval.trust.argilla.ledger import Ledger, find_rows_of_others, get_ledger_folder, write_ledger

GONE, OUTDATED = "gone", "outdated"


def replace_annotations(
    run: Path, dataset_id: str, ledger: Ledger, *, rows: Sequence[Annotation], outdated: Sequence[Annotation]
) -> Counter[str]:
    """Replace the rows that were pulled from the dataset before, and count the removed answers by annotator.

    The ledger first holds both the old and the new rows. If this is interrupted, the next pull still knows
    which rows of the file belong to the dataset.

    Raises:
        DataError: If a file cannot be written, or contains invalid rows.
    """
    marks = frozenset(map(_hash_row, rows))
    mine = ledger.pulled - find_rows_of_others(run, dataset_id)
    old = _read_rows(run / ANNOTATIONS_FILE)
    kept = [row for row in old if _hash_row(row) not in mine]
    there = set(map(_get_row_key, (*rows, *outdated)))
    gone = [row for row in old if _hash_row(row) in mine and _get_row_key(row) not in there]
    write_ledger(run, dataset_id, ledger.model_copy(update={"pulled": ledger.pulled | marks}))
    _append_rows(get_excluded_path(run, dataset_id, GONE), gone)
    _overwrite_rows(get_excluded_path(run, dataset_id, OUTDATED), outdated)
    _write_rows(run / ANNOTATIONS_FILE, [*kept, *rows])
    write_ledger(run, dataset_id, ledger.model_copy(update={"pulled": marks}))
    return Counter(row.annotator for row in gone)


def _hash_row(row: Annotation) -> str:
    """Return the hash of a row, which does not depend on the formatting of its line."""
    return hash_json(row.model_dump_json())


def _get_row_key(row: Annotation) -> tuple[object, ...]:
    return row.sample_id, row.method, row.metric, row.item, row.annotator


def get_excluded_path(run: Path, dataset_id: str, what: str) -> Path:
    """Return the path of the file for pulled answers that do not count."""
    return get_ledger_folder(run) / f"{dataset_id}.{what}.jsonl"


def _read_rows(path: Path) -> tuple[Annotation, ...]:
    """Read an annotation file, empty if missing. Invalid rows raise, because rewriting the file would lose them."""
    found = read_annotations(path) if path.is_file() else AnnotationFile(annotations=())
    if found.faults:
        raise DataError(f"{found.faults[0].place}: {found.faults[0].message}; mend the file first")
    return found.annotations


def _append_rows(path: Path, rows: Sequence[Annotation]) -> None:
    if rows:
        _write_rows(path, [*_read_rows(path), *rows])


def _overwrite_rows(path: Path, rows: Sequence[Annotation]) -> None:
    if rows or path.exists():
        _write_rows(path, rows)


def _write_rows(path: Path, rows: Iterable[Annotation]) -> None:
    """Write distinct annotations atomically."""
    write_annotations({_hash_row(row): row for row in rows}.values(), path)
