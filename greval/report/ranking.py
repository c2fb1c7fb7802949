"""Measures of ranked runs for the terminal and as CSV: a row for each run, or for each question of each run."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from io import StringIO

from rich.console import Console
from rich.table import Table

from greval._util.joins import JOIN_REMARKS
from greval._util.spreadsheet_cells import escape_formula
from greval._util.wording import format_count
from greval.analysis.comparison.records import Contrast
from greval.analysis.ranking.records import MeasuredRun, RankingReport, RunMean
from greval.report import comparison
from greval.report.tables import (
    Cell,
    Column,
    format_measured,
    format_number,
    print_report,
    split_table,
)

DIGITS = 4
"""The decimals of measures: as many as trec_eval prints."""
write_measure = partial(format_number, digits=DIGITS)
MEAN_COLUMNS = ("run", "measure", "n", "mean", "low", "high")
CONTRAST_COLUMNS = (
    *("baseline", "pairs", "difference", "difference_low", "difference_high"),
    *("won", "tied", "lost", "p", "corrected_p", "verdict"),
)


def render(report: RankingReport, console: Console) -> None:
    """Print the measures: ids that did not meet, a table of the runs, the questions, warnings, and the comparison."""
    print_report(
        console,
        [_format_title(report)],
        _build_tables(report, console),
        format_ranking_legend(report),
        warnings=report.warnings,
        loud=JOIN_REMARKS,
    )
    if report.comparison:
        console.print()
        comparison.render(report.comparison, console)


def _build_tables(report: RankingReport, console: Console) -> Iterator[Table]:
    """Build the table of the runs, in parts if it is too wide, and that of the questions if there are any."""
    with_interval = {mean.measure for run in report.runs for mean in run.means if mean.interval}
    headings = (f"{name} [{report.level:.0%}]" if name in with_interval else name for name in report.measures)
    columns = [Column("run", left=True), Column("n"), *map(Column, headings)]
    yield from split_table(console, columns, map(_format_run, report.runs), keys=2)
    if names := _list_question_measures(report):
        columns = [Column("question", left=True), Column("run", left=True), *map(Column, names)]
        yield from split_table(console, columns, _format_questions(report), keys=2)


def _format_title(report: RankingReport) -> str:
    """Format the title: the judgements, their number of questions, and the conventions."""
    by = ", measured as by trec_eval" if report.conventions == "trec_eval" else ""
    return f"{report.qrels}: {format_count(report.judged, 'judged question')}{by}"


def format_ranking_legend(report: RankingReport) -> Iterator[str]:
    """Yield sentences that explain the figures."""
    treated = (
        "Judged questions without a ranking are left out; questions without a relevant document count as 0"
        if report.conventions == "trec_eval"
        else "Judged questions without a ranking count as 0; questions without a relevant document are left out"
    )
    yield f"n: number of questions averaged. {treated}. Intervals are {report.level:.0%}, over questions."


def format_csv(report: RankingReport) -> str:
    """Format the measures as CSV: a row for each run and measure, or for each question of each run."""
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    # A spreadsheet runs a name that begins with `=` as a formula.
    writer.writerows(map(escape_formula, row) for row in _iterate_csv_rows(report))
    return stream.getvalue()


def _iterate_csv_rows(report: RankingReport) -> Iterator[Sequence[object]]:
    if measures := _list_question_measures(report):
        yield ("question", "run", *measures)
        yield from (
            (question.question, run.name, *question.values.values())
            for run in report.runs
            for question in run.questions
        )
        return
    contrasts = {
        (contrast.method, contrast.metric): contrast
        for contrast in (report.comparison.contrasts if report.comparison else ())
    }
    yield (*MEAN_COLUMNS, *(CONTRAST_COLUMNS if report.comparison else ()))
    for run in report.runs:
        for mean in run.means:
            compared = _list_contrast_cells(contrasts.get((run.name, mean.measure))) if report.comparison else ()
            yield (*_list_mean_cells(run, mean), *compared)


def _list_mean_cells(run: MeasuredRun, mean: RunMean) -> tuple[object, ...]:
    interval = mean.interval
    ends = (interval.low, interval.high) if interval else (None, None)
    return run.name, mean.measure, mean.n, mean.mean, *ends


def _list_contrast_cells(contrast: Contrast | None) -> tuple[object, ...]:
    """List the cells of a comparison; they are empty for the baseline itself."""
    if contrast is None:
        return (None,) * len(CONTRAST_COLUMNS)
    ends = (contrast.interval.low, contrast.interval.high) if contrast.interval else (None, None)
    ps = (contrast.test.p, contrast.test.corrected) if contrast.test else (None, None)
    return (
        contrast.baseline,
        contrast.n,
        contrast.difference,
        *ends,
        contrast.won,
        contrast.tied,
        contrast.lost,
        *ps,
        contrast.verdict,
    )


def _list_question_measures(report: RankingReport) -> list[str]:
    """List the measures that questions have a value of; none if the report does not hold the questions."""
    return next(([*run.questions[0].values] for run in report.runs if run.questions), [])


def _format_run(run: MeasuredRun) -> list[Cell]:
    counts = [*dict.fromkeys(sorted(mean.n for mean in run.means))]
    count = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,}-{counts[-1]:,}"
    return [run.name, count, *(format_measured(mean.mean_value, write_measure) for mean in run.means)]


def _format_questions(report: RankingReport) -> Iterable[list[Cell]]:
    """Yield the rows of questions: the runs of one question follow each other."""
    # Each run lists all judged questions in one order, also those without a ranking.
    for several in zip(*(run.questions for run in report.runs), strict=True):
        for run, question in zip(report.runs, several, strict=True):
            yield [
                question.question,
                run.name,
                *(format_number(value, digits=DIGITS) for value in question.values.values()),
            ]
