"""The annotation file of a run, in which the rows of one dataset can be replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.records.fingerprint import digest
from greval.trust.annotations import AnnotationFile, read_annotations, write_annotations
from greval.trust.annotations.files import FILE
from greval.trust.argilla.ledger import Ledger, folder_of, keep, pulled_of_others

GONE, OUTDATED = "gone", "outdated"


def write(
    run: Path, dataset_id: str, ledger: Ledger, *, rows: Sequence[Annotation], outdated: Sequence[Annotation]
) -> Counter[str]:
    """Replace the rows that were pulled from the dataset before, and count the removed answers by annotator.

    The ledger first holds both the old and the new rows. If this is interrupted, the next pull still knows
    which rows of the file belong to the dataset.

    Raises:
        DataError: If a file cannot be written, or contains invalid rows.
    """
    marks = frozenset(map(_mark, rows))
    mine = ledger.pulled - pulled_of_others(run, dataset_id)
    old = _rows(run / FILE)
    kept = [row for row in old if _mark(row) not in mine]
    there = set(map(_who, (*rows, *outdated)))
    gone = [row for row in old if _mark(row) in mine and _who(row) not in there]
    keep(run, dataset_id, ledger.model_copy(update={"pulled": ledger.pulled | marks}))
    _add(beside(run, dataset_id, GONE), gone)
    _set(beside(run, dataset_id, OUTDATED), outdated)
    _replace(run / FILE, [*kept, *rows])
    keep(run, dataset_id, ledger.model_copy(update={"pulled": marks}))
    return Counter(row.annotator for row in gone)


def _mark(row: Annotation) -> str:
    """Return the hash of a row, which does not depend on the formatting of its line."""
    return digest(row.model_dump_json())


def _who(row: Annotation) -> tuple[object, ...]:
    return row.sample_id, row.method, row.metric, row.item, row.annotator


def beside(run: Path, dataset_id: str, what: str) -> Path:
    """Return the path of the file for pulled answers that do not count."""
    return folder_of(run) / f"{dataset_id}.{what}.jsonl"


def _rows(path: Path) -> tuple[Annotation, ...]:
    """Read an annotation file, empty if missing. Invalid rows raise, because rewriting the file would lose them."""
    found = read_annotations(path) if path.is_file() else AnnotationFile(annotations=())
    if found.faults:
        raise DataError(f"{found.faults[0].place}: {found.faults[0].message}; mend the file first")
    return found.annotations


def _add(path: Path, rows: Sequence[Annotation]) -> None:
    if rows:
        _replace(path, [*_rows(path), *rows])


def _set(path: Path, rows: Sequence[Annotation]) -> None:
    if rows or path.exists():
        _replace(path, rows)


def _replace(path: Path, rows: Iterable[Annotation]) -> None:
    """Write distinct annotations atomically."""
    write_annotations({_mark(row): row for row in rows}.values(), path)
