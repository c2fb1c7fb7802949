"""Hints about the failures of a run: one line for each kind, with its first message, or one for each imported row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import cast, get_args

from greval.analysis.summary import Report
from greval.cli.console import ReportConsole
from greval.judging.model.failures import format_failure_hint
from greval.records.result import IMPORTED, Failure, FailureKind
from greval.report.tables import print_line
from greval.runs.store import Store
from greval.runs.store.filters import ResultFilter

MAX_SEARCHED_ROWS = 5_000
"""The maximum number of rows searched for a failure of each kind. The hint is printed even if none is found."""
MAX_IMPORTED = 10
"""The most failures of imported verdicts that are printed of each kind: each is a row that somebody must correct."""


def print_failure_hints(folder: Path, kinds: Iterable[str], judge: str, printed: str = "") -> None:
    """Print hints about failures on stderr, for imported verdicts the first rows that are not on the scale.

    Args:
        folder: The run folder.
        kinds: The kinds of its failures.
        judge: The label of its judge.
        printed: Text printed before; what it contains is not repeated.
    """
    failure_kinds = {cast("FailureKind", kind) for kind in kinds if kind in get_args(FailureKind)}
    is_imported = judge.startswith(IMPORTED)
    messages: dict[FailureKind, list[str]] = {kind: [] for kind in sorted(failure_kinds)}
    for failure in (
        _find_first_failures(folder, failure_kinds, MAX_IMPORTED if is_imported else 1) if failure_kinds else ()
    ):
        messages[failure.kind].append(failure.message)
    for kind, first in messages.items():
        hint = "" if is_imported else format_failure_hint(kind, judge)
        for message in first or [""]:
            parts = [part for part in (message, hint) if part]
            if not all(part in printed for part in parts):
                print_line(ReportConsole(stderr=True), f"{kind}: {'; '.join(parts)}")


def list_failure_kinds(report: Report) -> list[str]:
    """Return the kinds of failures in a report."""
    return [kind for summary in report.summaries for kind in summary.failures]


def _find_first_failures(folder: Path, kinds: set[FailureKind], most: int) -> Iterator[Failure]:
    """Yield the first failures of each kind, at most `most`, if they are found in the first rows."""
    remaining = dict.fromkeys(kinds, most)
    with Store.open(folder) as store:
        # A scored result can contain failed items.
        for status in ("failed", "scored"):
            for result in islice(store.results(ResultFilter(status=status)), MAX_SEARCHED_ROWS):
                for failure in result.failures:
                    if remaining.get(failure.kind):
                        remaining[failure.kind] -= 1
                        yield failure
                if not any(remaining.values()):
                    return
