"""What a run folder keeps of a dataset: what was drawn for it with which weights, and what was pulled.

It is written before anything is sent, so that a push that was cut off goes on with the same sample.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO

from pydantic import Field, ValidationError

from greval._util.whole_file import write_whole
from greval.errors import StoreError
from greval.records.record import Record
from greval.runs.store.disk import lock
from greval.trust.annotations.judged_items import Place

FOLDER = "argilla"


class Entry(Record):
    """A record that was drawn: which thing, with which content, weight and stratum."""

    place: Place
    content: str
    weight: float = 1.0
    stratum: str | None = None


class Ledger(Record):
    """Of one dataset: how often something was drawn, from which places, what, and which rows were pulled."""

    draws: int = 0
    frame: frozenset[str] = frozenset()
    planned: dict[str, Entry] = Field(default_factory=dict)
    pulled: frozenset[str] = frozenset()


def folder_of(run: Path) -> Path:
    """Give the folder of a run's ledgers."""
    return run / FOLDER


def hold(run: Path) -> IO[str]:
    """Keep other pushes and pulls of a run out until what is given is closed.

    Raises:
        StoreError: Where another one is under way, or the folder cannot be written.
    """
    try:
        return lock(folder_of(run))
    except StoreError as error:
        if not isinstance(error.__cause__, BlockingIOError):
            raise
        message = f"{run}: another push or pull of this run is under way; run the same again when it has ended"
        raise StoreError(message) from error


def load(run: Path, dataset_id: str) -> Ledger:
    """Read the ledger of a dataset, an empty one where there is none.

    Raises:
        StoreError: Where it cannot be read.
    """
    path = folder_of(run) / f"{dataset_id}.json"
    try:
        return Ledger.model_validate_json(path.read_text(encoding="utf-8")) if path.exists() else Ledger()
    except (OSError, ValidationError) as error:
        raise StoreError(f"{path}: cannot be read: {error}; mend it or push to another --dataset") from error


def keep(run: Path, dataset_id: str, ledger: Ledger) -> None:
    """Write the ledger of a dataset."""
    path = folder_of(run) / f"{dataset_id}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, ledger.model_dump_json())
    except OSError as error:
        why = error.strerror or error
        raise StoreError(f"{path}: cannot be written: {why}; free it and run the same again") from error


def pulled_of_others(run: Path, dataset_id: str) -> frozenset[str]:
    """Give the rows that were pulled from other datasets."""
    names = {path.stem for path in folder_of(run).glob("*.json")} - {dataset_id}
    return frozenset().union(*(load(run, name).pulled for name in names))
