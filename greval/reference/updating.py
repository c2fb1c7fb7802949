"""Making or updating the index of a folder of documents, as a command does that needs it for something else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from greval._util.wording import format_count
from greval.reference.building import BuildProgress, build_index
from greval.reference.extractor import RULES
from greval.reference.index import read_index_file
from greval.reference.settings import IndexSettings

REPORT_SECONDS = 10.0


def update_index(documents: Path, folder: Path, report: Callable[[str], None]) -> None:
    """Make or update the index of documents, by rules and without a model.

    An index keeps the settings that it was made with. One whose entities a model extracted is left as it is.
    """
    due = REPORT_SECONDS

    def report_progress(progress: BuildProgress) -> None:
        # Every few seconds, so that a long embedding is not silent.
        nonlocal due
        if progress.forecast and progress.forecast >= REPORT_SECONDS:
            report(f"embedding {progress.total:,} chunks will take about {progress.forecast:.0f} s")
        if progress.seconds >= due:
            due = progress.seconds + REPORT_SECONDS
            total = f" of {progress.total:,}" if progress.total else ""
            report(f"{progress.step} {progress.done:,}{total}, {progress.seconds:.0f} s")

    file = read_index_file(folder)
    if file is None:
        report(f"indexing {documents} by rules, without a model")
    elif file.settings.extract != RULES:
        return
    settings = file.settings if file else IndexSettings()
    built = build_index(documents, folder, settings, report_progress)
    if built.rebuilt:
        report(f"{built.describe()}: {folder}")
    if built.failed:
        first = built.faults[0]
        report(f"{format_count(built.failed, 'fault')} in the documents, the first {first}")
