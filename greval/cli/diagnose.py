"""`greval diagnose`: the causes of wrong answers, by method and type of question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greval._util.files import write_atomically
from greval._util.wording import find_typo, format_count
from greval.cli import print_note
from greval.cli.options import By, ReportFormat, RunFolder, create_console, translate_write_errors
from greval.runs.store import Store

if TYPE_CHECKING:
    from greval.analysis.diagnosis.records import Cause, Diagnosis
    from greval.records.inventory import IndexInventory

NOT_IN_FILE_NAMES = re.compile(r"[^\w.]+", re.ASCII)
MAX_FILE_NAME = 80
IndexFolder = Annotated[
    str | None,
    typer.Option(
        "--index",
        metavar="DIR",
        help="the searched index: a folder of greval index, GraphRAG or LightRAG, or a file of rows",
    ),
]


def diagnose(  # noqa: PLR0913 - the options of a command
    run: RunFolder,
    *,
    index: IndexFolder = None,
    by: By = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            "-m",
            metavar="METRIC",
            help="the metric that decides which answers are right; correctness by default",
        ),
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(metavar="CAUSE", help='list the cases of a cause with the evidence, such as "not reached"'),
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="draw the walk of each wrong answer, or of the cases of --show, as SVG files"),
    ] = None,
    form: ReportFormat = "table",
) -> None:
    """Find the cause of each wrong answer. It is the first step at which needed evidence was lost."""
    from greval.analysis.diagnosis.api import diagnose_run, tabulate_run
    from greval.analysis.diagnosis.records import WRONG
    from greval.report.diagnosis import print_notes, render
    from greval.report.tables import print_lines
    from greval.trust.annotations.files import ANNOTATIONS_FILE

    causes = [_parse_cause(name) for name in show or ()]
    inventory = read_index(index)
    with Store.open(run) as store, store.snapshot():
        rows = [*diagnose_run(store, metric=metric, inventory=inventory)]
        drawn = _draw_walks(store, rows, causes or WRONG, svg) if svg else 0
    if svg:
        print_note(f"{svg}: {format_count(drawn, 'walk')} drawn")
    table = tabulate_run(rows, by or (), run)
    if form == "json":
        typer.echo(table.select_causes(causes).model_dump_json(indent=2))
        return
    out = create_console()
    metrics = sorted({row.metric for row in rows if row.metric})
    decided = f", by {', '.join(metrics)}" if metrics else ""
    render(table, out, title=f"{run}: why answers are wrong{decided}", show=causes)
    if (run / ANNOTATIONS_FILE).is_file():
        from greval.report.agreement import describe_reliability

        print_lines(out, describe_reliability(run, metrics))
    print_notes(inventory.notes if inventory else (), out)
    if not causes:
        typer.echo(f"the cases behind a number: greval diagnose {run} --show CAUSE")


def _draw_walks(store: Store, rows: Iterable[Diagnosis], causes: Sequence[Cause], folder: Path) -> int:
    """Draw the walk of each case of the causes into a file of the folder, and return their number."""
    from greval.analysis.diagnosis.api import read_newest_cases
    from greval.report.walk import draw_walk_svg

    rows_by_case = {(row.sample_id, row.method): row for row in rows if row.cause in causes}
    drawn = 0
    with translate_write_errors(folder):
        for case in read_newest_cases(store):
            row = rows_by_case.get((case.id, case.method))
            if row is None or case.traversal is None:
                continue
            drawn += 1
            name = NOT_IN_FILE_NAMES.sub("-", f"{case.method} {case.id}")[:MAX_FILE_NAME].strip("-.")
            title = f"{row.cause}: {case.question}"
            folder.mkdir(parents=True, exist_ok=True)
            # Numbered, because two cases may have one name when characters are replaced.
            write_atomically(folder / f"{drawn:03d}-{name}.svg", draw_walk_svg(case.traversal, case.gold, title=title))
    return drawn


def _parse_cause(name: str) -> Cause:
    """Parse the name of a cause; raise `typer.BadParameter` with the nearest one if it is unknown."""
    from greval.analysis.diagnosis.records import CAUSES

    for cause in CAUSES:
        if cause == name.strip().lower():
            return cause
    suggestion = find_typo(name, CAUSES)
    hint = f"; did you mean {suggestion!r}?" if suggestion else ""
    raise typer.BadParameter(f"--show: {name!r} is not a cause{hint}; causes: {', '.join(CAUSES)})")


def read_index(index: str | None) -> IndexInventory | None:
    """Read the contents of the index, or return None if no index is named."""
    if index is None:
        return None
    from greval.methods.inventories import read_inventory

    return read_inventory(index)
