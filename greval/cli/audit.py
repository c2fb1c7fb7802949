"""`greval audit`: the context that each method was given, and the differences between the methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

import typer

from greval.cli.evaluate import FAILED
from greval.cli.options import FormatOption, ReportFormat, create_console
from greval.datasets import RowFault, read_cases
from greval.datasets.row_faults import describe_row_faults
from greval.methods.fair_context.context_audit import audit as audited
from greval.records.case import Case
from greval.report.audit import render


def audit(
    cases: Annotated[str, typer.Argument(help="responses as .jsonl, .json, .csv, .tsv or .parquet, or - for stdin")],
    *,
    form: FormatOption = ReportFormat.table,
) -> None:
    """Compare what the methods were given: documents, tokens and aggregates, with the differences."""
    unread: list[RowFault] = []
    found = audited(_filter_cases(read_cases(cases), unread))
    for line in describe_row_faults(f"{row.place}: {row.message}" for row in unread):
        typer.echo(f"not a case: {line}", err=True)
    if form is ReportFormat.json:
        typer.echo(found.model_dump_json(indent=2))
    else:
        render(found, create_console())
    if unread:
        raise typer.Exit(FAILED)


def _filter_cases(rows: Iterable[Case | RowFault], unread: list[RowFault]) -> Iterator[Case]:
    for row in rows:
        if isinstance(row, RowFault):
            unread.append(row)
        else:
            yield row
