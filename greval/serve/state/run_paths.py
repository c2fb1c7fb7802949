"""The files of a run: when they changed, and answers without their paths on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic_core import to_json

from greval._util.files import read_status
from greval.errors import ArgillaError, DataError, StoreError
from greval.records.record import Record
from greval.runs.store.disk import read_log_state
from greval.trust.annotations.files import ANNOTATIONS_FILE


def read_run_stamp(folder: Path) -> tuple[object, ...]:
    """Return a value that changes when a run or its annotations change, and not when it is read."""
    labels = read_status(folder / ANNOTATIONS_FILE)
    stamp = labels and (labels.st_mtime_ns, labels.st_size, labels.st_ino)
    return str(folder), read_log_state(folder), stamp


def dump_without_paths(record: Record, *folders: Path) -> str:
    """Return a record as JSON, with paths on this machine replaced by run ids."""
    text = record.model_dump_json()
    for folder in folders:
        # As JSON writes them, which escapes some characters of a path.
        path, name = (to_json(value).decode()[1:-1] for value in (str(folder), folder.name))
        text = text.replace(path, name)
    return text


def hide_paths(text: str, *folders: Path) -> str:
    """Replace paths on this machine by run ids in a text."""
    for folder in folders:
        text = text.replace(str(folder), folder.name)
    return text


@contextmanager
def hide_paths_in_errors(*folders: Path) -> Iterator[None]:
    """Replace paths on this machine by run ids in the messages of errors."""
    try:
        yield
    except (DataError, StoreError, ArgillaError) as error:
        text = hide_paths(str(error), *folders)
        raise ArgillaError(text, error.status) if isinstance(error, ArgillaError) else type(error)(text) from error
