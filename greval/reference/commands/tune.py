"""`greval index tune`: tune the search settings of an index on labelled questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from greval.cli.options import Columns, Level, ReportFormat, parse_columns, print_report
from greval.datasets.case_reader import read_cases
from greval.datasets.row_faults import RowFault, describe_row_faults
from greval.records.case import Case


def tune(  # noqa: PLR0913 - the options of a command
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="the folder of an index, made by greval index build")],
    questions: Annotated[str, typer.Argument(metavar="QUESTIONS", help="questions with gold, or - for stdin")],
    *,
    column: Columns = None,
    measure: Annotated[str, typer.Option(metavar="METRIC", help="the computed metric of the ranking")] = "recall@5",
    grid: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=V,V", help="the values of a setting to try, such as alpha=0.2,0.4; repeatable"),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, metavar="N", help="the number of folds of the questions")] = 5,
    search: Annotated[
        Literal["basic", "bm25", "local", "graph", "hybrid"], typer.Option(help="the search to tune")
    ] = "hybrid",
    level: Level = 0.95,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="measure the gain, and write nothing")] = False,
    form: ReportFormat = "table",
) -> None:
    """Tune the search settings of an index on labelled questions. Only a gain beyond noise is stored."""
    from greval.reference.index import ReferenceIndex
    from greval.reference.tuning import tune as tune_index
    from greval.reference.tuning_report import render

    values = parse_grid(grid)
    faults: list[RowFault] = []
    with ReferenceIndex.open(index) as opened:
        tuning = tune_index(
            opened,
            _keep_cases(read_cases(questions, columns=parse_columns(column)), faults),
            search=search,
            measure=measure,
            grid=values,
            folds=folds,
            level=level,
            write=not dry_run,
        )
    for line in describe_row_faults([str(fault) for fault in faults]):
        typer.echo(f"not a question: {line}", err=True)
    print_report(tuning, form, render)


def parse_grid(options: Iterable[str] | None) -> dict[str, list[str]] | None:
    """Parse the values of settings to try, by the name of the setting; None if no grid is given.

    Example:
        >>> parse_grid(["alpha=0.2, 0.4", "fusion=rrf"])
        {'alpha': ['0.2', '0.4'], 'fusion': ['rrf']}
    """
    if not options:
        return None
    grid: dict[str, list[str]] = {}
    for option in options:
        name, sign, values = option.partition("=")
        listed = [value.strip() for value in values.split(",") if value.strip()]
        if not sign or not name.strip() or not listed:
            raise typer.BadParameter(f"--grid {option}: write it as NAME=V,V, such as alpha=0.2,0.4")
        grid.setdefault(name.strip(), []).extend(listed)
    return grid


def _keep_cases(rows: Iterable[Case | RowFault], faults: list[RowFault]) -> Iterator[Case]:
    """Yield the cases, and collect the rows that are none."""
    for row in rows:
        if isinstance(row, RowFault):
            faults.append(row)
        else:
            yield row
