"""An audit of the contexts given to methods, for the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from greval.methods.fair_context.context_audit import SIZES, Audit, MethodContext, SizeDistribution

ALIKE = "The methods were given the same kinds of context, and sizes that differ by a quarter at most."
ALONE = "There is one method only: nothing to compare it with."


def render(audit: Audit, console: Console) -> None:
    """Print an audit: a row for each method and figure, then each difference as a sentence."""
    table = Table(title="What each method was given, a case", title_justify="left", box=None, pad_edge=False)
    table.add_column("method", no_wrap=True)
    table.add_column("what")
    for name in ("cases", "mean", "p50", "p95"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("cases with any", justify="right")
    for given in audit.methods:
        for row in _build_rows(given):
            table.add_row(*map(escape, row))
    console.print(table)
    console.print(f"tokens: {audit.tokens_how}", markup=False, highlight=False, soft_wrap=True)
    for line in audit.differences or (ALIKE if len(audit.methods) > 1 else ALONE,):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _build_rows(given: MethodContext) -> list[list[str]]:
    """Build a row for each figure; a figure that no case records is a dash."""
    failed = f" ({given.failed} failed)" if given.failed else ""
    name = f"{given.method or '(no method)'}{failed}"
    rows = []
    for place, what in enumerate(SIZES):
        having = getattr(given, f"with_{what}", None)
        some = f"{having} of {given.cases}" if having is not None else ""
        rows.append([name if not place else "", what.replace("_", " "), *_format_cells(getattr(given, what)), some])
    return rows


def _format_cells(spread: SizeDistribution | None) -> list[str]:
    """Format the distribution of a size."""
    if spread is None:
        return ["0", "-", "-", "-"]
    return [str(spread.cases), *(f"{figure:,.1f}" for figure in (spread.mean, spread.p50, spread.p95))]
