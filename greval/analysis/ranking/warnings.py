"""Warnings about the measures of runs: questions that one file lacks, and measures that are not compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from greval._util.joins import name_remark
from greval._util.wording import format_count, format_names
from greval.analysis.ranking.records import RankingReport


def find_warnings(report: RankingReport) -> Iterator[str]:
    """Yield the warnings about a report."""
    is_trec_eval = report.conventions == "trec_eval"
    treated = "left out" if is_trec_eval else "counted as 0"
    for run in report.runs:
        yield from (name_remark(remark, run.name) for remark in run.remarks)
    if report.runs:
        irrelevant = report.runs[0].irrelevant
        why = f"without a relevant document, {'counted as 0' if is_trec_eval else 'left out'}"
        yield from _describe_questions("", "judged question", irrelevant, why)
    for run in report.runs:
        yield from _describe_questions(run.name, "judged question", run.missing, f"without a ranking, {treated}")
        yield from _describe_questions(run.name, "ranked question", run.unjudged, "without judgements, left out")
    if report.baseline is None:
        return
    if report.comparison is None:
        yield f"not compared with {report.baseline}: {_explain_no_comparison(report)}"
    elif report.not_compared:
        names = ", ".join(report.not_compared)
        yield f"not compared, as they do not say of a question how good its ranking is: {names}"


def _describe_questions(run: str, what: str, names: Sequence[str], why: str) -> Iterator[str]:
    if names:
        prefix = f"{run}: " if run else ""
        yield f"{prefix}{format_count(len(names), what)} {why}: {format_names(names)}"


def _explain_no_comparison(report: RankingReport) -> str:
    names = [run.name for run in report.runs]
    if report.baseline not in names:
        return "it could not be read"
    return "there is no other run" if len(names) == 1 else "none of the measures can be compared by question"
