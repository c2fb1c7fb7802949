"""`greval audit`: the context that each method was given, and the differences between the methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

import typer

from greval.cli import FAILED, print_note
from greval.cli.options import Columns, ReportFormat, parse_columns, print_report, print_row_faults
from greval.datasets.case_reader import read_cases
from greval.datasets.row_faults import RowFault
from greval.methods.fair_context.context_audit import audit_contexts
from greval.records.case import Case
from greval.report.audit import render


def audit(
    cases: Annotated[str, typer.Argument(help="responses as .jsonl, .json, .csv, .tsv or .parquet, or - for stdin")],
    *,
    column: Columns = None,
    form: ReportFormat = "table",
) -> None:
    """Compare what the methods were given. It shows documents, tokens and aggregates, with the differences."""
    unread: list[RowFault] = []
    reading = read_cases(cases, columns=parse_columns(column))
    contexts = audit_contexts(_filter_cases(reading, unread))
    print_note(reading.notice())
    print_row_faults("not a case", (str(row) for row in unread))
    print_report(contexts, form, render)
    if unread:
        raise typer.Exit(FAILED)


def _filter_cases(rows: Iterable[Case | RowFault], unread: list[RowFault]) -> Iterator[Case]:
    for row in rows:
        if isinstance(row, RowFault):
            unread.append(row)
        else:
            yield row
