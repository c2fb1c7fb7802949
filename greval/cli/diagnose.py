"""`greval diagnose`: the causes of wrong answers, by method and type of question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greval._util.arguments import build_unknown_name_error
from greval._util.wording import find_typo
from greval.cli.options import By, ReportFormat, RunFolder, create_console
from greval.runs.store import Store
from greval.stats.summary import METHOD

if TYPE_CHECKING:
    from greval.analysis.diagnosis.records import Cause, Diagnosis, DiagnosisTable
    from greval.records.inventory import Inventory

QUERY_TYPE = "query_type"
IndexFolder = Annotated[
    str | None,
    typer.Option(
        "--index", metavar="DIR", help="the searched index: a folder of GraphRAG or LightRAG, or a file of rows"
    ),
]


def diagnose(
    run: RunFolder,
    *,
    index: IndexFolder = None,
    by: By = None,
    metric: Annotated[
        str | None,
        typer.Option("--metric", "-m", help="the metric that decides which answers are right; correctness by default"),
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(metavar="CAUSE", help='list the cases of a cause with the evidence, such as "not reached"'),
    ] = None,
    form: ReportFormat = "table",
) -> None:
    """Find the cause of each wrong answer: the first step at which needed evidence was lost."""
    from greval.analysis.diagnosis.api import diagnose_run
    from greval.analysis.diagnosis.records import tabulate
    from greval.report.diagnosis import print_notes, render

    causes = [_parse_cause(name) for name in show or ()]
    inventory = read_index(index)
    with Store.open(run) as store, store.snapshot():
        rows = [*diagnose_run(store, metric=metric, inventory=inventory)]
    _check_tags(by or (), (row.tags for row in rows), run)
    found = tabulate(rows, by=by or _choose_grouping(rows))
    if form == "json":
        typer.echo(_filter_causes(found, causes).model_dump_json(indent=2))
        return
    out = create_console()
    metrics = ", ".join(sorted({row.metric for row in rows if row.metric}))
    render(found, out, title=f"{run}: why answers are wrong{f', by {metrics}' if metrics else ''}", show=causes)
    print_notes(inventory.notes if inventory else (), out)
    if not causes:
        typer.echo(f"the cases behind a number: greval diagnose {run} --show CAUSE")


def _parse_cause(name: str) -> Cause:
    """Parse the name of a cause.

    Raises:
        typer.BadParameter: If there is no such cause. The message suggests the nearest one.
    """
    from greval.analysis.diagnosis.records import CAUSES

    for cause in CAUSES:
        if cause == name.strip().lower():
            return cause
    near = find_typo(name, CAUSES)
    hinted = f"; did you mean {near!r}?" if near else ""
    raise typer.BadParameter(f"--show: {name!r} is not a cause{hinted}; causes: {', '.join(CAUSES)})")


def read_index(index: str | None) -> Inventory | None:
    """Read the contents of the index, or return None if no index is named."""
    if index is None:
        return None
    from greval.methods.inventories import read_inventory

    return read_inventory(index)


def _check_tags(by: Sequence[str], tagged: Iterable[Mapping[str, str]], folder: Path) -> None:
    """Raise an error if no case has a tag used for grouping, since all cases would be in one unnamed group.

    Raises:
        DataError: If no case has the tag. The message suggests an existing tag.
    """
    tags = {METHOD, *(tag for tags in tagged for tag in tags)}
    for name in by:
        if name not in tags:
            raise build_unknown_name_error("tag", name, tags, folder)


def _choose_grouping(rows: list[Diagnosis]) -> tuple[str, ...]:
    """Return the default grouping: by type of question if the cases have one, else none."""
    return (QUERY_TYPE,) if any(QUERY_TYPE in row.tags for row in rows) else ()


def _filter_causes(found: DiagnosisTable, causes: list[Cause]) -> DiagnosisTable:
    """Select the diagnoses of the given causes, or all if none are given; the counts stay unchanged."""
    rows = tuple(row for row in found.rows if not causes or row.cause in causes)
    return found.model_copy(update={"rows": rows})
