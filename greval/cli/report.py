"""`greval report`, `results` and `merge`: print the report and the rows of a run, and merge runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from greval.analysis.summary import build_report
from greval.cli.failures import list_failure_kinds, print_failure_hints
from greval.cli.options import AllRows, By, FormatOption, ReportFormat, RunFolder, Show, create_console
from greval.errors import StoreError
from greval.report.console import render
from greval.runs.store import Store
from greval.runs.store.exports import write_csv, write_parquet


class ResultFormat(StrEnum):
    """The output format of results."""

    jsonl = "jsonl"
    csv = "csv"
    parquet = "parquet"


def report(
    run: RunFolder,
    *,
    by: By = None,
    show: Show = 0,
    all_rows: AllRows = False,
    form: FormatOption = ReportFormat.table,
) -> None:
    """Print the report of a run, grouped by any tag."""
    with Store.open(run, all_rows=all_rows) as store:
        found = build_report(store, by=by or (), show=show)
    if form is ReportFormat.json:
        typer.echo(found.model_dump_json(indent=2))
    else:
        render(found, create_console())
        print_failure_hints(run, list_failure_kinds(found), found.judge or "")


def results(
    run: RunFolder,
    *,
    format: Annotated[  # noqa: A002 - the option's name
        ResultFormat, typer.Option(help="jsonl: one result a line; the others: one judgement a row")
    ] = ResultFormat.jsonl,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="write here instead of printing")
    ] = None,
    all_rows: AllRows = False,
) -> None:
    """Print the rows of a run, the newest of each sample, method and metric."""
    if format is ResultFormat.parquet and out is None:
        raise typer.BadParameter("parquet is no text: give a file with -o FILE")
    with Store.open(run, all_rows=all_rows) as store, _translate_write_errors(out), ExitStack() as opened:
        if format is ResultFormat.parquet and out:
            write_parquet(store.lines(), out, store.layout())
            return
        file = opened.enter_context(out.open("w", encoding="utf-8", newline="")) if out else sys.stdout
        if format is ResultFormat.csv:
            write_csv(store.lines(), file, store.layout())
        else:
            file.writelines(f"{line}\n" for line in store.lines())


@contextmanager
def _translate_write_errors(out: Path | None) -> Iterator[None]:
    """Turn write errors of the output file into a `StoreError`."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StoreError(f"{out or 'stdout'}: cannot be written: {error.strerror or error}") from error


def merge(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="the folder of the merged run")],
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="run folders, such as the shards of one run")],
) -> None:
    """Merge the logs of several runs into one. Merging again changes nothing."""
    from greval.runs.merging import merge as take_over

    done = take_over(out, runs)
    typer.echo(f"{done.folder}: {done.rows:,} rows taken over, {done.known:,} were there; greval report {done.folder}")
