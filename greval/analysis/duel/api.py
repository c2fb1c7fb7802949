"""Summary of the duels of a run: each pair of methods, the ranking of all, and the habits of the judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from greval._util.arguments import resolve_run_folder
from greval.analysis.duel.figures import (
    adjust_for_length,
    build_pair_result,
    group_by_pair,
    measure_habits,
    rank_methods,
)
from greval.analysis.duel.records import Duel, DuelVerdict, JudgeHabits, PairResult, PreferenceFindings
from greval.analysis.duel.verdicts import PairVerdict, read_verdicts
from greval.errors import DataError
from greval.runs.duels import find_pair_remarks
from greval.runs.run_reader import check_metric_names, read_metrics
from greval.runs.store import Store
from greval.runs.store.reader import read_case_heads
from greval.stats.correction import Correction, correct_discrete, count_capable
from greval.stats.interval import LEVEL, Measured, MeasuredValue, check_level

if TYPE_CHECKING:
    from greval.runs.evaluation import Run

ONE_RUN_EXAMPLE = "summarise_duel('runs/first')"
EVEN = 0.5
"""The share of wins of the response that stands first, if its place has no influence."""
HABITUAL_TIES = 0.5
"""The share of verdicts from which ties are a habit."""
HABITS = 3
"""The number of habits that are looked for."""


def summarise_duel(
    run: Store | str | Path | Run,
    metrics: Sequence[str] = (),
    *,
    cluster_by: str | None = None,
    correction: Correction = "bonferroni",
    level: float = LEVEL,
) -> Duel:
    r"""Summarise the preferences of a run: which method wins against which, how sure that is, and the judge's habits.

    Args:
        run: The run, its folder, or a store that is open for reading.
        metrics: The names of preference metrics; all of the run by default.
        cluster_by: A tag, such as the document, whose questions are not independent.
        correction: The correction of the p values of all pairs and metrics, "bonferroni" or "holm".
        level: The confidence level of the intervals, and of all tests together.

    Returns:
        The figures as data; `greval duel` prints them.

    Raises:
        DataError: If the run has no preference metric or not the named one, or several runs are given.
        StoreError: If the folder is not a run.

    Example:
        >>> import tempfile
        >>> from greval import PreferenceMetric
        >>> from greval.runs.evaluation import evaluate
        >>> from greval.testing import ScriptedJudge
        >>> metric = PreferenceMetric(name="clarity", description="Which answer is clearer.",
        ...                           needs=["question", "answer"], steps=["Compare them."])
        >>> cases = [{"id": f"q{n}", "question": "?", "answer": name, "other_response": {"answer": "x", "method": "b"},
        ...           "method": "a vs b"} for n in range(8) for name in ("clear",)]
        >>> def judge(messages):
        ...     return {"reason": "Clear.", "value": "A" if "<answer_a>\nclear" in messages[-1].text else "B"}
        >>> summary = summarise_duel(evaluate(cases, [metric], ScriptedJudge(judge), out=tempfile.mkdtemp()))
        >>> pair = summary.metrics[0].pairs[0]
        >>> pair.won, pair.win_rate.value, pair.verdict
        (8, 1.0, 'first preferred')
    """
    level = check_level(level)
    if not isinstance(run, Store):
        with Store.open(resolve_run_folder(run, ONE_RUN_EXAMPLE)) as store, store.snapshot():
            return summarise_duel(store, metrics, cluster_by=cluster_by, correction=correction, level=level)
    names = _select_metrics(run, metrics)
    verdicts_by_metric = [(name, read_verdicts(run, name, cluster_by)) for name in names]
    findings, warnings = summarise_verdicts(verdicts_by_metric, correction=correction, level=level)
    tests = [pair.test for finding in findings for pair in finding.pairs if pair.test]
    judged = [verdict for _, verdicts in verdicts_by_metric for verdict in verdicts if verdict.outcome is not None]
    # Methods whose samples do not pair, if the run holds their cases and not only the pairs.
    remarks = find_pair_remarks((head.sample_id, head.method) for head in read_case_heads(run) if head.other is None)
    return Duel(
        folder=str(run.folder),
        level=level,
        correction=correction,
        cluster_by=cluster_by,
        tests=len(tests),
        counted=count_capable((test.least for test in tests), round(1 - level, 12)),
        one_order=sum(not verdict.orders for verdict in judged),
        metrics=findings,
        warnings=(*remarks, *warnings),
    )


def summarise_verdicts(
    verdicts_by_metric: Sequence[tuple[str, Sequence[PairVerdict]]], *, correction: Correction, level: float
) -> tuple[tuple[PreferenceFindings, ...], tuple[str, ...]]:
    """Summarise the verdicts of each preference metric, and list the warnings about them."""
    judged = [(name, verdicts) for name, verdicts in verdicts_by_metric if verdicts]
    findings = _correct_family(
        [_build_findings(name, verdicts, level=level) for name, verdicts in judged], correction, level
    )
    # Each habit of each metric may accuse a judge by chance, so that their level is corrected for all (Bonferroni).
    strict = 1 - (1 - level) / (HABITS * max(1, len(judged)))
    warnings: list[str] = []
    for finding, (_, verdicts) in zip(findings, judged, strict=True):
        _, effect = adjust_for_length([*group_by_pair(verdicts).values()], level=strict)
        warnings += _find_warnings(finding, measure_habits(verdicts, effect, level=strict))
    return tuple(findings), tuple(warnings)


def _select_metrics(store: Store, names: Sequence[str]) -> list[str]:
    """Return the names of the preference metrics of a run, all, or those of these names."""
    check_metric_names(store, names)
    preferences = [name for name, metric in read_metrics(store).items() if metric.is_preference]
    if not preferences:
        raise DataError(f"{store.folder}: has no preference; judge pairs first, such as with -m comprehensiveness")
    for name in names:
        if name not in preferences:
            raise DataError(f"{store.folder}: {name} is no preference; its preferences are {', '.join(preferences)}")
    return [*names] or preferences


def _build_findings(metric: str, verdicts: Sequence[PairVerdict], *, level: float) -> PreferenceFindings:
    """Build what one metric says of all methods, without the correction of p values and the verdicts."""
    groups = group_by_pair(verdicts)
    adjusted, effect = adjust_for_length([*groups.values()], level=level)
    return PreferenceFindings(
        metric=metric,
        judges=tuple(dict.fromkeys(verdict.judge for verdict in verdicts)),
        pairs=tuple(
            build_pair_result(metric, group, rate, level=level)
            for group, rate in zip(groups.values(), adjusted, strict=True)
        ),
        ranking=rank_methods(verdicts, level=level),
        habits=measure_habits(verdicts, effect, level=level),
    )


def _correct_family(findings: Sequence[PreferenceFindings], how: Correction, level: float) -> list[PreferenceFindings]:
    """Correct the p values of all pairs of all metrics as one family, and decide the verdicts."""
    alpha = round(1 - level, 12)
    tests = [pair.test for finding in findings for pair in finding.pairs if pair.test]
    corrected = iter(correct_discrete([test.p for test in tests], [test.least for test in tests], how, alpha=alpha))

    def correct(pair: PairResult) -> PairResult:
        if pair.test is None:
            return pair
        test = pair.test.model_copy(update={"corrected": next(corrected).p})
        return pair.model_copy(update={"test": test, "verdict": _decide_verdict(pair, test.corrected, alpha)})

    return [finding.model_copy(update={"pairs": tuple(map(correct, finding.pairs))}) for finding in findings]


def _decide_verdict(pair: PairResult, corrected: float, alpha: float) -> DuelVerdict:
    if corrected <= alpha and pair.won != pair.lost:
        return "first preferred" if pair.won > pair.lost else "second preferred"
    few = pair.test is None or pair.test.least > alpha
    return "too few questions to tell" if few else "no preference seen"


def _find_warnings(findings: PreferenceFindings, habits: JudgeHabits) -> Iterator[str]:
    """Yield the warnings about the judge of one metric; a habit is named only if its interval excludes chance."""
    metric = findings.metric
    if side := _find_side(habits.first_shown, EVEN):
        yield (
            f"POSITION BIAS: {metric}: the judge prefers the response that stands {'first' if side > 0 else 'second'} "
            f"({_format(habits.first_shown)} of verdicts favour the first; 50% without bias). Both orders are judged, "
            "so that it makes ties, not wins; a judge without it would decide more questions"
        )
    if length := _find_side(habits.length_effect, 0.0):
        yield (
            f"LENGTH BIAS: {metric}: {'longer' if length > 0 else 'shorter'} answers win more often, beyond which "
            "method wrote them. Read the win rates at equal length beside the others"
        )
    if _find_side(habits.tie_share, HABITUAL_TIES) > 0:
        yield (
            f"TIE HABIT: {metric}: the judge calls most pairs a tie ({_format(habits.tie_share)} of verdicts); a "
            "graded scale (-2 to 2) or another judge may decide more"
        )
    if len(findings.judges) > 1:
        yield f"NOT COMPARABLE: {metric}: pairs were judged by several judges: {', '.join(findings.judges)}"
    if failed := sum(pair.failed for pair in findings.pairs):
        yield f"{metric}: {failed:,} pairs failed and are in no figure; judge again to retry only these"


def _find_side(figure: Measured, middle: float) -> int:
    """Return 1 if the interval of a figure is above the middle, -1 if below, 0 if it contains it or is missing."""
    if not isinstance(figure, MeasuredValue) or figure.interval is None:
        return 0
    return int(figure.interval.low > middle) - int(figure.interval.high < middle)


def _format(figure: Measured) -> str:
    return f"{figure.value:.0%}" if isinstance(figure, MeasuredValue) else "?"
