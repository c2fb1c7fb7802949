"""`greval report`, `results` and `merge`: print the report and the rows of a run, and merge runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from greval.analysis.gate.api import check_gate
from greval.analysis.summary import build_report
from greval.cli.failures import list_failure_kinds, print_failure_hints
from greval.cli.gate import CheckedFormat, FailIf, get_gate_code, print_checked_report
from greval.cli.options import AllRows, By, RunFolder, Show
from greval.errors import StoreError
from greval.report.check_list import list_report_checks
from greval.report.console import render
from greval.runs.store import Store
from greval.runs.store.exports import write_csv, write_parquet


def report(
    run: RunFolder,
    *,
    by: By = None,
    show: Show = 0,
    all_rows: AllRows = False,
    form: CheckedFormat = "table",
    fail_if: FailIf = None,
) -> None:
    """Print the report of a run, grouped by any tag. With --fail-if it is a gate for CI."""
    with Store.open(run, all_rows=all_rows) as store:
        found = build_report(store, by=by or (), show=show)
        found = found.model_copy(update={"gate": check_gate(store, fail_if or ())})
    print_checked_report(found, form, render, list_report_checks)
    if form == "table":
        print_failure_hints(run, list_failure_kinds(found), found.judge or "")
    if code := get_gate_code(found.gate):
        raise typer.Exit(code)


def results(
    run: RunFolder,
    *,
    form: Annotated[
        Literal["jsonl", "csv", "parquet"],
        typer.Option("--format", help="jsonl has one result a line, the others have one judgement a row"),
    ] = "jsonl",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="write to this file instead of stdout")
    ] = None,
    all_rows: AllRows = False,
) -> None:
    """Print the rows of a run, the newest of each sample, method and metric."""
    if form == "parquet" and out is None:
        raise typer.BadParameter("parquet needs a file: add -o FILE")
    with Store.open(run, all_rows=all_rows) as store, _translate_write_errors(out), ExitStack() as opened:
        if form == "parquet" and out:
            write_parquet(store.lines(), out, store.layout())
            return
        file = opened.enter_context(out.open("w", encoding="utf-8", newline="")) if out else sys.stdout
        if form == "csv":
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
    typer.echo(f"{done.folder}: {done.rows:,} rows copied, {done.known:,} existed; greval report {done.folder}")
