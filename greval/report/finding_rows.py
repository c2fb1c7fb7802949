"""Findings as rows for a frame: one row for each figure, with the ends of its interval as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from greval.analysis.comparison.records import Comparison
from greval.analysis.duel.records import Duel, PairResult, PreferenceFindings
from greval.analysis.history.records import RunHistory
from greval.report.estimates import NAMES as ESTIMATES
from greval.stats.interval import Interval, Measured, MeasuredValue, Undefined
from greval.trust.agreement.records import Agreement, AgreementGroup
from greval.trust.estimates.records import Estimate, EstimateFigure
from greval.trust.probing.records import Probe

Row = dict[str, object]
JUDGE_AND_PEOPLE = "judge and people"
CONTRAST_FIELDS = ("metric", "group", "method", "baseline", "better", "questions", "n", "clusters")
CONTRAST_FIGURES = ("method_mean", "baseline_mean", "difference")
PAIR_FIGURES = ("win_rate", "adjusted_win_rate", "flip_rate")
HABITS = ("flip_rate", "first_shown", "tie_share", "length_effect")
ESTIMATE_FIELDS = ("method", "baseline", "group", "category", "judged", "labels")
CHECK_COUNTS = ("killed", "mutants", "questions", "better", "worse", "failed", "missing")


def list_comparison_rows(comparison: Comparison) -> Iterator[Row]:
    """Yield a row for each pair of methods, metric and group."""
    for contrast in comparison.contrasts:
        yield {
            **{name: getattr(contrast, name) for name in (*CONTRAST_FIELDS, *CONTRAST_FIGURES)},
            **_list_ends(contrast.interval),
            "relative_difference": contrast.relative_difference,
            **_list_ends(contrast.relative_interval, "relative_"),
            **{name: getattr(contrast, name) for name in ("won", "tied", "lost")},
            "test": contrast.test and contrast.test.name,
            "p": contrast.test and contrast.test.p,
            "corrected_p": contrast.test and contrast.test.corrected,
            **{name: getattr(contrast, name) for name in ("detectable", "judged_alike", "verdict")},
        }


def list_history_rows(history: RunHistory) -> Iterator[Row]:
    """Yield a row for each metric, method and run."""
    for line in history.metrics:
        verdicts = {change.run: change.verdict for change in line.changes}
        for point in line.points:
            run = history.runs[point.run]
            yield {
                "metric": line.metric,
                "method": line.method,
                "better": line.better,
                "run": run.label,
                "began": run.began,
                "commit": run.commit,
                "n": point.n,
                "mean": point.mean,
                **_list_ends(point.interval),
                "difference": point.difference,
                **_list_ends(point.difference_interval, "difference_"),
                "shared": point.shared,
                "paired": point.paired,
                "marks": ", ".join(point.marks),
                "change": verdicts.get(point.run),
            }


def list_duel_rows(duel: Duel) -> Iterator[Row]:
    """Yield a row for each figure of a pair, each strength of a method, and each habit of the judge."""
    for findings in duel.metrics:
        yield from (row for pair in findings.pairs for row in _list_pair_rows(pair))
        yield from _list_preference_rows(findings)


def _list_pair_rows(pair: PairResult) -> Iterator[Row]:
    pair_names = {name: getattr(pair, name) for name in ("metric", "first", "second")}
    counts = {name: getattr(pair, name) for name in ("won", "tied", "lost", "failed")}
    test = {"p": pair.test and pair.test.p, "corrected_p": pair.test and pair.test.corrected, "verdict": pair.verdict}
    for name in PAIR_FIGURES:
        yield {**pair_names, "figure": name, **_list_measured(getattr(pair, name)), **counts, **test}


def _list_preference_rows(findings: PreferenceFindings) -> Iterator[Row]:
    for ranked in findings.ranking:
        yield {
            "metric": findings.metric,
            "first": ranked.method,
            "figure": "strength",
            **_list_measured(ranked.strength),
            "rank": ranked.rank,
        }
    for name in HABITS:
        yield {"metric": findings.metric, "figure": f"judge: {name}", **_list_measured(getattr(findings.habits, name))}


def list_agreement_rows(agreement: Agreement) -> Iterator[Row]:
    """Yield a row for each group and figure of judge and people, of people among themselves, and of each floor."""
    for group in agreement.groups:
        for compared, figures in list_compared_figures(group).items():
            for name, figure in figures.items():
                yield {"group": group.name, "compared": compared, "figure": name, **_list_measured(figure)}


def list_compared_figures(group: AgreementGroup) -> dict[str, Mapping[str, Measured]]:
    """Return the figures of judge and people, and what they are compared with, by name; without empty ones."""
    compared = {
        JUDGE_AND_PEOPLE: group.judge.figures,
        "judge and people, weighted": group.weighted,
        "people among themselves": group.people.figures,
        **{f"baseline: {floor.name}": floor.figures for floor in group.baselines},
    }
    return {name: figures for name, figures in compared.items() if figures}


def list_estimate_rows(estimate: Estimate) -> Iterator[Row]:
    """Yield a row for each mean, share or difference and each way to estimate it."""
    for row in estimate.rows:
        for name in ESTIMATES:
            figure: EstimateFigure | None = getattr(row, name)
            if figure is not None:
                yield {
                    **{field: getattr(row, field) for field in ESTIMATE_FIELDS},
                    "estimate": name,
                    "value": figure.value,
                    **_list_ends(figure.interval),
                    "labels_to_halve": figure.labels_to_halve,
                    "reason": figure.reason,
                }


def list_probe_rows(probe: Probe) -> Iterator[Row]:
    """Yield a row for each check."""
    for check in probe.checks:
        counts = {name: getattr(check, name) for name in CHECK_COUNTS}
        yield {"check": check.name, **_list_measured(check.rate), **counts, "unused": sum(check.unused.values())}


def _list_measured(figure: Measured) -> Row:
    """Return the value, the ends of both intervals, the number of observations, and the reason if it is undefined."""
    measured = figure if isinstance(figure, MeasuredValue) else None
    return {
        "value": measured.value if measured else None,
        **_list_ends(measured.interval if measured else None),
        **_list_ends(measured.clustered if measured else None, "by_question_"),
        "n": figure.n,
        "reason": figure.reason if isinstance(figure, Undefined) else None,
    }


def _list_ends(interval: Interval | None, prefix: str = "") -> Row:
    low, high = (interval.low, interval.high) if interval else (None, None)
    return {f"{prefix}low": low, f"{prefix}high": high}
