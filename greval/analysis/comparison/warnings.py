"""Warnings about a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from greval._util.wording import format_count
from greval.analysis.comparison.plan import ComparisonPlan
from greval.analysis.comparison.records import Contrast, LeftOutCounts
from greval.analysis.comparison.unpaired import find_pair_remarks
from greval.stats.paired import MIN_BOOTSTRAP_CLUSTERS
from greval.stats.summary import NO_VALUE

ALL_QUESTIONS = "all questions"


def find_warnings(plan: ComparisonPlan, contrasts: Sequence[Contrast], unlike: Sequence[bool]) -> Iterator[str]:
    """Yield the warnings; `unlike` are the contrasts of which one side lacks figures significantly more often."""
    yield from plan.join_remarks
    yield from find_pair_remarks(plan)
    yield from _find_judge_mismatches(contrasts)
    yield from _find_unmatched_methods(plan)
    yield from _find_missing_figures(contrast for contrast, apart in zip(contrasts, unlike, strict=True) if apart)
    yield from _find_cluster_warnings(plan, contrasts)
    for metric in plan.metrics:
        if not plan.find_scale_direction(metric).known:
            yield f"{metric}: its definition is not in the run; higher is assumed to be better"


def _find_judge_mismatches(contrasts: Sequence[Contrast]) -> Iterator[str]:
    """Yield a warning for each pair of sides that were judged by different definitions or judges."""
    mismatches = dict.fromkeys(
        (contrast.metric, contrast.method, contrast.baseline) for contrast in contrasts if not contrast.judged_alike
    )
    for metric, method, baseline in mismatches:
        yield (
            f"NOT COMPARABLE: {metric} of {method} and of {baseline} was judged by different definitions or judges; "
            "a difference may come from these. Judge both sides by the same metric and judge"
        )


def _find_unmatched_methods(plan: ComparisonPlan) -> Iterator[str]:
    """Yield a warning for each method that only one of two runs has."""
    if plan.wanted.against is None or plan.wanted.methods is not None:
        return
    compared = {method.method for method, _ in plan.matches}
    for side in plan.scores.sides:
        if side.method not in compared:
            runs = plan.wanted.run, plan.wanted.against
            run, other_run = reversed(runs) if side.before else runs
            yield f"method {side.method or NO_VALUE} is in {run} only, not in {other_run}: it is not compared"


def _find_missing_figures(contrasts: Iterable[Contrast]) -> Iterator[str]:
    """Yield a warning if one side lacks figures more often: over all questions, otherwise by group."""
    metrics: dict[tuple[str, str], list[str]] = {}
    everywhere: set[tuple[str, str, str]] = set()
    for contrast in contrasts:
        who = (contrast.metric, contrast.method, contrast.baseline)
        if not contrast.group:
            everywhere.add(who)
        # What is said of all questions is not said again of each group.
        if not contrast.group or who not in everywhere:
            metrics.setdefault((contrast.group, _format_missing_figures(contrast)), []).append(contrast.metric)
    for (group, text), names in metrics.items():
        yield f"{', '.join(names)} ({group or ALL_QUESTIONS}): {text}"


def _format_missing_figures(contrast: Contrast) -> str:
    """Format the number of figures that each side lacks, and their possible effect."""
    sides = [(contrast.method, contrast.method_left_out), (contrast.baseline, contrast.baseline_left_out)]
    lacking = ", ".join(f"{counts.total} of {name}{format_reasons(counts)}" for name, counts in sides)
    text = f"of {format_count(contrast.questions, 'question')} no figure for {lacking}"
    if contrast.bounds is None:
        return f"{text}; the possible effect is unknown, because the scale has no upper bound" if contrast.n else text
    worst, best = contrast.bounds.worst, contrast.bounds.best
    return (
        f"{text}; were these the worst for {contrast.method}, the difference would be {worst:+.3g}, "
        f"the best {best:+.3g}"
    )


def format_reasons(counts: LeftOutCounts) -> str:
    """Format the reasons why questions are left out, in brackets."""
    reasons = [f"{count} {name.replace('_', ' ')}" for name, count in counts if count]
    return f" ({', '.join(reasons)})" if reasons else ""


def _find_cluster_warnings(plan: ComparisonPlan, contrasts: Sequence[Contrast]) -> Iterator[str]:
    """Yield warnings about small numbers of clusters and about questions without one."""
    tag = plan.wanted.cluster_by
    codes = plan.scores.get_clusters()
    if tag is None or codes is None:
        return
    if alone := int((codes < 0).sum()):
        yield f"{alone} questions have no tag {tag}: each of them is its own cluster"
    fewest: dict[str, int] = {}
    for contrast in contrasts:
        if contrast.clusters is not None:
            fewest[contrast.group] = min(contrast.clusters, fewest.get(contrast.group, contrast.clusters))
    for group, count in fewest.items():
        if count < MIN_BOOTSTRAP_CLUSTERS:
            yield (
                f"{group or ALL_QUESTIONS}: only {count} different {tag}: with fewer than "
                f"{MIN_BOOTSTRAP_CLUSTERS} clusters intervals and tests are approximate"
            )
