"""The sync state of a dataset in a run folder: the drawn records with their weights, and the pulled rows.

It is written before anything is sent, so that an interrupted push resumes with the same sample.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO

from pydantic import Field, ValidationError

from greval._util.files import write_atomically
from greval.errors import StoreError
from greval.records.record import Record
from greval.runs.store.disk import lock_folder
from greval.trust.annotations.judged_items import ItemRef

FOLDER = "argilla"


class LedgerEntry(Record):
    """A drawn record: its place, content hash, weight and stratum."""

    place: ItemRef
    content: str
    weight: float = 1.0
    stratum: str | None = None


class Ledger(Record):
    """The sync state of one dataset.

    `draws` counts the draws, `frame` holds the keys of all places drawn from, `planned` the drawn records by
    id, and `pulled` the hashes of the pulled rows.
    """

    draws: int = 0
    frame: frozenset[str] = frozenset()
    planned: dict[str, LedgerEntry] = Field(default_factory=dict)
    pulled: frozenset[str] = frozenset()


def get_ledger_folder(run: Path) -> Path:
    """Return the folder of a run's ledgers."""
    return run / FOLDER


def lock_run(run: Path) -> IO[str]:
    """Lock a run against other pushes and pulls until the returned file is closed.

    Raises:
        StoreError: If another one is in progress, or the folder cannot be written.
    """
    try:
        return lock_folder(get_ledger_folder(run))
    except StoreError as error:
        if not isinstance(error.__cause__, BlockingIOError):
            raise
        message = f"{run}: another push or pull of this run is under way; run the same again when it has ended"
        raise StoreError(message) from error


def read_ledger(run: Path, dataset_id: str) -> Ledger:
    """Read the ledger of a dataset, empty if it does not exist.

    Raises:
        StoreError: If it cannot be read.
    """
    path = get_ledger_folder(run) / f"{dataset_id}.json"
    try:
        return Ledger.model_validate_json(path.read_text(encoding="utf-8")) if path.exists() else Ledger()
    except (OSError, ValidationError) as error:
        raise StoreError(f"{path}: cannot be read: {error}; mend it or push to another --dataset") from error


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
