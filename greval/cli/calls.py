"""`greval calls`: print the calls of the judge for the results of a run, with prompts and raw replies."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Literal

import typer

from greval.cli.options import AllRows, RunFolder, create_console
from greval.cli.results import translate_write_errors
from greval.report.results import print_call
from greval.runs.run_reader import check_metric_names
from greval.runs.store import Store
from greval.runs.store.filters import ResultFilter

NO_CALLS = "no call is stored for these results: they are computed, imported, or of a run with --no-store-calls"


def calls(  # noqa: PLR0913 - the options of a command
    run: RunFolder,
    *,
    case: Annotated[str | None, typer.Option(metavar="ID", help="only for the case with this id")] = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", "-m", metavar="METRIC", help="only for these metrics; repeatable")
    ] = None,
    method: Annotated[str | None, typer.Option(metavar="METHOD", help="only for this method")] = None,
    status: Annotated[
        Literal["scored", "failed"] | None, typer.Option(help="only for results with this status")
    ] = None,
    form: Annotated[
        Literal["jsonl", "text"], typer.Option("--format", help="jsonl has one call a line; text is for people")
    ] = "jsonl",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="write to this file instead of stdout")
    ] = None,
    all_rows: AllRows = False,
) -> None:
    """Print what the judge was sent and what it replied. Each attempt is a call of its own."""
    if form == "text" and out is not None:
        raise typer.BadParameter("text is for the terminal: leave -o out, or name another --format")
    result_filter = ResultFilter(sample_id=case, method=method, metrics=tuple(metric or ()), status=status)
    with Store.open(run, all_rows=all_rows) as store, translate_write_errors(out), ExitStack() as opened:
        check_metric_names(store, result_filter.metrics)
        file = opened.enter_context(out.open("w", encoding="utf-8", newline="")) if out else sys.stdout
        console = create_console()
        count = 0
        for call in store.calls(result_filter):
            count += 1
            if form == "text":
                print_call(call, console)
            else:
                file.write(f"{call.model_dump_json()}\n")
    if not count:
        typer.echo(NO_CALLS, err=True)
