"""`greval diagnose`: why answers are wrong, by method and kind of question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from greval.cli.options import By, Form, ReportFormat, RunFolder, page
from greval.cli.tags import check_tags
from greval.datasets.field_names import nearest
from greval.runs.store import Store

if TYPE_CHECKING:
    from greval.analysis.diagnosis import Cause, Diagnoses, Diagnosis
    from greval.records.inventory import Inventory

QUERY_TYPE = "query_type"
Index = Annotated[
    str | None,
    typer.Option(
        "--index", metavar="DIR", help="what was searched: a folder of GraphRAG or LightRAG, or a file of rows"
    ),
]


def diagnose(
    run: RunFolder,
    *,
    index: Index = None,
    by: By = None,
    metric: Annotated[
        str | None, typer.Option("--metric", "-m", help="what tells right from wrong; correctness by default")
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(metavar="CAUSE", help='list the cases of a cause with the evidence, such as "not reached"'),
    ] = None,
    form: Form = ReportFormat.table,
) -> None:
    """Say of each answer why it failed: the first place on its way where what was needed was lost."""
    from greval.analysis.diagnosis import diagnose_run, tabulate
    from greval.report.diagnosis import notes_on, render

    shown = [_cause(name) for name in show or ()]
    inventory = read_index(index)
    with Store.open(run) as store, store.snapshot():
        rows = [*diagnose_run(store, metric=metric, inventory=inventory)]
    check_tags(by or (), (row.tags for row in rows), run)
    found = tabulate(rows, by=by or _usual(rows))
    if form is ReportFormat.json:
        typer.echo(_only(found, shown).model_dump_json(indent=2))
        return
    out = page()
    told = ", ".join(sorted({row.metric for row in rows if row.metric}))
    render(found, out, title=f"{run}: why answers are wrong{f', by {told}' if told else ''}", show=shown)
    notes_on(inventory.notes if inventory else (), out)
    if not shown:
        typer.echo(f"the cases behind a number: greval diagnose {run} --show CAUSE")


def _cause(name: str) -> Cause:
    """Read the name of a cause.

    Raises:
        typer.BadParameter: Where it is none, with the nearest.
    """
    from greval.analysis.diagnosis import CAUSES

    for cause in CAUSES:
        if cause == name.strip().lower():
            return cause
    near = nearest(name, CAUSES)
    hinted = f"; is it {near!r}?" if near else ""
    raise typer.BadParameter(f"--show: {name!r} is no cause{hinted} (causes are {', '.join(CAUSES)})")


def read_index(index: str | None) -> Inventory | None:
    """Read what the index holds, where one is named."""
    if index is None:
        return None
    from greval.methods.inventories import read_inventory

    return read_inventory(index)


def _usual(rows: list[Diagnosis]) -> tuple[str, ...]:
    """Give what to group by where nothing is named: the kind of question, where it is told."""
    return (QUERY_TYPE,) if any(QUERY_TYPE in row.tags for row in rows) else ()


def _only(found: Diagnoses, causes: list[Cause]) -> Diagnoses:
    """Leave out the diagnoses of other causes, where some are asked for; the counts stay."""
    rows = tuple(row for row in found.rows if not causes or row.cause in causes)
    return found.model_copy(update={"rows": rows})
