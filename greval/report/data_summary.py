"""What a file of cases holds, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from rich.console import Console

from greval._util.wording import format_count, shorten_text
from greval.analysis.data_summary import DataSummary, FieldCount
from greval.datasets.row_faults import describe_row_faults
from greval.records.case import Case, Chunk, Over
from greval.records.metric_input import format_item, list_items
from greval.records.recorded_fields import list_recorded_fields
from greval.report.tables import Column, build_fields, build_table, print_line, print_lines

MAX_TEXT = 150
"""The maximum length of a text of an example."""
MAX_METHODS = 10
NARROW = 24
NOT_KNOWN = "no field has this name"


def render(summary: DataSummary, console: Console) -> None:
    """Print the number of cases, the fields with their columns, what was not read, the metrics and the examples."""
    faulty = f", {format_count(summary.fault_count, 'row')} not a case" if summary.fault_count else ""
    print_line(console, f"{summary.source}: {format_count(summary.cases, 'case')}{faulty}", "bold")
    print_lines(console, _list_remarks(summary))
    if summary.fields:
        console.print()
        rows = (_build_row(field, summary.cases) for field in summary.fields)
        console.print(
            build_table([Column("field", left=True), Column("read from", left=True), Column("cases", wrap=False)], rows)
        )
    if summary.ignored:
        console.print()
        rows = ((column.column, column.reason or NOT_KNOWN) for column in summary.ignored)
        console.print(build_table([Column("not read", left=True), Column("because", left=True)], rows))
    faults = describe_row_faults((str(fault) for fault in summary.faults), summary.fault_count)
    if faults:
        console.print()
        print_lines(console, [f"not a case: {line}" for line in faults], "yellow")
    if summary.cases:
        _print_metrics(summary, console)
        for case in summary.examples:
            console.print()
            method = f" ({shorten_text(case.method)})" if case.method else ""
            print_line(console, f"{shorten_text(case.id)}{method}", "bold")
            console.print(build_fields(_list_texts(case)))


def _list_remarks(summary: DataSummary) -> Iterator[str]:
    yield from summary.remarks
    if summary.cases and not summary.own_ids:
        yield "rows without an id are named by their position: row-1, row-2 and so on"
    for what, counts in {"methods": summary.methods, "pairs": summary.pairs}.items():
        if counts:
            listed = [f"{name} ({count:,})" for name, count in [*counts.items()][:MAX_METHODS]]
            more = len(counts) - len(listed)
            yield f"{what}: {', '.join(listed)}{f' and {more:,} more' if more else ''}"


def _build_row(field: FieldCount, cases: int) -> tuple[str, ...]:
    coverage = f"{field.cases:,}" if field.cases == cases else f"{field.cases:,} of {cases:,}"
    return field.field, ", ".join(field.columns) or "-", coverage


def _print_metrics(summary: DataSummary, console: Console) -> None:
    """Print the metrics that fit, grouped by the number of cases, and those that lack one field, grouped by it."""
    fitting: dict[tuple[str, int], list[str]] = {}
    for fit in summary.fitting:
        fitting.setdefault((fit.kind, fit.cases), []).append(fit.metric)
    columns = (Column("", left=True, wrap=False), Column("cases", wrap=False), Column("metrics that fit", left=True))
    rows = ((kind, f"{cases:,}", ", ".join(names)) for (kind, cases), names in fitting.items())
    console.print()
    console.print(build_table(columns, rows))
    nearly: dict[str, list[str]] = {}
    for lacking in summary.nearly:
        nearly.setdefault(" or ".join(lacking.missing), []).append(lacking.metric)
    if nearly:
        console.print()
        heads = (Column("with one more field", left=True, min_width=NARROW), Column("also", left=True))
        console.print(build_table(heads, ((name, ", ".join(names)) for name, names in nearly.items())))


def _list_texts(case: Case) -> Iterator[tuple[str, str]]:
    """Yield the fields of a case, each with its content in one shortened line."""
    fields = list_recorded_fields(case)
    for name in fields:
        field, _, part = name.partition(".")
        # A ranking without texts: its documents are all that there is to show.
        if name == "chunks.doc_id" and "chunks" not in fields:
            yield name, _format_value([chunk.doc_id or chunk.id for chunk in case.chunks or ()])
        elif field in get_args(Over) and not part:
            items = list_items(field, case)
            count = f"{format_count(len(items), field[:-1])}, the first: " if len(items) > 1 else ""
            first = items[0]
            document = f"[{first.doc_id}] " if isinstance(first, Chunk) and first.doc_id else ""
            yield name, count + shorten_text(document + format_item(first), MAX_TEXT)
        elif field in {"gold", "traversal"}:
            yield name, _format_value(getattr(getattr(case, field), part))
        elif not part and field not in {"id", "method"}:
            yield name, _format_value(getattr(case, field))
    if case.usage:
        yield "usage", _format_value(case.usage.model_dump(exclude_none=True))
    if case.tags:
        yield "tags", _format_value(case.tags)


def _format_value(value: object) -> str:
    """Format a text, a number, a list of names or edges, or a mapping."""
    if isinstance(value, str):
        return shorten_text(value, MAX_TEXT)
    if isinstance(value, dict):
        value = [f"{name}: {part}" for name, part in value.items()]
    if isinstance(value, list | tuple):
        parts = (" - ".join(filter(None, part)) if isinstance(part, tuple) else str(part) for part in value)
        return shorten_text(", ".join(parts), MAX_TEXT)
    return str(value)
