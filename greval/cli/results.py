"""`greval results` and `calls`: print the rows of a run, with the texts of their cases, and the calls of its judge."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from shlex import quote
from typing import Annotated, Literal, NamedTuple, TextIO

import typer
from pydantic_core import from_json

from greval._util.wording import format_count
from greval.cli import print_note
from greval.cli.options import (
    AllRows,
    MetricFilter,
    OutputFile,
    RunFolder,
    create_console,
    expand_groups,
    parse_tag_filters,
    translate_write_errors,
)
from greval.report.results import print_call, print_rows
from greval.runs.run_reader import add_texts, check_metric_names, read_lines
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.runs.store.exports import read_layout, write_csv, write_parquet
from greval.runs.worst_cases import find_worst_rows

NO_CALLS = "no call is stored for these results: they are computed, imported, or of a run with --no-store-calls"


class FilterOptions(NamedTuple):
    """The results of a run that a command is about."""

    metric: MetricFilter = None
    method: Annotated[str | None, typer.Option(metavar="METHOD", help="only this method")] = None
    case: Annotated[str | None, typer.Option(metavar="ID", help="only the case with this id")] = None
    status: Annotated[
        Literal["scored", "skipped", "failed"] | None, typer.Option(help="only results with this status")
    ] = None
    value: Annotated[str | None, typer.Option(metavar="VALUE", help="only with this value or category")] = None
    tag: Annotated[
        list[str] | None,
        typer.Option(
            "--tag", metavar="TAG=VALUE", help="only of cases with this tag; repeatable, several values of a tag are or"
        ),
    ] = None

    def build(self) -> ResultFilter:
        """Build the filter; raise `typer.BadParameter` if a tag has no value."""
        tags = parse_tag_filters(self.tag or (), "--tag")
        return ResultFilter(
            sample_id=self.case,
            method=self.method,
            metrics=tuple(self.metric or ()),
            status=self.status,
            value=self.value,
            tags=tuple((name, text) for name, values in tags.items() for text in sorted(values)),
        )


@expand_groups
def results(  # noqa: PLR0913 - the options of a command
    run: RunFolder,
    *,
    filters: FilterOptions,
    worst: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="only the N worst results of each metric, worst first")
    ] = None,
    texts: Annotated[
        bool, typer.Option("--texts", help="with question, answer, expected answer and the text of the judged item")
    ] = False,
    form: Annotated[
        Literal["jsonl", "csv", "parquet", "table"],
        typer.Option(
            "--format", help="jsonl has one result a line, the others have one judgement a row; table is for people"
        ),
    ] = "jsonl",
    out: OutputFile = None,
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
    result_filter = filters.build()
    if label_sheet is not None:
        _refuse_other_options(**filters._asdict(), worst=worst, texts=texts, out=out)
        _write_sheet(run, label_sheet, result_filter)
        return
    if form == "parquet" and out is None:
        raise typer.BadParameter("parquet needs a file: add -o FILE")
    if form == "table" and out is not None:
        raise typer.BadParameter("table is for the terminal: leave -o out, or name another --format")
    with Store.open(run, all_rows=all_rows) as store, translate_write_errors(out):
        check_metric_names(store, result_filter.metrics)
        layout_options = {"texts": texts, "status": filters.status, "value": filters.value}
        layout = read_layout(store.fact("metrics")).model_copy(update=layout_options)
        lines = _select_lines(store, result_filter, worst)
        lines = add_texts(store, lines) if texts else lines
        if form == "parquet" and out:
            write_parquet(lines, out, layout)
        elif form == "table":
            rows = (row for line in lines for row in layout.flatten(from_json(line)))
            print_rows(rows, create_console(), texts=texts)
        else:
            with _open_output(out) as file:
                if form == "csv":
                    write_csv(lines, file, layout)
                else:
                    file.writelines(f"{line}\n" for line in lines)


@expand_groups
def calls(
    run: RunFolder,
    *,
    filters: FilterOptions,
    form: Annotated[
        Literal["jsonl", "text"], typer.Option("--format", help="jsonl has one call a line; text is for people")
    ] = "jsonl",
    out: OutputFile = None,
    all_rows: AllRows = False,
) -> None:
    """Print what the judge was sent and what it replied. Each attempt is a call of its own."""
    if form == "text" and out is not None:
        raise typer.BadParameter("text is for the terminal: leave -o out, or name another --format")
    result_filter = filters.build()
    count = 0
    with Store.open(run, all_rows=all_rows) as store, translate_write_errors(out):
        check_metric_names(store, result_filter.metrics)
        console = create_console()
        with _open_output(out) as file:
            for call in store.calls(result_filter):
                count += 1
                if form == "text":
                    print_call(call, console)
                else:
                    file.write(f"{call.model_dump_json()}\n")
    if not count:
        print_note(NO_CALLS)


def _open_output(out: Path | None) -> AbstractContextManager[TextIO]:
    """Open the output file, by default stdout. The csv module writes the ends of lines by itself."""
    return out.open("w", encoding="utf-8", newline="") if out else nullcontext(sys.stdout)


def _refuse_other_options(**options: object) -> None:
    """Raise `typer.BadParameter` if an option is given that a label sheet has not."""
    reasons = {
        **dict.fromkeys(("status", "value", "worst"), "chooses by the verdict"),
        **dict.fromkeys(("case", "texts", "out"), "is of the rows of results"),
    }
    for name, reason in reasons.items():
        if options[name]:
            raise typer.BadParameter(f"--label-sheet: leave out --{name}, which {reason}")


def _write_sheet(run: Path, path: Path, result_filter: ResultFilter) -> None:
    """Write a label sheet, and say what to do with it."""
    from greval.trust.labelling.sheets import write_label_sheet

    if len(result_filter.metrics) > 1:
        raise typer.BadParameter("--label-sheet: is of one metric; write a sheet for each")
    metric = next(iter(result_filter.metrics), None)
    count = write_label_sheet(run, path, metric, method=result_filter.method, tags=result_filter.group_tags())
    command = f"greval agreement {quote(str(run))} {quote(str(path))}{f' -m {quote(metric)}' if metric else ''}"
    print_note(f"{path}: {format_count(count, 'item')} to label, in random order; then {command}")


def _select_lines(store: Store, result_filter: ResultFilter, worst: int | None) -> Iterator[str]:
    """Yield the results that meet a filter, all of them or the worst of each metric."""
    if worst is None:
        return store.lines(result_filter)
    return read_lines(
        store, [number for metric_rows in find_worst_rows(store, worst, result_filter) for number in metric_rows.rows]
    )
