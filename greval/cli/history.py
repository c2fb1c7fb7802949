"""`greval history`: each metric over many runs, with the points at which it changed, and a gate for CI."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from greval.cli.options import FailIf, MetricFilter, ReportFormat, print_report
from greval.cli.report_output import HtmlFile, format_command, get_gate_code, print_missed, write_shared_file


def history(  # noqa: PLR0913 - the options of a command
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FOLDER", show_default="runs", help="run folders, or folders of run folders"),
    ] = None,
    *,
    metric: MetricFilter = None,
    method: Annotated[list[str] | None, typer.Option(metavar="METHOD", help="only these methods; repeatable")] = None,
    last: Annotated[int | None, typer.Option(min=2, metavar="N", help="only the newest N runs")] = None,
    form: ReportFormat = "table",
    fail_if: FailIf = None,
    html: HtmlFile = None,
) -> None:
    """Show each metric over many runs, and its changes.

    With --fail-if it is a gate for the newest run.
    """
    from greval.analysis.gate.api import check_gate
    from greval.analysis.history.api import DEFAULT_FOLDER, build_history
    from greval.report.history import render

    found = build_history(folders or [DEFAULT_FOLDER], metrics=metric, methods=method, last=last)
    found = found.model_copy(update={"gate": check_gate(found, fail_if or ())})
    if html:
        from greval.report.html.history_page import build_history_page

        page = build_history_page(found, made_at=datetime.now(UTC), command=format_command())
        write_shared_file(html, page)
    print_report(found, form, render)
    if form == "json":
        print_missed(found.gate)
    if code := get_gate_code(found.gate):
        raise typer.Exit(code)
