"""The sync state of a dataset in a run folder: the drawn records with their weights, and the pulled rows.

It is written before anything is sent, so that an interrupted push resumes with the same sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from pydantic import Field, ValidationError

from greval._util.files import write_atomically
from greval.errors import StoreError
from greval.records.annotation import Annotation
from greval.records.metric_input import hash_json
from greval.records.record import Record
from greval.runs.store.disk import lock_folder
from greval.trust.annotations.files import ANNOTATIONS_FILE, build_row_key, read_valid_annotations, write_annotations
from greval.trust.annotations.judged_items import ItemRef

FOLDER = "argilla"
GONE, OUTDATED = "gone", "outdated"


class LedgerEntry(Record):
    """A drawn record: its place, content hash, weight and stratum."""

    place: ItemRef
    content: str
    weight: float = 1.0
    stratum: str | None = None


class Ledger(Record):
    """The sync state of one dataset.

    `draws` counts the draws, `sample` says how they are made, `frame` holds the keys of all places drawn from,
    `planned` the drawn records by id, and `pulled` the hashes of the pulled rows.
    """

    draws: int = 0
    sample: str | None = None
    frame: frozenset[str] = frozenset()
    planned: dict[str, LedgerEntry] = Field(default_factory=dict)
    pulled: frozenset[str] = frozenset()


def get_ledger_folder(run: Path) -> Path:
    """Return the folder of a run's ledgers."""
    return run / FOLDER


def lock_run(run: Path) -> IO[str]:
    """Lock a run against other pushes and pulls until the returned file is closed."""
    try:
        return lock_folder(get_ledger_folder(run))
    except StoreError as error:
        # With a cause, the folder cannot be used at all; without one, somebody else has the lock.
        if error.__cause__:
            raise
        message = f"{run}: another push or pull of this run is under way; run the same again when it has ended"
        raise StoreError(message) from error


def read_ledger(run: Path, dataset_id: str) -> Ledger:
    """Read the ledger of a dataset, empty if it does not exist, or raise `StoreError` if it cannot be read."""
    path = get_ledger_folder(run) / f"{dataset_id}.json"
    try:
        return Ledger.model_validate_json(path.read_text(encoding="utf-8")) if path.exists() else Ledger()
    except (OSError, ValidationError) as error:
        raise StoreError(f"{path}: cannot be read: {error}; mend it or push to another dataset") from error


def write_ledger(run: Path, dataset_id: str, ledger: Ledger) -> None:
    """Write the ledger of a dataset."""
    path = get_ledger_folder(run) / f"{dataset_id}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, ledger.model_dump_json())
    except OSError as error:
        why = error.strerror or error
        raise StoreError(f"{path}: cannot be written: {why}; free it and run the same again") from error


def find_rows_of_others(run: Path, dataset_id: str) -> frozenset[str]:
    """Return the hashes of the rows that were pulled from other datasets."""
    names = {path.stem for path in get_ledger_folder(run).glob("*.json")} - {dataset_id}
    return frozenset().union(*(read_ledger(run, name).pulled for name in names))


def replace_annotations(
    run: Path, dataset_id: str, ledger: Ledger, *, rows: Sequence[Annotation], outdated: Sequence[Annotation]
) -> Counter[str]:
    """Replace the rows that were pulled from the dataset before, and count the removed answers by annotator."""
    marks = frozenset(map(_hash_row, rows))
    mine = ledger.pulled - find_rows_of_others(run, dataset_id)
    old = read_valid_annotations(run / ANNOTATIONS_FILE)
    foreign = [row for row in old if _hash_row(row) not in mine]
    current_keys = set(map(build_row_key, (*rows, *outdated)))
    removed = [row for row in old if _hash_row(row) in mine and build_row_key(row) not in current_keys]
    # Old and new rows first: if this is interrupted, the next pull knows which rows of the file came from here.
    write_ledger(run, dataset_id, ledger.model_copy(update={"pulled": ledger.pulled | marks}))
    if removed:
        path = get_excluded_path(run, dataset_id, GONE)
        _write_rows(path, [*read_valid_annotations(path), *removed])
    if outdated or get_excluded_path(run, dataset_id, OUTDATED).exists():
        _write_rows(get_excluded_path(run, dataset_id, OUTDATED), outdated)
    _write_rows(run / ANNOTATIONS_FILE, [*foreign, *rows])
    write_ledger(run, dataset_id, ledger.model_copy(update={"pulled": marks}))
    return Counter(row.annotator for row in removed)


def _hash_row(row: Annotation) -> str:
    """Return the hash of a row, which does not depend on the formatting of its line."""
    return hash_json(row.model_dump_json())


def get_excluded_path(run: Path, dataset_id: str, what: str) -> Path:
    """Return the path of the file for pulled answers that do not count."""
    return get_ledger_folder(run) / f"{dataset_id}.{what}.jsonl"


def _write_rows(path: Path, rows: Iterable[Annotation]) -> None:
    """Write distinct annotations atomically."""
    write_annotations({_hash_row(row): row for row in rows}.values(), path)
