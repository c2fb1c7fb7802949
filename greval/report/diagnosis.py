"""A diagnosis for the terminal: the number of cases of each cause by method and tag, and the cases themselves."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from greval.analysis.diagnosis import MEANINGS, Cause, Diagnoses, Diagnosis
from greval.report.terminal import shortened

ALL = "all"
FEW_NOTES = 3


def render(found: Diagnoses, console: Console, *, title: str, show: Iterable[Cause] = ()) -> None:
    """Print the cases of the causes to show, then the table of counts.

    Args:
        found: The diagnoses.
        console: The console to print to.
        title: The title of the table.
        show: The causes of which every case is listed with its evidence.
    """
    for cause in show:
        _listed(cause, found, console)
    console.print(_table(found, title))
    for cause in found.causes:
        console.print(f"{cause}: {MEANINGS[cause]}", style="dim", markup=False, highlight=False, soft_wrap=True)


def notes_on(notes: Iterable[str], console: Console) -> None:
    """Print the first few notes about an index, and the number of the others."""
    told = [*notes]
    for note in told[:FEW_NOTES]:
        console.print(f"index: {note}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    if len(told) > FEW_NOTES:
        console.print(f"index: and {len(told) - FEW_NOTES} more notes", style="yellow", highlight=False)


def _table(found: Diagnoses, title: str) -> Table:
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


def _listed(cause: Cause, found: Diagnoses, console: Console) -> None:
    """Print every case of a cause with its evidence."""
    rows = found.of(cause)
    console.print(Text(f"{cause} ({len(rows)}): {MEANINGS[cause]}", style="bold"), soft_wrap=True)
    for row in rows:
        for line in _lines(row, found.names_of(row)):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print()


def _lines(row: Diagnosis, group: tuple[str, ...]) -> Iterable[str]:
    """Yield the lines of one case."""
    yield f"{shortened(row.sample_id)} ({' · '.join(group)}): {row.reason}"
    for part in row.evidence:
        yield f"  {part.kind} {part.name}: {part.lost or 'found'}; {part.told}"
