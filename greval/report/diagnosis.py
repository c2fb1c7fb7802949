"""A diagnosis for the terminal: the number of cases of each cause by method and tag, and the cases themselves."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from greval.analysis.diagnosis import MEANINGS, Cause, Diagnosis, DiagnosisTable
from greval.report.tables import shorten

ALL = "all"
MAX_NOTES = 3


def render(found: DiagnosisTable, console: Console, *, title: str, show: Iterable[Cause] = ()) -> None:
    """Print the cases of the causes to show, then the table of counts.

    Args:
        found: The diagnoses.
        console: The console to print to.
        title: The title of the table.
        show: The causes of which every case is listed with its evidence.
    """
    for cause in show:
        _print_cases(cause, found, console)
    console.print(_build_table(found, title))
    for cause in found.causes:
        console.print(f"{cause}: {MEANINGS[cause]}", style="dim", markup=False, highlight=False, soft_wrap=True)


def print_notes(notes: Iterable[str], console: Console) -> None:
    """Print the first few notes about an index, and the number of the others."""
    told = [*notes]
    for note in told[:MAX_NOTES]:
        console.print(f"index: {note}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    if len(told) > MAX_NOTES:
        console.print(f"index: and {len(told) - MAX_NOTES} more notes", style="yellow", highlight=False)


def _build_table(found: DiagnosisTable, title: str) -> Table:
    """Build the table of counts."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in found.by:
        table.add_column(name, overflow="fold")
    for name in (*found.causes, ALL):
        table.add_column(name, justify="right", overflow="fold")
    for group in found.groups:
        counts = [str(group.counts.get(cause, 0)) for cause in found.causes]
        table.add_row(*map(escape, group.names), *counts, str(group.total))
    if len(found.groups) > 1:
        sums = (sum(group.counts.get(cause, 0) for group in found.groups) for cause in found.causes)
        table.add_row(ALL, *[""] * (len(found.by) - 1), *map(str, sums), str(len(found.rows)))
    return table


def _print_cases(cause: Cause, found: DiagnosisTable, console: Console) -> None:
    """Print every case of a cause with its evidence."""
    rows = found.filter_by_cause(cause)
    console.print(Text(f"{cause} ({len(rows)}): {MEANINGS[cause]}", style="bold"), soft_wrap=True)
    for row in rows:
        for line in _format_lines(row, found.list_group_names(row)):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print()


def _format_lines(row: Diagnosis, group: tuple[str, ...]) -> Iterable[str]:
    """Yield the lines of one case."""
    yield f"{shorten(row.sample_id)} ({' · '.join(group)}): {row.reason}"
    for part in row.evidence:
        yield f"  {part.kind} {part.name}: {part.lost or 'found'}; {part.told}"
