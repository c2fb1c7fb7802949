"""An audit of the contexts given to methods, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console

from greval.methods.fair_context.context_audit import SIZES, ContextAudit, MethodContext, SizeDistribution
from greval.report.tables import Column, build_table, print_lines

ALIKE = "All methods were given the same kinds of context, and their sizes differ by at most 25%."
ALONE = "There is only one method, so there is nothing to compare."


def render(audit: ContextAudit, console: Console) -> None:
    """Print an audit: a row for each method and figure, then each difference as a sentence."""
    figures = (Column(name, wrap=False) for name in ("cases", "mean", "p50", "p95"))
    columns = (Column("method", left=True, wrap=False), Column("what", left=True), *figures, Column("cases with any"))
    rows = (row for context in audit.methods for row in _build_rows(context))
    console.print(build_table(columns, rows, title="What each method was given, a case"))
    differences = audit.differences or (ALIKE if len(audit.methods) > 1 else ALONE,)
    print_lines(console, (f"tokens: {audit.tokens_how}", *differences))


def _build_rows(context: MethodContext) -> Iterator[tuple[str, ...]]:
    """Build a row for each figure; a figure that no case records is a dash."""
    failed = f" ({context.failed} failed)" if context.failed else ""
    name = f"{context.method or '(no method)'}{failed}"
    for index, what in enumerate(SIZES):
        having = getattr(context, f"with_{what}", None)
        coverage = f"{having} of {context.cases}" if having is not None else ""
        yield "" if index else name, what.replace("_", " "), *_format_cells(getattr(context, what)), coverage


def _format_cells(spread: SizeDistribution | None) -> tuple[str, ...]:
    if spread is None:
        return "0", "-", "-", "-"
    return str(spread.cases), *(f"{figure:,.1f}" for figure in (spread.mean, spread.p50, spread.p95))
