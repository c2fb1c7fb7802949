"""Hints about the failures of a run: one line for each kind, with the message of its first failure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast, get_args

import typer

from greval.analysis.summary import Report
from greval.cli.console import visible
from greval.judging.model.hints import advice
from greval.records.result import Failure, FailureKind, Result
from greval.runs.store.pages import Pages, Wanted

MOST_READ = 5_000
"""The maximum number of rows searched for a failure of each kind. The hint is printed even if none is found."""


def tell_failures(folder: Path, of: Iterable[str], judge: str, told: str = "") -> None:
    """Print hints about failures on stderr.

    Args:
        folder: The run folder.
        of: The kinds of its failures.
        judge: The label of its judge.
        told: Text printed before; what it contains is not repeated.
    """
    wanted = {cast("FailureKind", kind) for kind in of if kind in get_args(FailureKind)}
    first = {failure.kind: failure.message for failure in _first(folder, wanted)}
    for kind in sorted(wanted):
        said = [part for part in (first.get(kind), advice(kind, judge)) if part]
        if not all(part in told for part in said):
            typer.echo(visible(f"{kind}: {'; '.join(said)}"), err=True)


def kinds(found: Report) -> list[str]:
    """Return the kinds of failures in a report."""
    return [kind for summary in found.summaries for kind in summary.failures]


def _first(folder: Path, of: set[FailureKind]) -> Iterator[Failure]:
    """Yield one failure of each kind, if one is found in the first rows."""
    left = set(of)
    with Pages.open(folder) as pages:
        for status in ("failed", "scored"):  # a scored result can contain failed items
            read, after = 0, 0
            while left and read < MOST_READ:
                page = pages.results(Wanted(status=status), after=after)
                for line in page.lines:
                    for failure in Result.model_validate_json(line).failures:
                        if failure.kind in left:
                            left.remove(failure.kind)
                            yield failure
                read += len(page.lines)
                if page.next is None:
                    break
                after = page.next
