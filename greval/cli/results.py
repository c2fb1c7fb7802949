"""`greval results`: print the rows of a run, filtered, with the texts of their cases."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shlex import quote
from typing import Annotated, Literal

import typer
from pydantic_core import from_json

from greval._util.wording import format_count
from greval.cli.options import AllRows, RunFolder, create_console, parse_tag_filters
from greval.errors import StoreError
from greval.report.results import print_rows
from greval.runs.run_reader import add_texts, check_metric_names, read_lines
from greval.runs.store import Store
from greval.runs.store.exports import read_layout, write_csv, write_parquet
from greval.runs.store.filters import ResultFilter
from greval.runs.worst_cases import find_worst_rows

Form = Literal["jsonl", "csv", "parquet", "table"]


def results(  # noqa: PLR0913 - the options of a command
    run: RunFolder,
    *,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", "-m", metavar="METRIC", help="only of these metrics; repeatable")
    ] = None,
    method: Annotated[str | None, typer.Option(metavar="METHOD", help="only of this method")] = None,
    status: Annotated[
        Literal["scored", "skipped", "failed"] | None, typer.Option(help="only results with this status")
    ] = None,
    value: Annotated[str | None, typer.Option(metavar="VALUE", help="only with this value or category")] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(
            "--tag", metavar="TAG=VALUE", help="only of cases with this tag; repeatable, several values of a tag are or"
        ),
    ] = None,
    worst: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="only the N worst results of each metric, worst first")
    ] = None,
    texts: Annotated[
        bool, typer.Option("--texts", help="with question, answer, expected answer and the text of the judged item")
    ] = False,
    form: Annotated[
        Form,
        typer.Option(
            "--format", help="jsonl has one result a line, the others have one judgement a row; table is for people"
        ),
    ] = "jsonl",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="write to this file instead of stdout")
    ] = None,
    label_sheet: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="write a table of these items for people to label, without the verdicts, as .csv or .xlsx; "
            "greval agreement reads it",
        ),
    ] = None,
    all_rows: AllRows = False,
) -> None:
    """Print the rows of a run, the newest of each judgement. A judgement is of one sample, method and metric."""
    tags = parse_tag_filters(tag or (), "--tag")
    if label_sheet is not None:
        _refuse_other_options(status=status, value=value, worst=worst, texts=texts, out=out)
        _write_sheet(run, label_sheet, metric or (), method, tags)
        return
    if form == "parquet" and out is None:
        raise typer.BadParameter("parquet needs a file: add -o FILE")
    if form == "table" and out is not None:
        raise typer.BadParameter("table is for the terminal: leave -o out, or name another --format")
    result_filter = ResultFilter(
        method=method,
        metrics=tuple(metric or ()),
        status=status,
        value=value,
        tags=tuple((name, text) for name, values in tags.items() for text in sorted(values)),
    )
    with Store.open(run, all_rows=all_rows) as store, translate_write_errors(out), ExitStack() as opened:
        check_metric_names(store, result_filter.metrics)
        layout_options = {"texts": texts, "status": status, "value": value}
        layout = read_layout(store.fact("metrics")).model_copy(update=layout_options)
        lines = _select_lines(store, result_filter, worst)
        lines = add_texts(store, lines) if texts else lines
        if form == "parquet" and out:
            write_parquet(lines, out, layout)
        elif form == "table":
            rows = (row for line in lines for row in layout.flatten(from_json(line)))
            print_rows(rows, create_console(), texts=texts)
        else:
            # The csv module writes the ends of lines by itself.
            file = opened.enter_context(out.open("w", encoding="utf-8", newline="")) if out else sys.stdout
            if form == "csv":
                write_csv(lines, file, layout)
            else:
                file.writelines(f"{line}\n" for line in lines)


def _refuse_other_options(**options: object) -> None:
    """Raise `typer.BadParameter` if an option is given that a label sheet has not."""
    for name, value in options.items():
        if value:
            why = "chooses by the verdict" if name in {"status", "value", "worst"} else "is of the rows of results"
            raise typer.BadParameter(f"--label-sheet: leave out --{name}, which {why}")


def _write_sheet(
    run: Path, path: Path, metrics: Sequence[str], method: str | None, tags: Mapping[str, Collection[str]]
) -> None:
    """Write a label sheet, and say what to do with it."""
    from greval.trust.labelling.sheets import write_label_sheet

    if len(metrics) > 1:
        raise typer.BadParameter("--label-sheet: is of one metric; write a sheet for each")
    metric = metrics[0] if metrics else None
    filters = {name: sorted(values) for name, values in tags.items()}
    count = write_label_sheet(run, path, metric, method=method, tags=filters)
    command = f"greval agreement {quote(str(run))} {quote(str(path))}{f' -m {quote(metric)}' if metric else ''}"
    typer.echo(f"{path}: {format_count(count, 'item')} to label, in random order; then {command}", err=True)


def _select_lines(store: Store, result_filter: ResultFilter, worst: int | None) -> Iterator[str]:
    """Yield the results that meet a filter, all of them or the worst of each metric."""
    if worst is None:
        return store.lines(result_filter)
    return read_lines(
        store, [number for metric_rows in find_worst_rows(store, worst, result_filter) for number in metric_rows.rows]
    )


@contextmanager
def translate_write_errors(out: Path | None) -> Iterator[None]:
    """Turn write errors of the output file into a `StoreError`."""
    try:
        yield
    # The command ends without a message if the reader of the output, such as `head`, is gone.
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StoreError(f"{out or 'stdout'}: cannot be written: {error.strerror or error}") from error
