"""Import of a file of verdicts into the folder of a new run; the server calls it in a child process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from greval.datasets.file_identity import identify_file
from greval.records.metric import Metric
from greval.records.record import Record
from greval.runs.importing.api import import_verdicts
from greval.serve.settings import ServerLimits
from greval.serve.state.dataset_files import DatasetFile
from greval.serve.state.file_receiver import report_full_disk
from greval.serve.state.run_paths import hide_paths_in_errors


class ImportSettings(NamedTuple):
    """How a file of verdicts is read; `judge` is who gave them, `cases` the data set whose cases are joined by id."""

    metrics: tuple[Metric, ...]
    judge: str
    method: str | None
    columns: Mapping[str, str]
    cases: DatasetFile | None


class ImportCounts(Record):
    """What was imported: the results by status, the rows that were not imported, and how the file was read.

    `unread` lists the first of the rows.
    """

    scored: int
    skipped: int
    failed: int
    unread: tuple[str, ...]
    unread_count: int
    notes: tuple[str, ...]


def import_file(path: Path, folder: Path, settings: ImportSettings, limits: ServerLimits) -> ImportCounts:
    """Import the verdicts of a file into a run folder; messages name the file without its folder."""
    unread: list[str] = []
    notes: list[str] = []
    with hide_paths_in_errors(path, folder), report_full_disk():
        run = import_verdicts(
            path,
            settings.metrics,
            out=folder,
            judge=settings.judge,
            method=settings.method,
            columns=settings.columns or None,
            cases=settings.cases.open(limits) if settings.cases else None,
            # Clients see it in reports.
            origin=identify_file(path)._replace(label=path.name),
            on_note=notes.append,
            on_unread=unread.append,
        )
    done = run.progress
    return ImportCounts(
        scored=done.done - done.failed - done.skipped,
        skipped=done.skipped,
        failed=done.failed,
        unread=tuple(line.replace(str(path), path.name) for line in unread),
        unread_count=done.unread,
        notes=tuple(note.replace(str(path), path.name) for note in notes),
    )
