"""Analyses of runs as JSON, as the routes respond with them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from greval.analysis.comparison.api import compare
from greval.analysis.comparison.records import Comparison
from greval.analysis.summary import Report, build_report
from greval.records.case import Case
from greval.records.record import Record
from greval.report.case_grid import CaseGrid, build_case_grid
from greval.report.walk import draw_walk_svg
from greval.runs.store import Store
from greval.runs.text_search import FoundSamples, build_text_index, search_text_index, search_texts
from greval.serve.state.run_paths import dump_without_paths, hide_paths_in_errors, read_run_stamp

TEXT_INDEX = "text-index.sqlite"
"""The file in a run's folder by which the server searches its texts; it can be deleted at any time."""


def compute_figure(make: Callable[..., Record], folders: Sequence[Path], options: Mapping[str, Any]) -> str:
    """Return an analysis of runs as JSON, without paths of this machine.

    It takes time and memory that depend on the run, so the server calls it in a child process.
    """
    with hide_paths_in_errors(*folders):
        return dump_without_paths(make(*folders, **options), *folders)


def report_folder(folder: Path, *, by: Sequence[str]) -> Report:
    """Report what a run found."""
    with Store.open(folder) as store:
        return build_report(store, by=by)


def build_folder_grid(folder: Path) -> CaseGrid:
    """Build the grid of a run's cases."""
    with Store.open(folder) as store:
        return build_case_grid(store)


def search_folder(folder: Path, *, query: str) -> FoundSamples:
    """Find the samples of a run that have words in their texts, by its text index if that is of the run as it is."""
    samples = search_text_index(folder / TEXT_INDEX, _format_stamp(folder), query)
    if samples is not None:
        return samples
    with Store.open(folder) as store:
        return search_texts(store, query)


def index_folder(folder: Path) -> None:
    """Build the text index of a run, unless there is one of the run as it is; without one, searches take longer."""
    stamp = _format_stamp(folder)
    if search_text_index(folder / TEXT_INDEX, stamp, "") is not None:
        return
    # Such as a full disk.
    with suppress(OSError, sqlite3.Error), Store.open(folder) as store:
        build_text_index(store, folder / TEXT_INDEX, stamp)


def _format_stamp(folder: Path) -> str:
    """Return the state of a run as text, without its place."""
    return repr(read_run_stamp(folder)[1:])


def compare_folders(
    folder: Path,
    against: Path | None = None,
    *,
    questions: int | None = None,
    **options: Any,  # noqa: ANN401 - those of `compare`
) -> Comparison:
    """Compare the methods of a run, or each with itself in an earlier run; name at most `questions` in each row."""
    comparison = compare(folder, against=against, **options)
    return comparison if questions is None else comparison.name_first(questions)


def draw_case_walk(case: Case) -> str:
    """Draw the walk of a case as an SVG; empty if it visits nothing and the gold expects no edge."""
    if case.traversal is None or not (case.traversal.visited or (case.gold and case.gold.expected_edges)):
        return ""
    return draw_walk_svg(case.traversal, case.gold, title=case.question)
