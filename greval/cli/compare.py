"""`greval compare`: compare methods with each other, or a run with an earlier one, with a gate for CI."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from greval.cli.options import ClusterBy, CorrectedLevel, Correction, FailIf, MetricFilter, OtherTags, RunFolder
from greval.cli.report_output import (
    CheckedFormat,
    HtmlFile,
    MarkdownFile,
    format_command,
    get_gate_code,
    print_checked_report,
    write_shared_file,
)


def compare(  # noqa: PLR0913 - the options of a command
    run: RunFolder,
    earlier: Annotated[
        Path | None, typer.Argument(metavar="EARLIER", help="an earlier run to compare with; as --against")
    ] = None,
    *,
    baseline: Annotated[
        str | None, typer.Option(metavar="METHOD", help="compare the others with this one; all pairs by default")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="RUN", help="compare each method with itself in an earlier run")
    ] = None,
    by: OtherTags = None,
    metric: MetricFilter = None,
    method: Annotated[list[str] | None, typer.Option(metavar="METHOD", help="only these methods; repeatable")] = None,
    correction: Correction = "bonferroni",
    cluster_by: ClusterBy = None,
    level: CorrectedLevel = 0.95,
    form: CheckedFormat = "table",
    fail_if: FailIf = None,
    html: HtmlFile = None,
    md: MarkdownFile = None,
) -> None:
    """Compare methods: which is better, and with what certainty. It names the questions won and lost."""
    from greval.analysis.comparison.api import compare as compared
    from greval.analysis.gate.api import check_gate
    from greval.report.check_list import list_comparison_checks
    from greval.report.comparison import render

    if earlier and against:
        raise typer.BadParameter(f"{earlier} and --against {against} are two earlier runs; name one")
    comparison = compared(
        run,
        baseline=baseline,
        against=earlier or against,
        by=by or (),
        metrics=metric,
        methods=method,
        correction=correction,
        cluster_by=cluster_by,
        level=level,
    )
    comparison = comparison.model_copy(update={"gate": check_gate(comparison, fail_if or ())})
    if html:
        from greval.report.html.comparison_page import build_comparison_page

        page = build_comparison_page(comparison, made_at=datetime.now(UTC), command=format_command())
        write_shared_file(html, page)
    print_checked_report(comparison, form, render, list_comparison_checks, markdown=md)
    if code := get_gate_code(comparison.gate):
        raise typer.Exit(code)
