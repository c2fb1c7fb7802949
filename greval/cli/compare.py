"""`greval compare`: compare methods with each other, or a run with an earlier one, with a gate for CI."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from greval.cli import MISSED
from greval.cli.options import OtherTags, ReportFormat, RunFolder, print_report
from greval.stats.correction import Correction


def compare(  # noqa: PLR0913 - the options of a command
    run: RunFolder,
    *,
    baseline: Annotated[
        str | None, typer.Option(metavar="METHOD", help="compare the others with this one; all pairs by default")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="RUN", help="compare each method with itself in an earlier run")
    ] = None,
    by: OtherTags = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", "-m", metavar="METRIC", help="only these; repeatable")
    ] = None,
    method: Annotated[list[str] | None, typer.Option(metavar="METHOD", help="only these; repeatable")] = None,
    correction: Annotated[
        Correction, typer.Option(help="how p values are corrected for the number of tests")
    ] = "bonferroni",
    cluster_by: Annotated[
        str | None,
        typer.Option(
            metavar="TAG", help="questions with the same value are not independent, such as those on one document"
        ),
    ] = None,
    level: Annotated[
        float, typer.Option(metavar="SHARE", help="the confidence level of the intervals, and of all tests together")
    ] = 0.95,
    form: ReportFormat = "table",
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help="exit with 1 if it is met, such as 'recall@10 < baseline - 0.02'; repeatable",
        ),
    ] = None,
) -> None:
    """Compare methods: which one is better, on which questions, and with what certainty."""
    from greval.analysis.comparison.api import compare as compared
    from greval.analysis.comparison.gate import check_gate
    from greval.report.comparison import format_check, render

    found = compared(
        run,
        baseline=baseline,
        against=against,
        by=by or (),
        metrics=metric,
        methods=method,
        correction=correction,
        cluster_by=cluster_by,
        level=level,
    )
    found = found.model_copy(update={"gate": check_gate(found, fail_if or ())})
    failed = [one for one in found.gate if one.met]
    print_report(found, form, render)
    if form == "json":
        for one in failed:
            typer.echo(format_check(one), err=True)
    if failed:
        raise typer.Exit(MISSED)
