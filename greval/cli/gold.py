"""`greval gold`: check gold data, that is, what should have been retrieved, traversed and answered."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from greval._util.wording import escape_control_characters, format_count
from greval.cli import USAGE_ERROR
from greval.cli.diagnose import IndexFolder, read_index
from greval.cli.options import Columns, parse_columns

app = typer.Typer(
    help="Check gold data. Gold is what should have been retrieved, traversed and answered.", no_args_is_help=True
)


@app.command("check")
def check(
    path: Annotated[Path, typer.Argument(metavar="CASES_OR_GOLD", help="cases, or rows of an id and gold")],
    *,
    column: Columns = None,
    index: IndexFolder = None,
) -> None:
    """Report all faults in the gold of a file with their places. Exit code 2 if there are faults."""
    from greval.analysis.gold.api import check_gold
    from greval.analysis.gold.rules import GoldFinding
    from greval.datasets.gold import read_gold
    from greval.records.case import Case

    inventory = read_index(index)
    rows = [*read_gold(path, columns=parse_columns(column))]
    cases = [(location, row) for location, row in rows if isinstance(row, Case)]
    unread = (
        GoldFinding(place=row.place, sample_id=row.id or "", message=row.message)
        for _, row in rows
        if not isinstance(row, Case)
    )
    checked = check_gold((case for _, case in cases), inventory, places=(location for location, _ in cases))
    findings = (*unread, *checked)
    for finding in findings:
        typer.echo(escape_control_characters(str(finding)))
    faults = sum(finding.level == "fault" for finding in findings)
    counts = {
        "sample": len({case.id for _, case in cases}),
        "fault": faults,
        "remark": len(findings) - faults,
    }
    typer.echo(f"{path}: {', '.join(format_count(count, what) for what, count in counts.items())}")
    if faults:
        raise typer.Exit(USAGE_ERROR)
