"""`greval data`: what a file of cases holds, and which metrics fit it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from shlex import quote

import typer

from greval._util.wording import escape_control_characters
from greval.analysis.data_summary import MetricFit, summarise_data
from greval.cli import USAGE_ERROR
from greval.cli.judge_options import JUDGE_VARIABLE, suggest_judge
from greval.cli.options import Cases, Columns, JoinedFiles, ReportFormat, parse_columns, print_report
from greval.datasets.case_reader import read_cases
from greval.datasets.row_sources import STDIN
from greval.report.data_summary import render

SUGGESTED = (
    *("correctness", "faithfulness", "relevance", "completeness"),
    *("recall@10", "ndcg@10", "edge_recall", "node_recall", "latency", "llm_calls"),
)
"""The metrics to begin with if they fit."""


def data(
    cases: Cases,
    *,
    column: Columns = None,
    gold: JoinedFiles = None,
    traversal: JoinedFiles = None,
    form: ReportFormat = "table",
) -> None:
    """Show what a file of cases holds, and which metrics fit.

    The columns with their fields, the rows that are no cases, and three cases are shown too. Exit code 2 if no row is a
    case.
    """
    columns = parse_columns(column)
    if gold or traversal:
        from greval.runs.config.model import RunConfig
        from greval.runs.config.run_input import open_input

        files = [tuple(map(str, paths)) or None for paths in (gold or (), traversal or ())]
        config = RunConfig(data=cases, columns=columns or None, gold=files[0], traversals=files[1])
        data_input = open_input(config)
        summary = summarise_data(data_input.reading, rows=data_input.rows)
    else:
        summary = summarise_data(read_cases(cases, columns=columns))
    print_report(summary, form, render)
    if form == "table" and summary.fitting:
        column_options = "".join(f" --column {quote(name)}" for name in column or ())
        joined = [f" --gold {quote(str(file))}" for file in gold or ()]
        joined += [f" --traversal {quote(str(file))}" for file in traversal or ()]
        chosen = choose_metrics(summary.fitting)[0]
        asks = any(fit.metric == chosen and fit.kind == "judged" for fit in summary.fitting)
        judge = f" --judge {suggest_judge()}" if asks and JUDGE_VARIABLE not in os.environ else ""
        lines = [f"next: greval evaluate {quote(cases)} -m {chosen}{judge}{column_options}{''.join(joined)}"]
        if cases != STDIN and not joined:
            lines.append(f"      greval init {quote(cases)}{column_options}   (greval.yaml with the metrics that fit)")
        for line in ("", *lines):
            typer.echo(escape_control_characters(line))
    if not summary.cases:
        raise typer.Exit(USAGE_ERROR)


def choose_metrics(fitting: Sequence[MetricFit]) -> tuple[str, ...]:
    """Choose the metrics to begin with: those suggested that fit, or else the first that fits; empty if none does."""
    names = [fit.metric for fit in fitting]
    return tuple(name for name in SUGGESTED if name in names) or tuple(names[:1])
