"""Where annotations are kept: one file of the run for all, of which a dataset's rows can be replaced."""

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
    """Put rows in place of those that were pulled from the dataset before; give what is gone, by annotator.

    The ledger first holds the old and the new rows: whenever this is cut off, the next pull knows
    which rows of the file are the dataset's.

    Raises:
        DataError: Where a file cannot be written, or holds rows that are no annotations.
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
    """Tell a row from others, however its line is written."""
    return digest(row.model_dump_json())


def _who(row: Annotation) -> tuple[object, ...]:
    return row.sample_id, row.method, row.metric, row.item, row.annotator


def beside(run: Path, dataset_id: str, what: str) -> Path:
    """Give the file for what was pulled and does not count."""
    return folder_of(run) / f"{dataset_id}.{what}.jsonl"


def _rows(path: Path) -> tuple[Annotation, ...]:
    """Read a file of annotations, none where there is no file; rows that are none would be lost by writing it."""
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
    """Write annotations, each once, in one step."""
    write_annotations({_mark(row): row for row in rows}.values(), path)
