"""`greval rank`: ranking measures of runs in files, with intervals, compared with a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from greval._util.joins import JOIN_REMARKS
from greval._util.wording import escape_control_characters
from greval.cli import FAILED, print_note
from greval.cli.options import Columns, CorrectedLevel, Correction, parse_columns, print_report
from greval.datasets.ranked_rows import RankOrder, TieOrder


def rank(  # noqa: PLR0913 - the options of a command
    qrels: Annotated[Path, typer.Argument(help="judgements: TREC qrels, or .csv, .tsv, .parquet or .jsonl")],
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="ranked documents: TREC runs, or as above")],
    *,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            metavar="MEASURE",
            help="a measure, such as ndcg@10; repeatable. By default ndcg@10, recall@20, mrr and map",
        ),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="RUN", help="compare the others with this one, a file or the name of a run")
    ] = None,
    per_question: Annotated[bool, typer.Option("--per-question", help="also a row for each question")] = False,
    trec_eval: Annotated[
        bool,
        typer.Option(
            "--trec-eval", help="measures of trec_eval by its conventions, such as ndcg_cut_10; all_trec stands for all"
        ),
    ] = False,
    relevant: Annotated[int, typer.Option(min=1, metavar="GRADE", help="the lowest grade of a relevant document")] = 1,
    essential: Annotated[
        int | None,
        typer.Option(min=1, metavar="GRADE", help="the lowest grade of an essential document; --relevant by default"),
    ] = None,
    column: Columns = None,
    order: Annotated[
        RankOrder | None,
        typer.Option(help="rank documents by score, by rank, or by their order in the file; by what it has by default"),
    ] = None,
    ties: Annotated[
        TieOrder | None,
        typer.Option(help="keep the order of equal scores, or sort them by falling id, as --trec-eval does"),
    ] = None,
    correction: Correction = "bonferroni",
    level: CorrectedLevel = 0.95,
    form: Annotated[
        Literal["table", "json", "csv"],
        typer.Option("--format", help="a table for people, JSON for programs, or CSV with a row for each figure"),
    ] = "table",
) -> None:
    """Measure files of ranked runs, and compare them with a baseline. It prints means with intervals."""
    from greval.analysis.ranking.api import MeasureRunsOptions, measure_runs
    from greval.report.ranking import format_csv, render

    options: MeasureRunsOptions = {
        "baseline": baseline,
        "conventions": "trec_eval" if trec_eval else "greval",
        "relevant": relevant,
        "essential": essential,
        "columns": parse_columns(column),
        "order": order,
        "by_question": per_question,
        "correction": correction,
        "level": level,
    }
    if ties:
        options["ties"] = ties
    report = measure_runs(qrels, runs, metric or (), **options)
    for run in report.unread:
        print_note(f"not read: {run.message}")
    if form == "csv":
        # The columns of CSV have no place for remarks.
        for remark in (warning for warning in report.warnings if warning.startswith(JOIN_REMARKS)):
            print_note(remark)
        typer.echo(escape_control_characters(format_csv(report)), nl=False)
    else:
        print_report(report, form, render)
    if report.unread:
        raise typer.Exit(FAILED)
