"""Summary of the duels of a run: each pair of methods, the ranking of all, and the habits of the judge."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from greval._util.arguments import resolve_run_folder
from greval.analysis.duel.figures import (
    adjust_for_length,
    build_pair_result,
    group_by_pair,
    measure_all_habits,
    measure_habits,
    rank_methods,
)
from greval.analysis.duel.records import Duel, DuelVerdict, PairResult, PreferenceFindings
from greval.analysis.duel.verdicts import PairVerdict, read_verdicts
from greval.analysis.duel.warnings import correct_level, find_warnings
from greval.errors import DataError
from greval.runs.duels import find_pair_remarks
from greval.runs.run_reader import check_metric_names, read_metrics
from greval.runs.store import Store
from greval.runs.store.case_heads import read_case_heads
from greval.stats.correction import Correction, correct_discrete
from greval.stats.interval import LEVEL, check_level

if TYPE_CHECKING:
    from greval.runs.evaluation import Run

ONE_RUN_EXAMPLE = "summarise_duel('runs/first')"


def summarise_duel(
    run: str | Path | Run,
    metrics: Sequence[str] = (),
    *,
    cluster_by: str | None = None,
    correction: Correction = "bonferroni",
    level: float = LEVEL,
) -> Duel:
    r"""Summarise the preferences of a run: which method wins against which, how sure that is, and the judge's habits.

    Args:
        run: The run, or its folder.
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
    with Store.open(resolve_run_folder(run, ONE_RUN_EXAMPLE)) as store, store.snapshot():
        return summarise_stored_duel(store, metrics, cluster_by=cluster_by, correction=correction, level=level)


def summarise_stored_duel(
    store: Store,
    metrics: Sequence[str] = (),
    *,
    cluster_by: str | None = None,
    correction: Correction = "bonferroni",
    level: float = LEVEL,
) -> Duel:
    """Summarise the preferences of a run that is open for reading, as `summarise_duel` does."""
    names = _select_metrics(store, metrics)
    verdicts_by_metric = [(name, read_verdicts(store, name, cluster_by)) for name in names]
    findings, warnings = summarise_verdicts(verdicts_by_metric, correction=correction, level=level)
    return Duel(
        folder=str(store.folder),
        level=level,
        correction=correction,
        cluster_by=cluster_by,
        tests=sum(pair.test is not None for finding in findings for pair in finding.pairs),
        metrics=findings,
        warnings=(*_find_pair_remarks(store), *warnings),
    )


def _find_pair_remarks(store: Store) -> list[str]:
    """Return remarks on methods whose samples do not pair, if the run holds their cases and not only the pairs."""
    return find_pair_remarks((head.sample_id, head.method) for head in read_case_heads(store) if head.other is None)


def summarise_verdicts(
    verdicts_by_metric: Sequence[tuple[str, Sequence[PairVerdict]]], *, correction: Correction, level: float
) -> tuple[tuple[PreferenceFindings, ...], tuple[str, ...]]:
    """Summarise the verdicts of each preference metric, and list the warnings about them."""
    judged = [(name, verdicts) for name, verdicts in verdicts_by_metric if verdicts]
    findings = _correct_family(
        [_build_findings(name, verdicts, level=level) for name, verdicts in judged], correction, level
    )
    # Each habit of each metric may accuse a judge by chance, so that their level is corrected for all of them.
    strict = correct_level(level, len(judged))
    warnings = (
        warning
        for finding, (_, verdicts) in zip(findings, judged, strict=True)
        for warning in find_warnings(finding, measure_all_habits(verdicts, level=strict))
    )
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
