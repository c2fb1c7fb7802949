"""Comparison of the methods of a run, or of a run with an earlier one, over all metrics and groups of questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import floor, log10, prod
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from greval._util.arguments import check_options, resolve_run_folder
from greval.analysis.comparison.contrast import (
    ContrastSettings,
    apply_correction,
    compute_contrast,
    compute_differences,
    find_least_p,
)
from greval.analysis.comparison.pairs import QuestionPairs, build_figures
from greval.analysis.comparison.plan import ComparisonPlan, ComparisonRequest, PlannedContrast, plan_comparison
from greval.analysis.comparison.records import Comparison, Contrast, CorrectionFamily, DifferenceAxis, MethodMean
from greval.analysis.comparison.unpaired import check_pairs
from greval.analysis.comparison.warnings import find_warnings
from greval.errors import DataError
from greval.records.scale import ScaleDirection
from greval.stats.correction import Correction, correct_discrete, count_capable
from greval.stats.interval import LEVEL, check_level
from greval.stats.paired import RESAMPLES

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from greval.runs.evaluation import Run
    from greval.runs.score_columns import ComparisonSide

DRAWS_PER_TEST = 200
"""The minimum number of draws for each test of the family, so that a corrected p can come well below the level."""
MAX_RESAMPLES = 199_999
WEIGHT_TOLERANCE = 1e-9
"""The difference from which a number is not the one of its value."""
TWO_RUNS_EXAMPLE = "compare('runs/new', against='runs/old')"
MIN_SHARE = 0.25
"""The share of the width of a scale with two ends that an axis reaches at least to."""
NICE_FACTORS = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
"""The ends of axes, times a power of ten."""
ROUNDING = 1e-9
"""The relative difference below which a nice number is not below another one."""


class CompareOptions(TypedDict, total=False):
    """The options of `compare`."""

    metrics: Sequence[str] | None
    methods: Sequence[str] | None
    correction: Correction
    cluster_by: str | None
    level: float


def compare(
    run: str | Path | Run,
    *,
    baseline: str | None = None,
    against: str | Path | Run | None = None,
    by: str | Sequence[str] = (),
    **options: Unpack[CompareOptions],
) -> Comparison:
    """Compare the methods of a run question by question.

    Args:
        run: The run, or its folder.
        baseline: The method that the others are compared with. By default all pairs of methods are compared.
        against: An earlier run: each method is compared with itself in that run.
        by: One or several tags; each combination of their values is compared in addition to all questions.
        **options: `metrics` and `methods`: compare only these. `correction`: "bonferroni" (default) or "holm".
            `cluster_by`: a tag, such as the document, whose questions are not independent. `level`: the confidence
            level of the intervals and of the whole family of tests, 0.95 by default.

    Returns:
        The comparison as data; `greval compare` prints it.

    Raises:
        DataError: If a method, metric or tag does not exist, there is nothing to compare, no question has a figure of
            both sides, or several runs are given.
        StoreError: If a folder is not a run.

    Example:
        >>> import tempfile
        >>> from greval.runs.evaluation import evaluate
        >>> from greval.metrics.computed import COMPUTED_METRICS
        >>> spent = {"walk": 3.0, "local": 1.0}
        >>> cases = [{"id": f"q{n}", "question": "?", "method": name, "usage": {"latency": spent[name] + n / 8}}
        ...          for n in range(8) for name in spent]
        >>> run = evaluate(cases, [COMPUTED_METRICS["latency"]], out=tempfile.mkdtemp())
        >>> contrast = compare(run, baseline="local").contrasts[0]
        >>> contrast.n, contrast.difference, contrast.lost, contrast.verdict
        (8, 2.0, 8, 'worse')
    """
    check_options(options, CompareOptions, "compare")
    if baseline is not None and against is not None:
        raise DataError("give either a baseline or an earlier run to compare with, not both")
    level = check_level(options.get("level", LEVEL))
    request = ComparisonRequest(
        run=resolve_run_folder(run, TWO_RUNS_EXAMPLE),
        against=resolve_run_folder(against, TWO_RUNS_EXAMPLE) if against is not None else None,
        baseline=baseline,
        by=(by,) if isinstance(by, str) else tuple(by),
        cluster_by=options.get("cluster_by"),
        metrics=tuple(options.get("metrics") or ()) or None,
        methods=tuple(options.get("methods") or ()) or None,
    )
    plan = plan_comparison(request)
    check_pairs(plan)
    return build_comparison(plan, options.get("correction", "bonferroni"), level)


def build_comparison(plan: ComparisonPlan, how: Correction, level: float) -> Comparison:
    """Compute every comparison, then correct all of their tests as one family."""
    tests = sum(bool(pairs.has_both.any()) for _, pairs in plan.iterate_pairs())
    # The smallest p of n sampled flips is 1 / (n + 1): with few draws no corrected p could be significant.
    resamples = min(MAX_RESAMPLES, max(RESAMPLES, DRAWS_PER_TEST * tests - 1))
    # Pairs are computed again in each pass, so that those of one contrast at a time are in memory.
    tested = (compute_differences(pairs) for _, pairs in plan.iterate_pairs() if pairs.has_both.any())
    least = [find_least_p(pairs.clusters, pairs.higher + pairs.lower, resamples, kind=pairs.kind) for pairs in tested]
    family = _build_family(plan, least, how, level)
    rules = ContrastSettings(level, family.alpha / family.counted, resamples)
    results = [
        (_build_contrast(plan, match, pairs, rules), pairs.is_unbalanced) for match, pairs in plan.iterate_pairs()
    ]
    contrasts = _correct_contrasts(plan, [contrast for contrast, _ in results], family)
    request = plan.wanted
    return Comparison(
        folder=str(request.run),
        against=str(request.against) if request.against else None,
        baseline=request.baseline,
        methods=plan.list_methods(),
        by=request.by,
        cluster_by=request.cluster_by,
        level=level,
        family=family,
        contrasts=contrasts,
        levels=tuple(_compute_levels(plan)),
        axes=tuple(find_axes(contrasts, plan.scales)),
        without_numbers=plan.without_numbers,
        warnings=tuple(find_warnings(plan, contrasts, [is_unbalanced for _, is_unbalanced in results])),
    )


def _build_contrast(
    plan: ComparisonPlan, match: PlannedContrast, pairs: QuestionPairs, rules: ContrastSettings
) -> Contrast:
    """Compute one comparison, without the correction of p and the verdict."""
    scale = plan.find_scale_direction(match.metric)
    about = {
        "metric": match.metric,
        "group": match.group,
        "method": plan.format_side(match.method),
        "baseline": plan.format_side(match.baseline),
        "judged_alike": _is_judged_alike(plan, match),
        "computed": scale.computed,
    }
    return compute_contrast(pairs, plan.scores.questions, about, scale, rules)


def _build_family(plan: ComparisonPlan, least: Sequence[float], how: Correction, level: float) -> CorrectionFamily:
    """Count the tests that are corrected together: all that are printed, including those over all questions."""
    kinds = [
        (len(plan.matches), "method" if plan.wanted.baseline is not None or plan.wanted.against else "pair of methods"),
        (len(plan.metrics), "metric"),
        (len(plan.groups), "group"),
    ]
    # 1 - 0.95 is 0.050000000000000044.
    tests, alpha = len(least), round(1 - level, 12)
    text = f"{_format_count(tests, 'test')}: {' x '.join(_format_count(*kind) for kind in kinds)}"
    if len(plan.groups) > 1:
        text += " (all questions and each group by itself)"
    if without_pair := prod(count for count, _ in kinds) - tests:
        text += f", {without_pair} of them without a pair"
    return CorrectionFamily(tests=tests, counted=count_capable(least, alpha), told=text, correction=how, alpha=alpha)


def _format_count(number: int, what: str) -> str:
    if number == 1:
        return f"1 {what}"
    first, *modifiers = what.split(" ")
    return " ".join([str(number), f"{first}s", *modifiers])


def _correct_contrasts(
    plan: ComparisonPlan, contrasts: Sequence[Contrast], family: CorrectionFamily
) -> tuple[Contrast, ...]:
    """Return the comparisons with corrected p values and verdicts."""
    tests = [contrast.test for contrast in contrasts if contrast.test]
    least = [test.least for test in tests]
    ps = iter(correct_discrete([test.p for test in tests], least, family.correction, alpha=family.alpha))
    return tuple(
        apply_correction(contrast, next(ps), family.alpha, facts=_is_noise_free(plan, contrast))
        if contrast.test
        else contrast
        for contrast in contrasts
    )


def _is_noise_free(plan: ComparisonPlan, contrast: Contrast) -> bool:
    """Return whether the figures of a run against an earlier one have no noise."""
    # Measures without an upper end, such as latency, vary between runs even if nothing has changed.
    against = plan.wanted.against is not None
    return (
        against
        and contrast.computed
        and contrast.judged_alike
        and plan.find_scale_direction(contrast.metric).ends is not None
    )


def _is_judged_alike(plan: ComparisonPlan, match: PlannedContrast) -> bool:
    """Return whether all rows of both sides were judged by one definition and one judge."""
    columns = plan.scores.columns[match.metric]
    marks = [columns[side].marks for side in (match.method, match.baseline) if side in columns]
    return len(set().union(*marks)) <= 1


def _compute_levels(plan: ComparisonPlan) -> Iterator[MethodMean]:
    """Compute the mean of each method over all its questions of each group."""
    compared = {side for pair in plan.matches for side in pair}
    first = plan.wanted.baseline
    sides = sorted((side for side in plan.scores.sides if side in compared), key=lambda side: side.method != first)
    for metric in plan.metrics:
        for side in sides:
            figures = build_figures(plan.scores, metric, side)
            for group, number in plan.groups:
                which = (
                    figures.has_figure if number is None else figures.has_figure & (plan.scores.get_groups() == number)
                )
                n = int(which.sum())
                mean, plain = _compute_means(plan, metric, side, which) if n else (None, None)
                method = plan.format_side(side)
                yield MethodMean(metric=metric, group=group, method=method, n=n, mean=mean, plain_mean=plain)


def _compute_means(
    plan: ComparisonPlan, metric: str, side: ComparisonSide, which: npt.NDArray[np.bool_]
) -> tuple[float, float | None]:
    """Return the mean of some questions, and the one of the values themselves if the numbers are weighted."""
    column, questions = plan.scores.columns[metric][side], len(plan.scores)
    values, plain = column.get_values(questions)[which], column.get_plain_values(questions)[which]
    is_weighted = bool((abs(values - plain) > WEIGHT_TOLERANCE).any())
    return float(values.mean()), float(plain.mean()) if is_weighted else None


def find_axes(contrasts: Iterable[Contrast], scales: Mapping[str, ScaleDirection]) -> Iterator[DifferenceAxis]:
    """Yield the axis of each unit: its metrics, and the end that holds all of their differences and intervals.

    Metrics have one unit if their scales name the same, or name none and are equally wide.
    """
    units: dict[tuple[str, float | None], dict[str, list[Contrast]]] = {}
    for contrast in contrasts:
        scale = scales.get(contrast.metric, ScaleDirection(known=False))
        width = scale.ends[1] - scale.ends[0] if scale.ends else None
        units.setdefault((scale.unit, width), {}).setdefault(contrast.metric, []).append(contrast)
    for (unit, width), metrics in units.items():
        drawn = [contrast for rows in metrics.values() for contrast in rows]
        intervals = (contrast.interval for contrast in drawn if contrast.interval)
        ends = [contrast.difference or 0.0 for contrast in drawn]
        ends += (end for interval in intervals for end in (interval.low, interval.high))
        # Without the minimum share, tiny differences would look as large as the scale.
        end = _round_up(max(*map(abs, ends), MIN_SHARE * (width or 0.0)) or 1.0)
        yield DifferenceAxis(unit=unit, metrics=tuple(metrics), end=end)


def _round_up(number: float) -> float:
    """Return the next nice number that is not below a positive one."""
    power = 10.0 ** floor(log10(number))
    factor = next((nice for nice in NICE_FACTORS if nice * power >= number * (1 - ROUNDING)), NICE_FACTORS[-1])
    # The product has an error in its last digits, which labels of axes would show.
    return float(f"{factor * power:.6g}")
